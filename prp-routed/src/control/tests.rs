use std::io::Read;
use std::thread;

use prp_node::ServiceListener;

use super::*;
use crate::acceptor::Acceptor;
use crate::clock::Clock;

/// A daemon's control socket in a folder of its own.
struct Daemon {
    _folder: tempfile::TempDir,
    dir: RunDir,
    acceptor: Acceptor,
    control: Control,
    clock: Clock,
}

fn node() -> NodeId {
    NodeId::new(7).unwrap()
}

impl Daemon {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = RunDir::at(folder.path().join("run"));
        dir.prepare().unwrap();
        let acceptor =
            Acceptor::new(ServiceListener::bind(&dir, node(), Service::Control).unwrap());
        let (control, clock) = (Control::default(), Clock::start());
        Self { _folder: folder, dir, acceptor, control, clock }
    }

    /// Serves until the thread `client` has ended, and answers whatever is asked; how often that
    /// was.
    fn serve<T>(&mut self, client: &thread::JoinHandle<T>, reply: &Reply) -> usize {
        let mut times = 0;
        while !client.is_finished() {
            let now = self.clock.now();
            let control = &mut self.control;
            self.acceptor.poll(now, |stream, user| control.admit(now, stream, user));
            for asked in self.control.poll(now) {
                times += 1;
                let wrong = asked.question.err().map(Reply::Error);
                self.control.answer(now, asked.client, wrong.as_ref().unwrap_or(reply));
            }
            thread::yield_now();
        }
        times
    }
}

/// Asks in a thread.
fn asking(
    daemon: &Daemon,
    question: Question,
) -> thread::JoinHandle<io::Result<serde_json::Value>> {
    let dir = daemon.dir.clone();
    thread::spawn(move || ask(&dir, node(), &question))
}

#[test]
fn ask__gets_long_answers_and_errors() {
    let mut daemon = Daemon::new();
    let long = serde_json::Value::from("x".repeat(3_000_000));
    let client = asking(&daemon, Question::Routes);
    daemon.serve(&client, &Reply::Ok(long.clone()));
    assert_eq!(client.join().unwrap().unwrap(), long);
    let client = asking(&daemon, Question::Reload { dry_run: true });
    daemon.serve(&client, &Reply::Error("no".into()));
    assert_eq!(client.join().unwrap().unwrap_err().to_string(), "no");
}

#[test]
fn ask__without_a_daemon_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::at(folder.path().join("run"));
    let error = ask(&dir, node(), &Question::Status).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("start it first"), "{error}");
}

/// Takes the place of one that is not stopped, and answers nobody.
#[test]
fn ask__a_daemon_that_hangs_is_named_in_time() {
    let daemon = Daemon::new();
    let error = ask(&daemon.dir, node(), &Question::Status).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let process = std::process::id();
    let expected = format!("node 7 (process {process}) has said nothing for 5 s");
    assert!(error.to_string().contains(&expected), "{error}");
}

#[test]
fn poll__survives_clients_that_ask_nonsense_or_too_much() {
    let mut daemon = Daemon::new();
    let dir = daemon.dir.clone();
    let client = thread::spawn(move || {
        let connect = || {
            let stream = dir.connect(node(), Service::Control, ANSWER_TIMEOUT).unwrap();
            stream.set_nonblocking(false).unwrap();
            stream
        };
        let mut stream = connect();
        stream.write_all(b"{\"fly\": 1}\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let mut endless = connect();
        // Ends with an error or not, depending on when the other end hangs up.
        let _ = endless.write_all(&[b'x'; 100_000]);
        let _ = endless.read(&mut [0; 1]);
        reply
    });
    assert_eq!(daemon.serve(&client, &Reply::Ok(1.into())), 1);
    assert!(client.join().unwrap().contains("no such question"));
}

/// A connection of `user`, and the daemon's end of it.
fn admit(control: &mut Control, now: Instant, user: u32) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    control.admit(now, theirs, user);
    ours
}

#[test]
fn admit__some_places_are_always_root_s_and_each_other_user_s_own() {
    let (mut control, now) = (Control::default(), Instant::ZERO);
    let mut held = Vec::new();
    for user in 1..=5 {
        let before = control.clients.len();
        held.extend((0..MAX_OF_USER + 3).map(|_| admit(&mut control, now, user)));
        let took = control.clients.len() - before;
        assert_eq!(took, if user <= 3 { MAX_OF_USER } else { 0 }, "user {user}");
    }
    let _root: Vec<_> = (0..20).map(|_| admit(&mut control, now, ROOT)).collect();
    assert_eq!(control.clients.len(), MAX_CLIENTS);
}

#[test]
fn poll__a_client_that_asks_nothing_loses_its_place() {
    let (mut control, now) = (Control::default(), Instant::ZERO);
    let _silent = admit(&mut control, now, 1000);
    let mut slow = admit(&mut control, now, 1000);
    slow.write_all(b"\"Status\"").unwrap();
    assert!(control.poll(now).is_empty());
    let over = control.next_timeout().expect("each has a time");
    assert!(control.poll(over).is_empty());
    assert_eq!(control.clients.len(), 0);
}

#[test]
fn poll__only_root_and_the_daemon_s_user_may_change_things() {
    let (mut control, now) = (Control::default(), Instant::ZERO);
    let own = geteuid().as_raw();
    for (user, may) in [(ROOT, true), (own, true), (own + 1, false)] {
        let mut stream = admit(&mut control, now, user);
        let mut line = serde_json::to_vec(&Question::Status).unwrap();
        line.push(b'\n');
        stream.write_all(&line).unwrap();
        let asked = control.poll(now);
        assert_eq!(asked.iter().map(|a| a.may_change).collect::<Vec<_>>(), [may], "{user}");
    }
}
