//! Datagrams by which a device finds out whether trains get through to a neighbour (SPEC
//! PRP-UDP-7): some that leave as a train, and as many that leave alone. The neighbour's device
//! reports which of them have come as they were sent.

/// Datagrams that leave as a train, and datagrams that leave alone, at most.
pub(super) const MOST: usize = 8;

/// What no packet begins with: the node number 0 twice.
const MARK: [u8; 4] = [0; 4];

/// Kinds of these datagrams, the byte after the mark.
const PROBE: u8 = 1;
const REPORT: u8 = 2;

/// Bytes before a probe's pattern: mark, kind, index, zeros, and the number of the test.
const HEADER: usize = 12;

/// The shortest probe.
pub(super) const SHORTEST: usize = 64;

/// Bytes of a report: mark, kind, a zero, a bit for each probe that has come, and the number of the
/// test.
const REPORT_LEN: usize = 12;

/// One of these datagrams, as it has come.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Message {
    /// A probe of test `id`.
    Probe { id: u32, index: u8 },
    /// Which probes of test `id` a neighbour has got: bits 0 to 7 for those of the train, 8 to 15
    /// for those that left alone.
    Report { id: u32, came: u16 },
    /// One that is not as it was sent.
    Garbled,
}

/// Writes probe `index` of test `id` over all of `bytes`, at least [`SHORTEST`].
pub(super) fn write_probe(bytes: &mut [u8], id: u32, index: u8) {
    let (header, rest) = bytes.split_at_mut(HEADER);
    header[..4].copy_from_slice(&MARK);
    header[4..8].copy_from_slice(&[PROBE, index, 0, 0]);
    header[8..].copy_from_slice(&id.to_be_bytes());
    for (byte, expected) in rest.iter_mut().zip(pattern(id, index)) {
        *byte = expected;
    }
}

/// What test `id` has in probe `index` behind the header. The pattern's period is a prime, so that
/// nothing that is moved or swapped matches.
fn pattern(id: u32, index: u8) -> impl Iterator<Item = u8> {
    let first = id.wrapping_mul(31).wrapping_add(u32::from(index) * 17);
    (0..251u32).cycle().map(move |at| first.wrapping_add(at) as u8)
}

/// A report on test `id`.
pub(super) fn report(id: u32, came: u16) -> [u8; REPORT_LEN] {
    let mut bytes = [0; REPORT_LEN];
    bytes[4] = REPORT;
    bytes[6..8].copy_from_slice(&came.to_be_bytes());
    bytes[8..].copy_from_slice(&id.to_be_bytes());
    bytes
}

/// Reads `bytes` if it is one of these datagrams.
pub(super) fn read(bytes: &[u8]) -> Option<Message> {
    let rest = bytes.strip_prefix(&MARK)?;
    let Some((&[kind, index, high, low, a, b, c, d], rest)) = rest.split_first_chunk() else {
        return Some(Message::Garbled);
    };
    let id = u32::from_be_bytes([a, b, c, d]);
    let is_whole = || {
        bytes.len() >= SHORTEST
            && (high, low) == (0, 0)
            && usize::from(index) < 2 * MOST
            && rest.iter().copied().eq(pattern(id, index).take(rest.len()))
    };
    Some(match kind {
        PROBE if is_whole() => Message::Probe { id, index },
        REPORT if rest.is_empty() => Message::Report { id, came: u16::from_be_bytes([high, low]) },
        _ => Message::Garbled,
    })
}

/// Which probes of one test have come by one system call.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Tally {
    id: u32,
    came: u16,
}

impl Tally {
    /// Notes `message` if it is a probe; the report that is due on another test, if there is one.
    pub(super) fn note(&mut self, message: Message) -> Option<[u8; REPORT_LEN]> {
        let Message::Probe { id, index } = message else { return None };
        let due = if id == self.id { None } else { self.take() };
        self.id = id;
        self.came |= 1 << index;
        due
    }

    /// The report that is due, if there is one.
    pub(super) fn take(&mut self) -> Option<[u8; REPORT_LEN]> {
        let came = std::mem::take(&mut self.came);
        (came != 0).then(|| report(self.id, came))
    }
}
