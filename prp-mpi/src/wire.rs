//! The header before each message on a channel between two ranks.

/// Bytes of a header.
pub const HEADER: usize = 32;

/// Bytes of the header of a collective message that is not as long as each rank's part of the call:
/// how long that part is comes behind the rest.
pub const LONG_HEADER: usize = HEADER + 8;

/// Bits for the length of a message where the kind of the elements has the others: as many as an
/// address has.
const LEN_BITS: u32 = 48;

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
    /// A message of a collective operation: the header has the call's signature.
    Collective,
    /// A synchronous message was received.
    Received,
    /// The rank has called `MPI_Finalize`.
    Goodbye,
    /// The rank has ended its last session, and sends no more unless it returns.
    Leave,
    /// The rank had left, and is there again.
    Return,
    /// A message whose last [`END`] bytes come first, so that its receiver may go on when only
    /// whole pages are still to come.
    EndFirst,
    /// Something that is to be done with a window of the receiver, or what came of it: the tag
    /// says what.
    OneSided,
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

/// First byte of the header of a message of [`Kind::OneSided`].
const ONE_SIDED: u8 = 10;

impl Kind {
    /// Whether a header that was written is of a message with windows.
    pub fn is_one_sided(head: &[u8]) -> bool {
        head.first() == Some(&ONE_SIDED)
    }
}

impl Header {
    /// Writes the header; how long it is.
    ///
    /// A collective message has no number of its sender's, and its call's signature in that place
    /// and in what others leave empty: a few bytes more would cost an 8-byte allreduce in shared
    /// memory some percent.
    pub fn write(&self, to: &mut [u8; LONG_HEADER]) -> usize {
        to[0] = match self.kind {
            Kind::Message => 1,
            Kind::Synchronous => 2,
            Kind::Collective if self.signature.bytes == self.len => 3,
            Kind::Collective => 7,
            Kind::Received => 4,
            Kind::Goodbye => 5,
            Kind::EndFirst => 6,
            Kind::Leave => 8,
            Kind::Return => 9,
            Kind::OneSided => ONE_SIDED,
        };
        to[1..4].fill(0);
        to[4..8].copy_from_slice(&self.source.to_le_bytes());
        to[8..12].copy_from_slice(&self.tag.to_le_bytes());
        to[12..16].copy_from_slice(&self.id.to_le_bytes());
        to[16..24].copy_from_slice(&self.context.to_le_bytes());
        to[24..32].copy_from_slice(&self.len.to_le_bytes());
        if self.kind != Kind::Collective {
            return HEADER;
        }
        let Signature { call, op, element, root, bytes } = self.signature;
        (to[1], to[2]) = (call, op);
        to[12..16].copy_from_slice(&root.to_le_bytes());
        to[24..32].copy_from_slice(&(self.len | u64::from(element) << LEN_BITS).to_le_bytes());
        if bytes == self.len {
            return HEADER;
        }
        to[HEADER..].copy_from_slice(&bytes.to_le_bytes());
        LONG_HEADER
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
            Some(3 | 7) => Kind::Collective,
            Some(4) => Kind::Received,
            Some(5) => Kind::Goodbye,
            Some(6) => Kind::EndFirst,
            Some(8) => Kind::Leave,
            Some(9) => Kind::Return,
            Some(&ONE_SIDED) => Kind::OneSided,
            Some(&other) => return Err(other),
        };
        let size = if from[0] == 7 { LONG_HEADER } else { HEADER };
        if from.len() < size {
            return Ok(None);
        }
        let id = u32::from_le_bytes(array(&from[12..]));
        let len = u64::from_le_bytes(array(&from[24..]));
        let mut header = Self {
            kind,
            source: i32::from_le_bytes(array(&from[4..])),
            tag: i32::from_le_bytes(array(&from[8..])),
            id,
            context: u64::from_le_bytes(array(&from[16..])),
            len,
            signature: Signature::default(),
        };
        if kind == Kind::Collective {
            header.id = 0;
            header.len = len & ((1 << LEN_BITS) - 1);
            let long = (size == LONG_HEADER).then(|| u64::from_le_bytes(array(&from[HEADER..])));
            header.signature = Signature {
                call: from[1],
                op: from[2],
                element: (len >> LEN_BITS) as u16,
                root: id.cast_signed(),
                bytes: long.unwrap_or(header.len),
            };
        }
        Ok(Some((header, size)))
    }
}

/// The first bytes of `from`, which has as many.
fn array<const N: usize>(from: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| from[i])
}

#[cfg(test)]
mod tests;
