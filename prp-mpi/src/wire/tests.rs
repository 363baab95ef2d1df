use super::*;

fn header(kind: Kind, len: u64, signature: Signature) -> Header {
    Header { kind, source: 3, tag: -7, id: 0, context: u64::MAX - 1, len, signature }
}

#[test]
fn read__gives_what_was_written() {
    let call = Signature { call: 200, op: 9, element: 0xfe08, root: -1, bytes: 8 };
    let part = Signature { root: i32::MAX, bytes: u64::MAX, ..call };
    for (header, size) in [
        (header(Kind::Message, 1 << 60, Signature::default()), HEADER),
        (Header { id: 77, ..header(Kind::Synchronous, 5, Signature::default()) }, HEADER),
        (header(Kind::Leave, 0, Signature::default()), HEADER),
        (header(Kind::Return, 0, Signature::default()), HEADER),
        (Header { id: 9, ..header(Kind::OneSided, 70, Signature::default()) }, HEADER),
        (header(Kind::Collective, 8, call), HEADER),
        (header(Kind::Collective, (1 << LEN_BITS) - 1, part), LONG_HEADER),
        (header(Kind::Collective, 0, call), LONG_HEADER),
    ] {
        let mut bytes = [0xaa; LONG_HEADER];
        assert_eq!(header.write(&mut bytes), size, "{header:?}");
        assert_eq!(Header::read(&bytes), Ok(Some((header, size))));
        for short in 0..size {
            assert_eq!(Header::read(&bytes[..short]), Ok(None), "{header:?} {short}");
        }
    }
}

#[test]
fn read__names_the_byte_that_begins_no_header() {
    for first in [0, 11, 255] {
        assert_eq!(Header::read(&[first; LONG_HEADER]), Err(first));
    }
}
