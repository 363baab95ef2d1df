use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

fn framed(json: &str) -> Vec<u8> {
    let len = u32::try_from(json.len()).expect("short");
    [&len.to_be_bytes()[..], json.as_bytes()].concat()
}

fn error_of(bytes: &[u8]) -> ErrorKind {
    receive::<Request>(bytes).expect_err("no message").kind()
}

#[test]
fn receive__gives_what_was_sent() {
    let work = Work::Stream { streams: 3, send: Some(Amount::Bytes(7)) };
    let job = Job { leg: 1, transport: Transport::Tcp, wait: WaitMode::Spin, work };
    let to = vec![MeshTarget { node: 2, port: 7000 }];
    let part = MeshPart { accept: 2, to, seconds: 0.5 };
    let hello = Request::Hello { version: VERSION };
    let messages = [hello, Request::Run(job), Request::Listen, Request::Mesh(part)];
    let mut wire = Vec::new();
    for message in &messages {
        send(&mut wire, message).expect("a vector takes all");
    }
    let mut wire = &wire[..];
    for message in messages {
        assert_eq!(receive(&mut wire).expect("whole"), Some(message));
    }
    assert_eq!(receive::<Request>(&mut wire).expect("an end"), None);
}

#[test]
fn receive__half_a_message_is_an_error() {
    let whole = framed(r#"{"hello":{"version":1}}"#);
    for end in 1..whole.len() {
        assert_eq!(error_of(&whole[..end]), ErrorKind::UnexpectedEof, "{end}");
    }
}

#[test]
fn receive__what_is_no_message_is_invalid() {
    let deep = "[".repeat(60_000);
    let hostile = [
        "",
        "null",
        "{}",
        "\"hello\"",
        r#"{"hello":{"version":-1}}"#,
        r#"{"hello":{"version":1,"more":2}}"#,
        r#"{"run":{"transport":"prp","wait":"block","work":{"echo":{"size":1,"beside":0}}}}"#,
        r#"{"run":{"leg":1,"transport":"udp","wait":"block","work":{"echo":{"size":1,"beside":0}}}}"#,
        r#"{"run":{"leg":1,"transport":"prp","wait":"block","work":{"echo":{"size":1e99,"beside":0}}}}"#,
        r#"{"run":{"leg":1,"transport":"prp","wait":"block","work":{"echo":{"size":1}}}}"#,
        r#"{"mesh":{"accept":1,"to":[{"node":65536,"port":1}],"seconds":1}}"#,
        deep.as_str(),
    ];
    for json in hostile {
        assert_eq!(error_of(&framed(json)), ErrorKind::InvalidData, "{json:.60}");
    }
    // Expect: a length beyond the bound is refused before anything is allocated or read.
    assert_eq!(error_of(&[0xff; 4]), ErrorKind::InvalidData);
    assert_eq!(error_of(&(MAX_LEN + 1).to_be_bytes()), ErrorKind::InvalidData);
}

/// Random bytes, and messages with a byte changed.
#[test]
fn receive__random_bytes_never_panic() {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = clock.as_nanos() as u64;
    println!("seed {seed}");
    let mut state = seed | 1;
    // xorshift64: any source of bytes will do.
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let work = Work::Stream { streams: 1, send: Some(Amount::Seconds(0.5)) };
    let job = Job { leg: 1, transport: Transport::Prp, wait: WaitMode::Block, work };
    let mut good = Vec::new();
    send(&mut good, &Request::Run(job)).expect("a vector takes all");
    for _ in 0..20_000 {
        let mut bytes = good.clone();
        let at = random() as usize % bytes.len();
        bytes[at] = random() as u8;
        if let Ok(Some(Request::Run(job))) = receive(&bytes[..]) {
            let _ = job.check();
        }
        let mut noise = (random() as u32 % 200).to_be_bytes().to_vec();
        noise.extend((0..200).map(|_| random() as u8));
        let _ = receive::<Request>(&noise[..]);
    }
}

#[test]
fn check__bounds_what_a_client_may_ask_for() {
    let job = |work| Job { leg: 1, transport: Transport::Prp, wait: WaitMode::Block, work };
    let stream = |streams, send| job(Work::Stream { streams, send });
    let good = [
        job(Work::Echo { size: 0, beside: 0 }),
        job(Work::Echo { size: MAX_SIZE, beside: MAX_STREAMS }),
        stream(MAX_STREAMS, None),
        stream(1, Some(Amount::Seconds(3.0))),
    ];
    for job in good {
        assert_eq!(job.check(), Ok(()), "{job:?}");
    }
    let bad = [
        job(Work::Echo { size: MAX_SIZE + 1, beside: 0 }),
        job(Work::Echo { size: u64::MAX, beside: 0 }),
        job(Work::Echo { size: 1, beside: MAX_STREAMS + 1 }),
        stream(MAX_STREAMS + 1, None),
        stream(1, Some(Amount::Seconds(-1.0))),
        stream(1, Some(Amount::Seconds(1e300))),
        stream(1, Some(Amount::Seconds(f64::NAN))),
    ];
    for job in bad {
        assert!(job.check().is_err(), "{job:?}");
    }
}

#[test]
fn check__bounds_a_part_of_a_mesh() {
    let part = |accept, targets, seconds| {
        let to = vec![MeshTarget { node: 2, port: 7000 }; targets as usize];
        MeshPart { accept, to, seconds }.check()
    };
    assert_eq!(part(MAX_STREAMS, MAX_STREAMS, 3.0), Ok(()));
    for (accept, targets, seconds) in
        [(MAX_STREAMS + 1, 0, 1.0), (0, MAX_STREAMS + 1, 1.0), (1, 1, -1.0), (1, 1, f64::NAN)]
    {
        assert!(part(accept, targets, seconds).is_err(), "{accept} {targets} {seconds}");
    }
}

/// What another machine says does nothing to a terminal.
#[test]
fn receive__texts_are_printable() {
    let text = r#"{"failed":"a\u001b[2Jb\nc"}"#;
    let reply = receive::<Reply>(&framed(text)[..]).expect("a message");
    assert_eq!(reply, Some(Reply::Failed("a\\u{1b}[2Jb\\nc".into())));
}
