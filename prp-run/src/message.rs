//! What the library asks the holder, and its answers. Both are of one machine and of one version.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of the token that a request must have.
pub const TOKEN_SIZE: usize = 16;

/// Bytes of a name to resolve, at most.
pub const NAME_MAX: usize = 200;

/// The version of both messages.
const VERSION: u8 = 1;

/// What is asked.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum RequestKind {
    /// Nothing: the process is there.
    Hello,
    /// A connection to `node` and `port`, from `local_port`, for a program that knows the peer by
    /// `ip`. The answer has the program's end of a pair.
    Connect,
    /// As [`Self::Connect`]; but the answer comes before the peer's.
    ConnectNonblocking,
    /// A listening socket with the inode `number` at `ip` and `port`.
    Listen,
    /// The connection for which the holder has connected to a listening socket from `port`, where
    /// `ip` is of the same family. The answer has the program's end of a pair.
    Accept,
    /// The node called `name`.
    Resolve,
    /// Why the connection `number` has failed.
    Reason,
    /// The process has connected or accepted a connection of TCP; `number` is 1 if PRP has failed
    /// before.
    Tcp,
    /// The process ends.
    Bye,
    /// The port `port`, 0 for any, for a socket of `AF_PRPF`, whose place a listening socket with
    /// the inode `number` at [`FAMILY`](crate::FAMILY) and `local_port` takes. The answer has the
    /// port.
    Bind,
    /// The connection `number` is reset when it is closed, if `port` is 1; if that is 0, no more.
    ResetOnClose,
    /// As [`Self::Accept`], for a process that had no descriptor left, and has closed what it had
    /// accepted: it is to accept the connection once more.
    AcceptAgain,
    /// The calls that the kernel shows on the descriptor which comes along are the holder's to
    /// answer. The answer has the holder's number as a process.
    Supervise,
    /// The process has closed a listening socket.
    Closed,
}

impl RequestKind {
    const ALL: [Self; 14] = [
        Self::Hello,
        Self::Connect,
        Self::ConnectNonblocking,
        Self::Listen,
        Self::Accept,
        Self::Resolve,
        Self::Reason,
        Self::Tcp,
        Self::Bye,
        Self::Bind,
        Self::ResetOnClose,
        Self::AcceptAgain,
        Self::Supervise,
        Self::Closed,
    ];
}

/// A request, with zeros where its kind has no use for a field.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Request {
    /// What is asked.
    pub kind: RequestKind,
    /// What shows that the process is of this run.
    pub token: [u8; TOKEN_SIZE],
    /// A node's number.
    pub node: u16,
    /// A port.
    pub port: u16,
    /// The port to connect from; 0 for any.
    pub local_port: u16,
    /// Whether `ip` is of IPv6.
    pub is_ip6: bool,
    /// A listening socket takes connections of IPv6 alone.
    pub is_ip6_only: bool,
    /// No connection of TCP is to be had in place of one of PRP.
    pub is_prp_only: bool,
    /// An IP address; the first four bytes of one of IPv4.
    pub ip: [u8; 16],
    /// A number: see [`RequestKind`].
    pub number: u64,
    /// A name, and its length.
    pub name: ([u8; NAME_MAX], u8),
}

impl Request {
    /// Bytes of a request.
    pub const SIZE: usize = 2 + TOKEN_SIZE + 6 + 3 + 16 + 8 + NAME_MAX + 1;

    /// Returns a request with nothing but a kind and the token.
    pub const fn new(kind: RequestKind, token: [u8; TOKEN_SIZE]) -> Self {
        Self {
            kind,
            token,
            node: 0,
            port: 0,
            local_port: 0,
            is_ip6: false,
            is_ip6_only: false,
            is_prp_only: false,
            ip: [0; 16],
            number: 0,
            name: ([0; NAME_MAX], 0),
        }
    }

    /// Returns the IP address.
    pub fn ip(&self) -> IpAddr {
        if self.is_ip6 {
            return Ipv6Addr::from(self.ip).into();
        }
        let [a, b, c, d, ..] = self.ip;
        Ipv4Addr::new(a, b, c, d).into()
    }

    /// Sets the IP address.
    pub fn set_ip(&mut self, ip: IpAddr) {
        self.is_ip6 = ip.is_ipv6();
        match ip {
            IpAddr::V4(ip) => self.ip[..4].copy_from_slice(&ip.octets()),
            IpAddr::V6(ip) => self.ip = ip.octets(),
        }
    }

