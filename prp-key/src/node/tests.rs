use super::*;
use crate::testing::hex;

/// PRP-KEY-20: private keys of a file, and the public ones that belong to them (RFC 7748, 6.1).
#[test]
fn file__one_or_two_private_keys() {
    let [a, b] = [
        (
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
        ),
        (
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
        ),
    ];
    let text = std::format!("# ours\nkey {}\n\nkey {} # new\n", a.0, b.0);
    let mut file = NodeKeyFile::parse(text.as_bytes()).unwrap();
    let keys = |file: &NodeKeyFile| file.secrets().map(NodeSecret::key).collect::<Vec<_>>();
    let [a, b] = [a, b].map(|(_, key)| key.parse::<NodeKey>().unwrap());
    assert_eq!(keys(&file), [a, b]);
    assert_eq!(keys(&NodeKeyFile::parse(file.reveal().as_bytes()).unwrap()), [a, b]);
    assert!(file.add(Secret::new([9; 32])).is_err(), "no third");
    assert_eq!((file.drop_key(a), keys(&file)), (Ok(true), std::vec![b]));
    assert_eq!(file.drop_key(a), Ok(false));
    assert!(file.drop_key(b).is_err(), "the last one");
    assert_eq!(file.add(Secret::new(hex(&std::format!("{a}")))).map(|_| keys(&file).len()), Ok(2));
}

#[test]
fn file__mistakes_name_their_place_and_quote_nothing() {
    let key = std::format!("key {:064x}", 7);
    let cases = [
        (std::string::String::new(), "1:1: "),
        ("key 12".into(), "1:5: "),
        ("mode seal".into(), "1:1: "),
        (std::format!("{key} use"), "1:70: "),
        (std::format!("{key}\n{key}"), "2:1: "),
    ];
    for (text, place) in cases {
        let error = NodeKeyFile::parse(text.as_bytes()).map(drop).unwrap_err();
        let error = std::string::ToString::to_string(&error);
        assert!(error.starts_with(place) && !error.contains("12"), "{text}: {error}");
    }
}

/// PRP-KEY-20 and 24: of the own line, the keys that the file has private ones of, in its order.
#[test]
fn keys__of_the_own_line() {
    let [one, two, three] = [1, 2, 3].map(|n| NodeSecret::new(&Secret::new([n; 32])).key());
    let file = NodeKeyFile::new(Secret::new([2; 32]));
    let of = |own: &[NodeKey], file| {
        let nodes = [(1, own.to_vec()), (2, std::vec![three])].into();
        NodeKeys::new(1, nodes, file)
            .map(|keys| keys.map(|keys| keys.own.iter().map(NodeSecret::key).collect::<Vec<_>>()))
    };
    assert_eq!(of(&[one, two], Some(&file)), Ok(Some(std::vec![two])));
    assert_eq!(of(&[one], Some(&file)), Err(NoNodeKey));
    assert_eq!(of(&[one], None), Err(NoNodeKey));
    let others = [(2, std::vec![three])].into();
    assert!(NodeKeys::new(1, others, None).is_ok_and(|keys| keys.is_none()), "it needs none");
}
