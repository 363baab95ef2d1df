//! Options of a pair of Unix sockets, as a socket of TCP would have them.

use libc::c_int;

/// Bytes of a segment that `TCP_MAXSEG` and `TCP_INFO` tell.
const SEGMENT: c_int = 1460;

/// Whether an option of TCP or IP is one that a pair takes without effect.
pub fn is_taken(level: c_int, name: c_int) -> bool {
    match level {
        libc::IPPROTO_TCP => !matches!(
            name,
            libc::TCP_ULP | libc::TCP_REPAIR | libc::TCP_MD5SIG | libc::TCP_FASTOPEN
        ),
        libc::IPPROTO_IP => matches!(
            name,
            libc::IP_TOS
                | libc::IP_TTL
                | libc::IP_MTU_DISCOVER
                | libc::IP_RECVERR
                | libc::IP_RECVTOS
                | libc::IP_RECVTTL
                | libc::IP_PKTINFO
                | libc::IP_MINTTL
                | libc::IP_FREEBIND
                | libc::IP_BIND_ADDRESS_NO_PORT
        ),
        libc::IPPROTO_IPV6 => matches!(
            name,
            libc::IPV6_TCLASS
                | libc::IPV6_UNICAST_HOPS
                | libc::IPV6_V6ONLY
                | libc::IPV6_RECVERR
                | libc::IPV6_MTU_DISCOVER
                | libc::IPV6_RECVTCLASS
                | libc::IPV6_RECVHOPLIMIT
                | libc::IPV6_RECVPKTINFO
        ),
        _ => false,
    }
}

/// The value of an option.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct OptionValue {
    bytes: [u8; size_of::<libc::tcp_info>()],
    len: usize,
}

impl OptionValue {
    /// Returns what a pair says for an option of TCP or IP; `None` if it has none.
    pub fn of_pair(level: c_int, name: c_int) -> Option<Self> {
        match (level, name) {
            (libc::IPPROTO_TCP, libc::TCP_INFO) => Some(Self::info()),
            (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => Some(Self::new(b"prp\0")),
            (libc::IPPROTO_TCP, libc::TCP_NODELAY | libc::TCP_QUICKACK) => Some(Self::number(1)),
            (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => Some(Self::number(SEGMENT)),
            (libc::IPPROTO_IP, libc::IP_TTL) => Some(Self::number(64)),
            _ => is_taken(level, name).then(|| Self::number(0)),
        }
    }

    /// Returns a number as a value.
    pub fn number(number: c_int) -> Self {
        Self::new(&number.to_ne_bytes())
    }

    fn new(value: &[u8]) -> Self {
        let mut bytes = [0; _];
        bytes[..value.len()].copy_from_slice(value);
        Self { bytes, len: value.len() }
    }

    /// What `TCP_INFO` says of a connection that is there.
    fn info() -> Self {
        use std::mem::offset_of;

        let mut bytes = [0; size_of::<libc::tcp_info>()];
        let mut put = |at: usize, number: u32| {
            bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        };
        put(offset_of!(libc::tcp_info, tcpi_snd_mss), SEGMENT.cast_unsigned());
        put(offset_of!(libc::tcp_info, tcpi_rcv_mss), SEGMENT.cast_unsigned());
        put(offset_of!(libc::tcp_info, tcpi_snd_cwnd), 10);
        bytes[offset_of!(libc::tcp_info, tcpi_state)] = 1;
        Self { bytes, len: bytes.len() }
    }

    /// Returns the value as the kernel would write it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_pair__is_as_of_tcp() {
        let value = |level, name| OptionValue::of_pair(level, name).map(|it| it.bytes().to_vec());
        let nodelay = value(libc::IPPROTO_TCP, libc::TCP_NODELAY);
        assert_eq!(nodelay.as_deref(), Some(&1_i32.to_ne_bytes()[..]));
        let ancillary = [
            (libc::IPPROTO_IP, libc::IP_RECVTTL),
            (libc::IPPROTO_IP, libc::IP_RECVTOS),
            (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS),
            (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT),
        ];
        for (level, name) in ancillary {
            assert!(is_taken(level, name), "{level} {name}");
            assert_eq!(value(level, name).as_deref(), Some(&[0; 4][..]), "{level} {name}");
        }
        let info = value(libc::IPPROTO_TCP, libc::TCP_INFO).expect("a structure");
        assert_eq!((info.len(), info[0]), (size_of::<libc::tcp_info>(), 1));
        assert_eq!(value(libc::IPPROTO_TCP, libc::TCP_ULP), None);
        assert_eq!(value(libc::SOL_SOCKET, libc::SO_ERROR), None);
    }
}
