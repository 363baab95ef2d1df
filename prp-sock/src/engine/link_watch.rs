//! What the kernel says of the devices of an engine.

use std::os::fd::{AsFd, BorrowedFd};

use super::Engine;
use prp_device::{LinkStates, UdpDevice, own_addrs};

/// The kernel's word on devices, for as long as it can be had.
#[derive(Debug)]
pub(super) struct LinkWatch {
    link_states: Option<LinkStates>,
}

impl LinkWatch {
    /// Those of the calling thread's network namespace. Without netlink nothing is known of them.
    pub(super) fn watch() -> Self {
        Self { link_states: LinkStates::watch().ok() }
    }

    /// What to poll for news.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.link_states.as_ref().map(AsFd::as_fd)
    }

    /// Takes the kernel's news, and notes them at the devices of `engine`.
    pub(super) fn check(&mut self, engine: &Engine) {
        let Some(link_states) = &mut self.link_states else { return };
        match link_states.read() {
            Ok(false) => {
                // The one that has taken its place may be the one that prphosts means by now.
                if engine.lock().lacks_device() {
                    self.note(engine);
                }
                return;
            }
            Ok(true) => {}
            Err(_) => self.link_states = None,
        }
        self.note(engine);
        note_udp_mtus(engine);
        // prphosts has changed with its devices, perhaps, and a process that only listens does not
        // read it.
        engine.read_hosts_again();
    }

    /// Notes at the devices of `engine` what is known of them. Where one is called otherwise by
    /// now, prphosts may name it so.
    pub(super) fn note(&self, engine: &Engine) {
        let file = engine.hosts.lock().clone();
        let now = engine.now();
        let mut core = engine.lock();
        let local = core.endpoint.local_node();
        let is_own = |name: &str, mac| {
            let file = file.as_ref();
            file.is_some_and(|file| own_addrs(file.hosts(), local, name).any(|own| own == mac))
        };
        let renamed = core.note_links(self.link_states.as_ref(), engine.device_names(), is_own);
        engine.finish(core, now);
        if renamed {
            engine.reload_hosts();
        }
    }
}

/// Notes at the UDP sockets of `engine` how large datagrams may be. The kernel is asked without the
/// lock.
fn note_udp_mtus(engine: &Engine) {
    let core = engine.lock();
    let devices = core.underlays().map(|io| io.udp().map(UdpDevice::interface_mtu));
    let devices: Vec<_> = devices.collect();
    drop(core);
    let mtus: Vec<_> = devices.iter().map(|device| device.as_ref()?.read()).collect();
    engine.lock().note_udp_mtus(mtus.into_iter());
}
