use std::collections::BTreeMap;
use std::format;
use std::string::ToString;

use proptest::prelude::*;

use super::*;

fn digits(of: u8) -> String {
    format!("{of:02x}").repeat(32)
}

fn mistake(text: &str) -> String {
    KeyFile::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn parse__everything_that_a_file_may_have() {
    let text = format!(
        "\u{feff}# a comment\n\n mode\tsign # so\r\nnode 7 off\nnode 9 seal\nkey 3 {} use\nkey 2 {}",
        digits(0xa1),
        digits(0xb2).to_uppercase(),
    );
    let file = KeyFile::parse(text.as_bytes()).unwrap();
    assert_eq!(file.mode(), Mode::Sign);
    assert!(file.nodes().eq([(7, Mode::Off), (9, Mode::Seal)]));
    let ids: Vec<_> = file.keys().iter().map(Key::id).collect();
    assert_eq!((ids.as_slice(), file.used().id()), (&[2, 3][..], 3));
    assert_eq!(file.keys()[0].secret().bytes(), &[0xb2; 32]);
    let without = KeyFile::parse(format!("key 1 {} use", digits(1)).as_bytes()).unwrap();
    assert_eq!(without.mode(), Mode::Seal, "the strongest where nothing is said");
}

#[test]
fn parse__mistakes_have_a_place_and_quote_no_secret() {
    let key = |id: u16| format!("key {id} {}", digits(0xa1));
    let four = format!("{} use\n{}\n{}\n{}\n", key(1), key(2), key(3), key(4));
    for (text, expected) in [
        ("", "1:1: expected a key: `prp key new` makes one"),
        ("mode seal\n", "2:1: expected a key"),
        (&key(1), "2:1: expected use behind one of the keys"),
        ("secret x", "1:1: expected mode, node or key"),
        ("mode", "1:5: expected off, sign or seal, found the line's end"),
        ("mode on", "1:6: expected off, sign or seal"),
        ("mode seal now", "1:11: expected the line's end"),
        ("mode seal\n  mode sign", "2:3: a second mode"),
        ("node 0 off", "1:6: expected a node from 1 to 65534"),
        ("node 65535 off", "1:6: expected a node from 1 to 65534"),
        ("node +5 off", "1:6: expected a node"),
        ("node 5", "1:7: expected off, sign or seal, found the line's end"),
        ("node 5 off\nnode 5 seal", "2:6: node 5 has a line already"),
        ("key 0 a1", "1:5: expected the id of a key from 1 to 65535"),
        ("key 1", "1:6: expected a secret of 64 hexadecimal digits, found the line's end"),
        ("key 1 a1a1", "1:7: expected a secret of 64 hexadecimal digits, found 4 characters"),
        (&format!("{} used", key(1)), "1:72: expected use, or the line's end"),
        (&format!("{} use {}", key(1), digits(0xa1)), "1:76: expected the line's end"),
        (&format!("{} use\n{}", key(1), key(1)), "2:5: there is a key 1 already"),
        (&format!("{} use\n{} use", key(1), key(2)), "2:72: key 1 is in use already"),
        (&four, "4:1: a file has at most 3 keys"),
    ] {
        let found = mistake(text);
        assert!(found.starts_with(expected), "{text:?}: {found}");
        assert!(!found.contains("a1a1"), "{found}");
    }
    assert_eq!(KeyFile::parse(b"\n\nmode on").unwrap_err().line(), 3);
    assert!(KeyFile::parse(&[0xff]).unwrap_err().to_string().contains("UTF-8"));
    assert!(KeyFile::parse(&vec![b'#'; 5 << 20]).unwrap_err().to_string().contains("4 MiB"));
}

#[test]
fn edit__install_use_remove() {
    let mut file = KeyFile::new(Mode::Seal, 1, Secret::new([1; 32]));
    assert_eq!(file.add(Secret::new([2; 32])), Ok(2));
    assert_eq!((file.used().id(), file.drop_key(1)), (1, Err(EditError::Used(1))));
    assert_eq!(file.use_key(9), Err(EditError::Missing(9)));
    assert_eq!((file.use_key(2), file.use_key(2)), (Ok(()), Ok(())));
    assert_eq!((file.drop_key(1), file.drop_key(1)), (Ok(true), Ok(false)));
    assert_eq!(file.add(Secret::new([3; 32])), Ok(3), "an id is not given out again");
    assert_eq!(file.add(Secret::new([4; 32])), Ok(4));
    assert_eq!(file.add(Secret::new([5; 32])), Err(EditError::Full));
    assert_eq!(file.keys().len(), MAX_KEYS);
    let mut file = KeyFile::new(Mode::Seal, u16::MAX, Secret::new([1; 32]));
    assert_eq!(file.add(Secret::new([2; 32])), Ok(1));
}

#[test]
fn debug__shows_no_secret() {
    let file = KeyFile::new(Mode::Seal, 1, Secret::new([0xa1; 32]));
    let text = format!("{file:?}");
    assert!(!text.contains("161, 161") && !text.contains("a1a1"), "{text}");
}

proptest! {
    #[test]
    fn reveal__is_read_as_the_same(
        mode in mode(),
        nodes in proptest::collection::btree_map(1_u16..65535, mode(), 0..20),
        keys in proptest::collection::btree_map(1_u16.., any::<[u8; 32]>(), 1..=3),
        used in any::<proptest::sample::Index>(),
    ) {
        let used = *keys.keys().nth(used.index(keys.len())).unwrap();
        let keys: Vec<_> =
            keys.into_iter().map(|(id, bytes)| Key { id, secret: Secret::new(bytes) }).collect();
        let file = KeyFile { mode, nodes, keys, used };
        let text = file.reveal();
        let room = text.capacity();
        prop_assert!(text.len() <= room);
        let same = KeyFile::parse(text.as_bytes()).unwrap();
        prop_assert_eq!((same.mode, &same.nodes, same.used), (file.mode, &file.nodes, file.used));
        let of = |file: &KeyFile| -> BTreeMap<u16, [u8; 32]> {
            file.keys.iter().map(|key| (key.id, *key.secret.bytes())).collect()
        };
        prop_assert_eq!(of(&same), of(&file));
    }

    #[test]
    fn parse__no_text_is_fatal(
        text in "((mode|node|key|use|off|seal|[0-9]{1,6}|[0-9a-f]{64}|é|#|\\PC)[ \n\t\r]?){0,40}",
        bytes in any::<Vec<u8>>(),
    ) {
        let _ = KeyFile::parse(text.as_bytes());
        let _ = KeyFile::parse(&bytes);
    }
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Off), Just(Mode::Sign), Just(Mode::Seal)]
}
