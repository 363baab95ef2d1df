//! What the driver of a network card says of its settings.

use std::io;
use std::os::fd::AsFd;

use socket2::{Domain, Socket, Type};

use crate::sys::ethtool::ask;

// From linux/ethtool.h: the questions, and how many 32-bit words the kernel's structures have.
const GET_COALESCING: u32 = 0x0e;
const COALESCING_WORDS: usize = 23;
const GET_RINGS: u32 = 0x10;
const RINGS_WORDS: usize = 9;
const GET_PAUSE: u32 = 0x12;
const PAUSE_WORDS: usize = 4;
const GET_EEE: u32 = 0x44;
const EEE_WORDS: usize = 10;

/// The settings of a card, as far as its driver tells them.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct CardSettings {
    /// How interrupts are moderated.
    pub moderation: Option<Moderation>,
    /// Energy-efficient Ethernet (IEEE 802.3az) is in use on the link.
    pub eee: Option<bool>,
    /// It obeys pause frames (IEEE 802.3x), or sends them.
    pub pause: Option<bool>,
    /// Frames that its receiving ring holds, and how many it could.
    pub rx_ring: Option<(u32, u32)>,
}

/// How a card gathers frames before it interrupts.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Moderation {
    /// Microseconds after a received frame.
    pub rx_usecs: u32,
    /// Microseconds after a sent frame.
    pub tx_usecs: u32,
    /// The driver changes the first by itself.
    pub adaptive_rx: bool,
}

impl CardSettings {
    /// Asks the driver of the device called `name`, in this thread's network namespace. What it
    /// does not tell is none.
    ///
    /// # Errors
    /// No socket can be had.
    pub fn of(name: &str) -> io::Result<Self> {
        let socket = Socket::new(Domain::UNIX, Type::DGRAM, None)?;
        let socket = socket.as_fd();
        Ok(Self {
            moderation: ask::<COALESCING_WORDS>(socket, name, GET_COALESCING).ok().map(moderation),
            eee: ask::<EEE_WORDS>(socket, name, GET_EEE).ok().map(eee),
            pause: ask::<PAUSE_WORDS>(socket, name, GET_PAUSE).ok().map(pause),
            rx_ring: ask::<RINGS_WORDS>(socket, name, GET_RINGS).ok().map(rx_ring),
        })
    }
}

/// Of `struct ethtool_coalesce`.
const fn moderation(words: [u32; COALESCING_WORDS]) -> Moderation {
    Moderation { rx_usecs: words[1], tx_usecs: words[5], adaptive_rx: words[10] != 0 }
}

/// Of `struct ethtool_eee`: it is allowed, and both ends have agreed on it.
const fn eee(words: [u32; EEE_WORDS]) -> bool {
    words[4] != 0 && words[5] != 0
}

/// Of `struct ethtool_pauseparam`.
const fn pause(words: [u32; PAUSE_WORDS]) -> bool {
    words[2] != 0 || words[3] != 0
}

/// Of `struct ethtool_ringparam`.
const fn rx_ring(words: [u32; RINGS_WORDS]) -> (u32, u32) {
    (words[5], words[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words as a kernel of little or big ends gives them: numbers of their places.
    fn words<const WORDS: usize>() -> [u32; WORDS] {
        std::array::from_fn(|at| at as u32)
    }

    #[test]
    fn settings__are_where_the_kernel_puts_them() {
        let expected = Moderation { rx_usecs: 1, tx_usecs: 5, adaptive_rx: true };
        assert_eq!(moderation(words()), expected);
        assert_eq!(rx_ring(words()), (5, 1));
        let mut asked = [0; EEE_WORDS];
        assert!(!eee(asked));
        asked[5] = 1;
        assert!(!eee(asked), "it is allowed, and not in use");
        asked[4] = 1;
        assert!(eee(asked));
        assert!(!pause([0x12, 1, 0, 0]), "negotiation alone pauses nothing");
        assert!(pause([0x12, 0, 1, 0]) && pause([0x12, 0, 0, 1]));
    }

    #[test]
    fn of__a_device_without_such_settings_has_none() {
        assert_eq!(CardSettings::of("lo").expect("a socket"), CardSettings::default());
        for name in ["", "no such device at all", "nothing7"] {
            assert_eq!(CardSettings::of(name).expect("a socket"), CardSettings::default());
        }
    }
}
