//! The header before each message on a link between two ranks.

/// Bytes of a header without a signature.
pub const HEADER: usize = 32;

/// Bytes of a header with the signature of a collective call.
pub const LONG_HEADER: usize = HEADER + Signature::LEN;

/// Bytes of a message that are put in front where its end comes first: what can lie on a page of
/// 4 KiB that is not all the buffer's.
pub const END: usize = 4095;

/// What a header is for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A message between two ranks, whose bytes follow.
    Message,
    /// The same, whose sender waits until it is received.
    Synchronous,
    /// A message of a collective operation: the header is a long one.
    Collective,
    /// A synchronous message was received.
    Received,
    /// The rank has called `MPI_Finalize` and sends no more.
    Goodbye,
    /// A message whose last [`END`] bytes come first, so that its receiver may go on when only
    /// whole pages are still to come.
    EndFirst,
}

/// What the receiver of a message matches it by, and how long it is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Header {
    /// What it is for.
    pub kind: Kind,
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag; the number of the call in a collective operation.
    pub tag: i32,
    /// The sender's number for a synchronous message.
    pub id: u32,
    /// The communicator.
    pub context: u64,
    /// Bytes that follow.
    pub len: u64,
    /// What collective call it is part of.
    pub signature: Signature,
}

/// What all ranks must agree on in a collective call.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Signature {
    /// Which call: an index of [`crate::collective::CALLS`].
    pub call: u8,
    /// The predefined operation of a reduction, as in the ABI; 0 for none.
    pub op: u8,
    /// Kind of the elements; 0 where the ranks may differ.
    pub element: u16,
    /// Root, or -1.
    pub root: i32,
    /// Bytes of each rank's part; `u64::MAX` where the ranks may differ.
    pub bytes: u64,
}

impl Signature {
    /// Bytes on the wire.
    pub const LEN: usize = 16;

    fn write(self, to: &mut [u8]) {
        to[0] = self.call;
        to[1] = self.op;
        to[2..4].copy_from_slice(&self.element.to_le_bytes());
        to[4..8].copy_from_slice(&self.root.to_le_bytes());
        to[8..16].copy_from_slice(&self.bytes.to_le_bytes());
    }

    fn read(from: &[u8]) -> Self {
        Self {
            call: from[0],
            op: from[1],
            element: u16::from_le_bytes(array(&from[2..])),
            root: i32::from_le_bytes(array(&from[4..])),
            bytes: u64::from_le_bytes(array(&from[8..])),
        }
    }
}

impl Header {
    /// Writes the header; how long it is.
    pub fn write(&self, to: &mut [u8; LONG_HEADER]) -> usize {
        to[0] = match self.kind {
            Kind::Message => 1,
            Kind::Synchronous => 2,
            Kind::Collective => 3,
            Kind::Received => 4,
            Kind::Goodbye => 5,
            Kind::EndFirst => 6,
        };
        to[1..4].fill(0);
        to[4..8].copy_from_slice(&self.source.to_le_bytes());
        to[8..12].copy_from_slice(&self.tag.to_le_bytes());
        to[12..16].copy_from_slice(&self.id.to_le_bytes());
        to[16..24].copy_from_slice(&self.context.to_le_bytes());
        to[24..32].copy_from_slice(&self.len.to_le_bytes());
        if self.kind == Kind::Collective {
            self.signature.write(&mut to[HEADER..]);
            return LONG_HEADER;
        }
        HEADER
    }

    /// How many bytes of the message's end come first.
    pub fn front(&self) -> u64 {
        if self.kind == Kind::EndFirst { self.len.min(END as u64) } else { 0 }
    }

    /// Which bytes of the message come next after `got` of them: the first, and how many in a row.
    pub fn next_bytes(&self, got: u64) -> (u64, u64) {
        let front = self.front();
        if got < front {
            (self.len - front + got, front - got)
        } else {
            (got - front, self.len.saturating_sub(got))
        }
    }

    /// Reads a header and says how long it is. `None` if more bytes are needed.
    ///
    /// # Errors
    /// The first byte, if it is that of no header.
    pub fn read(from: &[u8]) -> Result<Option<(Self, usize)>, u8> {
        let kind = match from.first() {
            None => return Ok(None),
            Some(1) => Kind::Message,
            Some(2) => Kind::Synchronous,
            Some(3) => Kind::Collective,
            Some(4) => Kind::Received,
            Some(5) => Kind::Goodbye,
            Some(6) => Kind::EndFirst,
            Some(&other) => return Err(other),
        };
        let len = if kind == Kind::Collective { LONG_HEADER } else { HEADER };
        if from.len() < len {
            return Ok(None);
        }
        let signature = match kind {
            Kind::Collective => Signature::read(&from[HEADER..]),
            _ => Signature::default(),
        };
        let header = Self {
            kind,
            source: i32::from_le_bytes(array(&from[4..])),
            tag: i32::from_le_bytes(array(&from[8..])),
            id: u32::from_le_bytes(array(&from[12..])),
            context: u64::from_le_bytes(array(&from[16..])),
            len: u64::from_le_bytes(array(&from[24..])),
            signature,
        };
        Ok(Some((header, len)))
    }
}

/// The first bytes of `from`, which has as many.
fn array<const N: usize>(from: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| from[i])
}
