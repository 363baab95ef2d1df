//! The options block of CREQ and CACK (SPEC PRP-OPT-1 to 6).

use core::fmt;

use super::reader::Reader;

/// The version of the options block this crate speaks.
pub const VERSION: u8 = 1;

/// What a connection does about lost segments, weakest first (SPEC section 6).
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug, Hash)]
#[non_exhaustive]
pub enum Reliability {
    /// The paper's: a loss is detected and ends the stream with an error.
    Detect,
    /// The receiver discards what is out of order; the sender goes back to the gap.
    GoBackN,
    /// The receiver keeps what is out of order; the sender resends only what is missing.
    SelectiveRepeat,
}

impl Reliability {
    /// All of them, strongest first: the order of preference where several are offered.
    pub const STRONGEST_FIRST: [Self; 3] = [Self::SelectiveRepeat, Self::GoBackN, Self::Detect];

    const fn bit(self) -> u8 {
        match self {
            Self::Detect => 1,
            Self::GoBackN => 2,
            Self::SelectiveRepeat => 4,
        }
    }

    /// Its name on command lines and in statistics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Detect => "detect",
            Self::GoBackN => "go-back-n",
            Self::SelectiveRepeat => "selective-repeat",
        }
    }
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl core::str::FromStr for Reliability {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::STRONGEST_FIRST
            .into_iter()
            .find(|r| r.name() == s)
            .ok_or("expected detect, go-back-n or selective-repeat")
    }
}

/// The policies an end would accept.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub struct ReliabilitySet(u8);

impl ReliabilitySet {
    /// Every policy this crate has.
    pub const ALL: Self = Self(0b111);
    /// The two that lose nothing: what a stream in TCP's place offers.
    pub const RELIABLE: Self = Self(0b110);

    /// Just `one`.
    pub const fn only(one: Reliability) -> Self {
        Self(one.bit())
    }

    /// These and `one`.
    #[must_use]
    pub const fn with(self, one: Reliability) -> Self {
        Self(self.0 | one.bit())
    }

    /// Whether `one` is in it.
    pub const fn contains(self, one: Reliability) -> bool {
        self.0 & one.bit() != 0
    }

    /// The strongest policy in both sets.
    pub fn strongest_common(self, other: Self) -> Option<Reliability> {
        Reliability::STRONGEST_FIRST.into_iter().find(|r| self.contains(*r) && other.contains(*r))
    }
}

/// What CREQ asks for and CACK grants.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub struct Offer {
    /// The sender's random connection id; never zero.
    pub id: u32,
    /// In a CACK the id of the request it answers; zero in a CREQ.
    pub echo: u32,
    /// Acceptable policies; exactly one in a CACK.
    pub reliability: ReliabilitySet,
    /// Whether the sender wants (CREQ) or grants (CACK) the CRC trailer on every frame.
    pub crc: bool,
    /// Largest segment the sender can take, in bytes of payload and trailer.
    pub mss: u16,
    /// Segments the sender can take beyond its initial segment number.
    pub window: u32,
}

/// Why an options block cannot be used.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum OfferError {
    /// Too short, version 0, a zero id, a tiny segment size or an option that runs past the end.
    Malformed,
}

impl Offer {
    /// Bytes of the block without extensions.
    pub const LEN: usize = 20;

    /// Least segment size an offer may state. Below it, headers outweigh data and a trailer may not
    /// fit.
    pub const MIN_MSS: u16 = 64;

    const CRC_WISH: u8 = 1;

    /// The block's bytes.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let Self { id, echo, reliability, crc, mss, window } = *self;
        let mut out = [0; Self::LEN];
        out[0] = VERSION;
        out[1] = reliability.0;
        out[2] = if crc { Self::CRC_WISH } else { 0 };
        out[4..8].copy_from_slice(&id.to_be_bytes());
        out[8..12].copy_from_slice(&echo.to_be_bytes());
        out[12..14].copy_from_slice(&mss.to_be_bytes());
        out[16..].copy_from_slice(&window.to_be_bytes());
        out
    }

    /// Reads a block. Later versions keep these fields in place and add type-length-value options
    /// behind them; those are checked for shape and ignored (SPEC PRP-OPT-6).
    ///
    /// # Errors
    /// [`OfferError::Malformed`].
    pub fn parse(payload: &[u8]) -> Result<Self, OfferError> {
        Self::read(payload).ok_or(OfferError::Malformed)
    }

    fn read(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        let version = r.u8()?;
        let reliability = ReliabilitySet(r.u8()? & ReliabilitySet::ALL.0);
        let crc = r.u8()? & Self::CRC_WISH != 0;
        let _reserved = r.u8()?;
        let (id, echo, mss) = (r.u32()?, r.u32()?, r.u16()?);
        let _reserved = r.u16()?;
        let window = r.u32()?;
        while !r.rest().is_empty() {
            let _kind = r.u8()?;
            let len = r.u8()?;
            r.take(usize::from(len))?;
        }
        let usable = version != 0 && id != 0 && mss >= Self::MIN_MSS;
        usable.then_some(Self { id, echo, reliability, crc, mss, window })
    }
}
