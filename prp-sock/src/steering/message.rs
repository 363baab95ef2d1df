//! What the steward and the other processes of a node tell each other about who gets which frames.
//!
//! A message is a head of eight bytes, in the byte order of the machine that both are on, and ports.

use prp_proto::addr::Port;

const HEAD: usize = 8;

/// Ports a message may carry. A process that owns more is on its own.
pub(crate) const MAX_PORTS: usize = 4096;

/// What a process tells the steward.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Request {
    /// Is anybody there who answers?
    Hello,
    /// Take my sockets, which come with this, into the rows of their devices. These ports are mine.
    Join(Vec<Port>),
    /// This port is mine now.
    Claim(Port),
    /// I need so many ports for connections to come.
    Reserve(u16),
    /// This port is mine no more.
    Release(Port),
    /// My sockets have nothing to receive any more; `true` if the rows may be out of order.
    Leave(bool),
}

/// What the steward tells a process.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Reply {
    /// Your sockets are going to be in a row.
    Enlisted,
    /// Your ports are known, and frames for them come to you.
    Steered,
    /// As [`Self::Steered`], for these ports as well, both included, which you may use.
    Reserved(Port, Port),
    /// Receive by your own means: your sockets are to be out of use soon, or there are too many ports.
    Withdraw,
}

fn encode(kind: u8, answers: u32, ports: &[Port]) -> Vec<u8> {
    let count = ports.len().min(MAX_PORTS) as u16;
    let mut bytes = vec![kind, 0];
    bytes.extend(count.to_ne_bytes());
    bytes.extend(answers.to_ne_bytes());
    bytes.extend(ports.iter().take(MAX_PORTS).flat_map(|p| p.number().to_ne_bytes()));
    bytes
}

/// Takes one message off the front of `bytes`: kind, number and ports, if it is all there.
fn take(bytes: &mut Vec<u8>) -> Option<(u8, u32, Vec<Port>)> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
    let [kind, _, a, b, number @ ..] = *head;
    let len = usize::from(u16::from_ne_bytes([a, b])) * 2;
    let ports = rest.get(..len)?;
    let ports = ports.chunks_exact(2).map(|p| Port::new(u16::from_ne_bytes([p[0], p[1]])));
    let message = (kind, u32::from_ne_bytes(number), ports.collect());
    bytes.drain(..HEAD + len);
    Some(message)
}

impl Request {
    /// As bytes, with the number that the reply is to carry.
    pub(crate) fn encode(&self, number: u32) -> Vec<u8> {
        match self {
            Self::Join(ports) => encode(1, number, ports),
            Self::Claim(port) => encode(2, number, &[*port]),
            Self::Reserve(count) => encode(3, number, &[Port::new(*count)]),
            Self::Release(port) => encode(4, number, &[*port]),
            Self::Leave(disturbed) => encode(5 + u8::from(*disturbed), number, &[]),
            Self::Hello => encode(7, number, &[]),
        }
    }

    /// Takes one off the front of `bytes`, if it is all there. One that makes no sense is none, and what
    /// is behind it neither.
    pub(crate) fn take(bytes: &mut Vec<u8>) -> Option<(u32, Self)> {
        let (kind, number, ports) = take(bytes)?;
        let request = match (kind, &ports[..]) {
            (1, _) => Self::Join(ports),
            (2, [port]) => Self::Claim(*port),
            (3, [count]) => Self::Reserve(count.number()),
            (4, [port]) => Self::Release(*port),
            (5, []) => Self::Leave(false),
            (6, []) => Self::Leave(true),
            (7, []) => Self::Hello,
            _ => return None,
        };
        Some((number, request))
    }
}

impl Reply {
    /// As bytes, in answer to request `number`.
    pub(crate) fn encode(self, number: u32) -> Vec<u8> {
        match self {
            Self::Enlisted => encode(1, number, &[]),
            Self::Steered => encode(2, number, &[]),
            Self::Reserved(first, last) => encode(3, number, &[first, last]),
            Self::Withdraw => encode(4, number, &[]),
        }
    }

    /// Takes one off the front of `bytes`, if it is all there.
    pub(crate) fn take(bytes: &mut Vec<u8>) -> Option<(u32, Self)> {
        let (kind, number, ports) = take(bytes)?;
        let reply = match (kind, &ports[..]) {
            (1, []) => Self::Enlisted,
            (2, []) => Self::Steered,
            (3, [first, last]) => Self::Reserved(*first, *last),
            (4, []) => Self::Withdraw,
            _ => return None,
        };
        Some((number, reply))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn take__gives_what_was_encoded_whole_or_not_at_all() {
        let p = Port::new;
        let requests = [
            Request::Join(vec![p(1), p(65535)]),
            Request::Claim(p(80)),
            Request::Reserve(32),
            Request::Release(p(81)),
            Request::Leave(false),
            Request::Leave(true),
            Request::Join(Vec::new()),
            Request::Hello,
        ];
        let mut bytes = Vec::new();
        for (number, request) in (7..).zip(&requests) {
            for byte in request.encode(number) {
                assert_eq!(Request::take(&mut bytes), None);
                bytes.push(byte);
            }
            assert_eq!(Request::take(&mut bytes), Some((number, request.clone())));
        }
        let replies =
            [Reply::Enlisted, Reply::Steered, Reply::Reserved(p(32), p(63)), Reply::Withdraw];
        bytes.extend(replies.iter().flat_map(|r| r.encode(9)));
        replies.iter().for_each(|r| assert_eq!(Reply::take(&mut bytes), Some((9, *r))));
        assert!(bytes.is_empty());
    }

    #[test]
    fn take__of_nonsense_is_nothing() {
        for kind in [0, 8, 255] {
            assert_eq!(Request::take(&mut encode(kind, 1, &[Port::new(1)])), None);
            assert_eq!(Reply::take(&mut encode(kind, 1, &[])), None);
        }
        assert_eq!(Request::take(&mut encode(2, 1, &[])), None);
        assert_eq!(Reply::take(&mut encode(3, 1, &[])), None);
    }
}
