//! Forwarding: what a node does with a frame for another one (SPEC PRP-HOPS-1, 2).

use prp_proto::addr::DeviceId;
use prp_proto::endpoint::{Device, Endpoint};
use prp_proto::wire::{ETHERTYPE, Flags, Frame, HEADER_LEN};

/// Why a router drops a frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum RouteDrop {
    /// It is no frame of ours.
    Malformed,
    /// It has crossed as many routers as it may.
    Hops,
    /// No way leads to its destination.
    NoRoute,
    /// The device it would leave by does not take frames that long.
    TooLong,
}

impl RouteDrop {
    /// Its name in traces.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Hops => "too many hops",
            Self::NoRoute => "no route",
            Self::TooLong => "too long",
        }
    }
}

/// Rewrites `frame` for its next hop by the routes of `endpoint`; the device it leaves by.
pub(crate) fn forward(
    endpoint: &Endpoint,
    devices: &[Device],
    frame: &mut [u8],
) -> Result<DeviceId, RouteDrop> {
    let Ok(parsed) = Frame::parse(frame, ETHERTYPE) else { return Err(RouteDrop::Malformed) };
    let mut head = parsed.head;
    let hops = head.transport.flags.hops();
    if hops >= Flags::MAX_HOPS {
        return Err(RouteDrop::Hops);
    }
    let next = endpoint.routes().lookup(head.network.dst).next_hops().first().copied();
    let next = next.ok_or(RouteDrop::NoRoute)?;
    let device = devices.get(usize::from(next.device.0)).ok_or(RouteDrop::NoRoute)?;
    if frame.len() > device.mtu as usize + prp_proto::wire::ETHERNET_LEN {
        return Err(RouteDrop::TooLong);
    }
    head.transport.flags = head.transport.flags.with_hops(hops + 1);
    head.ethernet.src = device.mac;
    head.ethernet.dst = next.mac;
    frame[..HEADER_LEN].copy_from_slice(&head.emit());
    Ok(next.device)
}
