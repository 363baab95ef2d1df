//! Devices that come, go and change while the router runs.

use prp_device::own_addrs;
use prp_proto::hosts::{interface_name, renamed};
use tracing::{info, warn};

use super::Daemon;
use super::loader::ReloadRequest;
use crate::check;
use crate::table::Table;

impl Daemon {
    /// The kernel has news of devices: those that have changed are followed, and those that have
    /// come are opened, by a reading of prphosts.
    pub(super) fn devices_changed(&mut self) {
        self.follow_devices();
        let link_states = &self.link_states;
        // One device may have several VLANs.
        let is_known = |name: &str, index| {
            let is_it = |known: &str| renamed(known, interface_name(name)) == name;
            self.table.devices.iter().any(|known| known.index == index && is_it(&known.name))
        };
        let is_awaited = |name: &str| !self.table.devices.iter().any(|known| known.name == name);
        let is_present =
            |name: &str| link_states.called(name).is_some_and(|it| !is_known(name, it.index));
        let come = {
            let mut named = self.table.file.hosts().devices();
            named
                .find(|name| *name != "lo" && is_awaited(name) && is_present(name))
                .map(str::to_owned)
        };
        if let Some(device) = come {
            info!(device, "has come");
            self.request_reload(ReloadRequest::Apply(None));
        }
        self.warn_of_troubles();
    }

    /// Follows what the kernel has said of the devices so far.
    pub(super) fn follow_devices(&mut self) {
        let Table { file, routes, devices } = &mut self.table;
        let is_own =
            |name: &str, mac| own_addrs(file.hosts(), routes.local(), name).any(|own| own == mac);
        self.router.devices_changed(&self.link_states, is_own);
        for (device, link) in devices.iter_mut().zip(&self.router.links) {
            device.index = link.state.map_or(0, |state| state.index);
        }
    }

    /// Logs what keeps devices that prphosts names from use, once each time.
    pub(super) fn warn_of_troubles(&mut self) {
        let troubles = check::device_problems(&self.table.file, self.table.routes.local());
        let is_new = |trouble: &&String| !self.troubles.contains(trouble);
        troubles.iter().filter(is_new).for_each(|trouble| warn!("{trouble}"));
        self.troubles = troubles;
    }
}
