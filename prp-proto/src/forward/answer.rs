//! What the node sends for itself: answers to echoes, reports about echoes and requests that went
//! no further, answers to peers of a port that no process owns, and resets to the peers of
//! processes that were killed (SPEC PRP-NODE, PRP-RST-2, PRP-RST-7).

use alloc::vec::Vec;

use prp_key::Keyring;

use super::{Flow, ForwardDrop, Forwarder};
use crate::addr::{DeviceId, LinkAddr, MacAddr, NodeId, Port};
use crate::endpoint::{EstablishedId, is_keyed};
use crate::seq::{Seq, SeqWidth};
use crate::wire::{
    EthernetHeader, Flags, Frame, Head, NetworkHeader, NodeBlock, NodeKind, ResetBlock,
    ResetReason, TransportHeader, sealed_by,
};

/// A frame this node has to say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The device it leaves by.
    pub device: DeviceId,
    /// The neighbour it is for.
    pub to: LinkAddr,
    /// All of it.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// For the process that has sent a frame from `from`, where its node is the next hop: other
    /// UDP ports than the node's own are its processes'.
    fn back_to(self, from: LinkAddr) -> Self {
        let to = if self.to.covers(from) { from } else { self.to };
        Self { to, ..self }
    }
}

/// The answer to a frame for this node's control port, or about a frame dropped for `dropped`. None
/// for whatever is not a genuine echo: nothing else may make a router speak.
pub fn answer(
    forwarder: &Forwarder,
    frame: &Frame<'_>,
    dropped: Option<ForwardDrop>,
) -> Option<Answer> {
    let Head { network, transport, .. } = frame.head;
    if transport.dst_port != Port::CONTROL {
        return None;
    }
    // An echo is answered in any case; the answer is signed if it is (PRP-KEY-13). Node keys of two
    // others cannot be checked here: that an echo goes too far or is too big ends nothing, and that
    // there is no route could end a request (PRP-KEY-24).
    let is_harmless = matches!(dropped, Some(ForwardDrop::HopLimit | ForwardDrop::TooBig));
    let frame = &match forwarder.authenticate(frame) {
        Ok(frame) => frame,
        Err(_) if is_harmless && frame.names_node_keys() => frame.opened(frame.payload),
        Err(_) => *frame,
    };
    let asked = NodeBlock::of(frame).filter(|block| block.kind == NodeKind::Echo)?;
    let kind = match dropped {
        None => NodeKind::EchoReply,
        Some(ForwardDrop::HopLimit) => NodeKind::TimeExceeded,
        Some(ForwardDrop::NoRoute | ForwardDrop::AllDown) => NodeKind::Unreachable,
        Some(ForwardDrop::TooBig) => NodeKind::TooBig,
        Some(_) => return None,
    };
    let block = NodeBlock { kind, hops: transport.flags.hops(), ..asked }.emit();
    let why = forwarder.unreachable_cause(network.dst).emit();
    // The echo's padding comes back in its reply, so that the route back is tried with the same
    // size.
    let rest = match kind {
        NodeKind::EchoReply => frame.payload.get(NodeBlock::LEN..).unwrap_or_default(),
        NodeKind::Unreachable => &why,
        _ => &[],
    };
    let keyring = forwarder.keyring().filter(|_| frame.is_authentic());
    let ports = (Port::CONTROL, transport.src_port);
    let answer = build(forwarder, keyring, network.src, ports, Flags::CTL, &[&block, rest])?;
    Some(answer.back_to(frame.from))
}

/// What the client is told whose request `frame` is, which was dropped for `dropped`: that no
/// usable route leads on from here, and why. None for all else.
pub fn no_onward_route(
    forwarder: &Forwarder,
    frame: &Frame<'_>,
    dropped: ForwardDrop,
) -> Option<Answer> {
    let Head { network, transport, .. } = frame.head;
    let has_no_route = matches!(dropped, ForwardDrop::NoRoute | ForwardDrop::AllDown);
    if !has_no_route || !transport.flags.contains(Flags::CREQ) {
        return None;
    }
    let request = ResetBlock::owed_to(frame)?;
    let block = NodeBlock {
        kind: NodeKind::Unreachable,
        hops: transport.flags.hops(),
        sequence: transport.dst_port.number(),
        id: request.receiver,
        stamp: u64::from(network.dst.number()),
    };
    let ports = (Port::CONTROL, transport.src_port);
    let why = forwarder.unreachable_cause(network.dst).emit();
    let keyring = forwarder.keyring().filter(|_| is_keyed(frame));
    let said = [&block.emit()[..], &why];
    let answer = build(forwarder, keyring, network.src, ports, Flags::CTL, &said)?;
    Some(answer.back_to(frame.from))
}

