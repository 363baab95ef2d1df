//! The network interfaces of this machine, in this thread's network namespace.

use prp_proto::addr::MacAddr;

/// An interface that could carry frames.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mac: MacAddr,
    pub(crate) loopback: bool,
}

/// All of them.
pub(crate) fn interfaces() -> Vec<Interface> {
    pnet::datalink::interfaces()
        .into_iter()
        .map(|i| Interface {
            loopback: i.is_loopback(),
            mac: MacAddr(i.mac.map_or([0; 6], |m| m.octets())),
            index: i.index,
            name: i.name,
        })
        .collect()
}
