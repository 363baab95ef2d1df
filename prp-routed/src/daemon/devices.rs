//! Devices that come, go and change while the router runs.

use tracing::{info, warn};

use super::Daemon;
use super::loader::ReloadRequest;
use crate::check;

impl Daemon {
    /// The kernel has news of devices: those that have changed are followed, and those that have
    /// come are opened, by a reading of prphosts.
    pub(super) fn devices_changed(&mut self) {
        let carrier = &self.carrier;
        self.router.devices_changed(|name| carrier.state(name));
        let is_awaited = |name: &str| !self.table.devices.iter().any(|known| known.name == name);
        let is_present = |name: &str| carrier.state(name).is_some_and(|link| link.index.is_some());
        let come = {
            let mut named = self.table.file.hosts().devices();
            named
                .find(|name| *name != "lo" && is_awaited(name) && is_present(name))
                .map(str::to_owned)
        };
        if let Some(device) = come {
            info!(device, "has come");
            self.request_reload(ReloadRequest { client: None, dry_run: false });
        }
        self.warn_of_troubles();
    }

    /// Logs what keeps devices that prphosts names from use, once each time.
    pub(super) fn warn_of_troubles(&mut self) {
        let troubles = check::device_problems(&self.table.file, self.table.routes.local());
        let is_new = |trouble: &&String| !self.troubles.contains(trouble);
        troubles.iter().filter(is_new).for_each(|trouble| warn!("{trouble}"));
        self.troubles = troubles;
    }
}