/// The reset that answers `frame`, which is for a port of this node that no process owns: a genuine
/// request, grant or probe of an extended peer. None for any other frame ([`ResetBlock::owed_to`]).
pub fn refuse(forwarder: &Forwarder, frame: &Frame<'_>) -> Option<Answer> {
    let Head { network, transport, .. } = frame.head;
    let block = ResetBlock::owed_to(frame)?;
    let ports = (transport.dst_port, transport.src_port);
    let keyring = forwarder.keyring().filter(|_| is_keyed(frame));
    let answer = build(forwarder, keyring, network.src, ports, Flags::RST, &[&block.emit()])?;
    Some(answer.back_to(frame.from))
}

/// The reset of a connection whose process is gone, in its name (SPEC PRP-RST-7). None where no
/// route leads to the peer, and if that is on this node: see [`reset_here`].
pub fn reset(forwarder: &Forwarder, established: &EstablishedId) -> Option<Answer> {
    let EstablishedId { local, remote, .. } = *established;
    let (keyring, ports) = (keyring_of(forwarder, established), (local, remote.port));
    build(forwarder, keyring, remote.node, ports, Flags::RST, &[&aborted(established)])
}

/// As [`reset`], for a peer on this very node: the frame, for the loopback device.
pub fn reset_here(forwarder: &Forwarder, established: &EstablishedId) -> Vec<u8> {
    let EstablishedId { local, remote, .. } = *established;
    let (none, node) = (MacAddr::ZERO, forwarder.local());
    let ethernet = EthernetHeader { dst: none, src: none, ethertype: forwarder.ethertype() };
    let ethernet = Some(ethernet);
    let network = NetworkHeader { src: node, dst: node };
    let transport = header(local, remote.port, Flags::RST);
    let keyring = keyring_of(forwarder, established);
    sealed_by(keyring, Head { ethernet, network, transport }, &[&aborted(established)])
}

/// What a reset of a connection is signed with, if its peer asks for that.
fn keyring_of<'a>(forwarder: &'a Forwarder, established: &EstablishedId) -> Option<&'a Keyring> {
    forwarder.keyring().filter(|_| established.is_protected)
}

fn aborted(established: &EstablishedId) -> [u8; ResetBlock::LEN] {
    let EstablishedId { own_id: sender, peer_id: receiver, .. } = *established;
    ResetBlock { reason: ResetReason::Aborted, receiver, sender }.emit()
}

fn header(src: Port, dst: Port, flags: Flags) -> TransportHeader {
    let mut header = TransportHeader::new(src, dst, Seq::default(), SeqWidth::Bits20, 0);
    header.flags |= flags;
    header
}

fn build(
    forwarder: &Forwarder,
    keyring: Option<&Keyring>,
    to: NodeId,
    (src_port, dst_port): (Port, Port),
    flags: Flags,
    payload: &[&[u8]],
) -> Option<Answer> {
    let (local, ethertype) = (forwarder.local(), forwarder.ethertype());
    let flow = Flow {
        src: local.number(),
        dst: to.number(),
        src_port: src_port.number(),
        dst_port: dst_port.number(),
    };
    let next = forwarder.next_hop(to, flow, None).ok()?;
    let own = forwarder.devices().get(usize::from(next.device.0))?.addr;
    let transport = header(src_port, dst_port, flags);
    let head = Head {
        ethernet: EthernetHeader::between(own, next.addr, ethertype),
        network: NetworkHeader { src: local, dst: to },
        transport,
    };
    let bytes = sealed_by(keyring, head, payload);
    Some(Answer { device: next.device, to: next.addr, bytes })
}