    /// Returns the request as bytes.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&[VERSION, self.kind as u8]);
        put(&self.token);
        for number in [self.node, self.port, self.local_port] {
            put(&number.to_ne_bytes());
        }
        put(&[self.is_ip6, self.is_ip6_only, self.is_prp_only].map(u8::from));
        put(&self.ip);
        put(&self.number.to_ne_bytes());
        put(&self.name.0);
        put(&[self.name.1]);
        bytes
    }

    /// Reads a request. Returns `None` for one of another version or kind.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let mut at = 0;
        let [version, kind] = take(bytes, &mut at);
        let kind = *RequestKind::ALL.get(usize::from(kind)).filter(|_| version == VERSION)?;
        let token = take(bytes, &mut at);
        let mut number = || u16::from_ne_bytes(take(bytes, &mut at));
        let (node, port, local_port) = (number(), number(), number());
        let [is_ip6, is_ip6_only, is_prp_only] = take(bytes, &mut at).map(|byte: u8| byte != 0);
        let ip = take(bytes, &mut at);
        let number = u64::from_ne_bytes(take(bytes, &mut at));
        let name = take(bytes, &mut at);
        let [len] = take(bytes, &mut at);
        let name = (name, len.min(NAME_MAX as u8));
        Some(Self {
            kind,
            token,
            node,
            port,
            local_port,
            is_ip6,
            is_ip6_only,
            is_prp_only,
            ip,
            number,
            name,
        })
    }
}

/// An answer.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Answer {
    /// 0, or a number of errno.
    pub errno: i32,
    /// A node's number.
    pub node: u16,
    /// The IPv4 address by which TCP reaches the node, or zeros; or the number of a process.
    pub ip: [u8; 4],
    /// A port.
    pub port: u16,
}

impl Answer {
    /// Bytes of an answer.
    pub const SIZE: usize = 13;

    /// Returns the answer that a request has failed with `errno`.
    pub const fn failed(errno: i32) -> Self {
        Self { errno, node: 0, ip: [0; 4], port: 0 }
    }

    /// Returns the answer as bytes.
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [VERSION; Self::SIZE];
        bytes[1..5].copy_from_slice(&self.errno.to_ne_bytes());
        bytes[5..7].copy_from_slice(&self.node.to_ne_bytes());
        bytes[7..11].copy_from_slice(&self.ip);
        bytes[11..].copy_from_slice(&self.port.to_ne_bytes());
        bytes
    }

    /// Reads an answer. Returns `None` for one of another version.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Option<Self> {
        let mut at = 0;
        let [version] = take(bytes, &mut at);
        let errno = i32::from_ne_bytes(take(bytes, &mut at));
        let node = u16::from_ne_bytes(take(bytes, &mut at));
        let ip = take(bytes, &mut at);
        let port = u16::from_ne_bytes(take(bytes, &mut at));
        (version == VERSION).then_some(Self { errno, node, ip, port })
    }
}

/// Takes the bytes from `at` on, and moves it behind them.
fn take<const N: usize>(bytes: &[u8], at: &mut usize) -> [u8; N] {
    let mut taken = [0; N];
    taken.copy_from_slice(&bytes[*at..*at + N]);
    *at += N;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request__reads_back() {
        for kind in RequestKind::ALL {
            let request = Request {
                node: 2,
                port: 80,
                local_port: 3,
                is_ip6: true,
                is_ip6_only: kind == RequestKind::Listen,
                is_prp_only: kind == RequestKind::Connect,
                ip: [7; 16],
                number: u64::MAX - 1,
                name: ([b'x'; NAME_MAX], 5),
                ..Request::new(kind, [9; TOKEN_SIZE])
            };
            assert_eq!(Request::parse(&request.to_bytes()), Some(request));
        }
    }

    #[test]
    fn request__has_an_address_of_either_family() {
        for ip in ["198.18.0.3", "::ffff:198.18.0.3", "fd50:5250::3"] {
            let ip: IpAddr = ip.parse().expect("an address");
            let mut request = Request::new(RequestKind::Connect, [0; TOKEN_SIZE]);
            request.set_ip(ip);
            assert_eq!(request.ip(), ip);
        }
    }

    #[test]
    fn request__of_another_version_or_kind_is_none() {
        let bytes = Request::new(RequestKind::Hello, [0; TOKEN_SIZE]).to_bytes();
        for (at, value) in [(0, VERSION + 1), (1, RequestKind::ALL.len() as u8)] {
            let mut wrong = bytes;
            wrong[at] = value;
            assert_eq!(Request::parse(&wrong), None, "byte {at}");
        }
    }

    #[test]
    fn request__has_no_longer_name_than_it_has_room_for() {
        let mut bytes = Request::new(RequestKind::Resolve, [0; TOKEN_SIZE]).to_bytes();
        bytes[Request::SIZE - 1] = u8::MAX;
        let read = Request::parse(&bytes).expect("a request");
        assert_eq!(usize::from(read.name.1), NAME_MAX);
    }

    #[test]
    fn answer__reads_back() {
        let answer = Answer { errno: 111, node: 3, ip: [10, 0, 0, 3], port: 65_534 };
        let mut bytes = answer.to_bytes();
        assert_eq!(Answer::parse(&bytes), Some(answer));
        bytes[0] += 1;
        assert_eq!(Answer::parse(&bytes), None);
    }
}
