use std::thread;

use super::*;

/// A node number that only this test uses in this network namespace.
fn node(test: u16) -> NodeId {
    NodeId::new(61_000 + test).unwrap()
}

/// Serves until the thread `client` has ended, and answers whatever is asked.
fn serve<T>(control: &mut Control, client: &thread::JoinHandle<T>, reply: &Reply) -> usize {
    let mut asked = 0;
    while !client.is_finished() {
        for (asker, question) in control.turn() {
            asked += 1;
            match question {
                Ok(_) => control.answer(asker, reply),
                Err(why) => control.answer(asker, &Reply::Error(why)),
            }
        }
        thread::yield_now();
    }
    asked
}

#[test]
fn ask__gets_long_answers_and_errors() {
    let mut control = Control::bind(node(1)).unwrap();
    let long = serde_json::Value::from("x".repeat(3_000_000));
    let client = thread::spawn(|| ask(node(1), &Question::Routes));
    serve(&mut control, &client, &Reply::Ok(long.clone()));
    assert_eq!(client.join().unwrap().unwrap(), long);
    let client = thread::spawn(|| ask(node(1), &Question::Reload { dry_run: true }));
    serve(&mut control, &client, &Reply::Error("no".into()));
    assert_eq!(client.join().unwrap().unwrap_err().to_string(), "no");
}

#[test]
fn ask__without_a_daemon_says_so() {
    let said = ask(node(2), &Question::Status).unwrap_err();
    assert_eq!(said.kind(), ErrorKind::ConnectionRefused);
    assert!(said.to_string().contains("start it first"), "{said}");
}

#[test]
fn bind__one_daemon_a_node() {
    let first = Control::bind(node(3)).unwrap();
    assert_eq!(Control::bind(node(3)).unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(first);
    Control::bind(node(3)).unwrap();
}

#[test]
fn turn__survives_those_who_ask_nonsense_or_too_much() {
    let mut control = Control::bind(node(4)).unwrap();
    let client = thread::spawn(|| {
        let mut stream = UnixStream::connect_addr(&name(node(4)).unwrap()).unwrap();
        stream.write_all(b"{\"fly\": 1}\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        let mut endless = UnixStream::connect_addr(&name(node(4)).unwrap()).unwrap();
        // Ends with an error or not, depending on when the other end hangs up.
        let _ = endless.write_all(&[b'x'; 100_000]);
        let _ = endless.read(&mut [0; 1]);
        said
    });
    assert_eq!(serve(&mut control, &client, &Reply::Ok(1.into())), 1);
    assert!(client.join().unwrap().contains("no such question"));
}
