use std::io::{Read, Write};

use super::*;

/// A process whose steward is of a user it does not trust, and that steward.
fn untrusted() -> (Client, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let link = Arc::new(CloseOnFork::new(ours));
    let client = Client { trusted: false, join_at: None, ..Client::new(link, Instant::ZERO) };
    (client, theirs)
}

/// Eight bytes, a request to withdraw, once made a process send its packet sockets to any user.
#[test]
fn hear__a_steward_of_an_untrusted_user_changes_nothing() {
    let (mut client, mut steward) = untrusted();
    let mut steering = Steering::default();
    steward.write_all(&Reply::Withdraw.encode(0)).unwrap();
    assert!(!client.hear(&mut steering), "nothing is received");
    assert_eq!((steering.trouble, client.bytes.len(), client.over), (None, 0, false));
    client.leave(Trouble::Asked, Instant::ZERO);
    assert_eq!(client.join_at, None, "it will not ask to join");
    let sent = steward.read(&mut [0; 1]).unwrap_err();
    assert_eq!(sent.kind(), io::ErrorKind::WouldBlock, "nothing is sent");
}

/// Its end is noticed all the same: then the place is free.
#[test]
fn hear__an_untrusted_steward_that_ends_is_noticed() {
    let (mut client, mut steward) = untrusted();
    steward.write_all(&[0; 1000]).unwrap();
    drop(steward);
    client.hear(&mut Steering::default());
    assert!(client.over);
    assert_eq!(client.bytes.len(), 0);
}
