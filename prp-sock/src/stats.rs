//! Statistics of devices.

pub use prp_device::UdpCounters;

use crate::engine::Engine;

/// Counters of a device, as this process uses it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DeviceStats {
    /// Its name.
    pub name: String,
    /// Frames lost because the receiving ring was full: the process did not keep up.
    pub overruns: u64,
    /// Frames the device could not send: its queue was full, or it was down.
    pub send_losses: u64,
    /// Frames larger than the device takes: its MTU was lowered under a connection.
    pub too_big: u64,
    /// Frames that were handed straight to the NIC driver: many at a time, in a flow, on a link
    /// without a queue.
    pub xdp_tx: u64,
    /// Frames that a program in the kernel put straight into memory of this process, while it was
    /// polling.
    pub tcx_rx: u64,
    /// What a UDP socket counts besides; nothing of an Ethernet device.
    pub udp: Option<UdpCounters>,
}

impl DeviceStats {
    /// Every counter by its name. Leaving one out does not compile.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let &Self { name: _, overruns, send_losses, too_big, xdp_tx, tcx_rx, udp } = self;
        [
            ("overruns", overruns),
            ("send_losses", send_losses),
            ("too_big", too_big),
            ("xdp_tx", xdp_tx),
            ("tcx_rx", tcx_rx),
        ]
        .into_iter()
        .chain(udp.into_iter().flat_map(UdpCounters::counters))
    }

    pub(crate) fn of(engine: &Engine) -> Vec<Self> {
        let names = engine.device_names();
        let mut core = engine.lock();
        let counters = core.device_counters();
        names
            .iter()
            .zip(counters)
            .map(|(name, c)| Self {
                name: name.clone(),
                overruns: c.overruns,
                send_losses: c.send_losses,
                too_big: c.too_big,
                xdp_tx: c.xdp_tx,
                tcx_rx: c.tcx_rx,
                udp: c.udp,
            })
            .collect()
    }
}
