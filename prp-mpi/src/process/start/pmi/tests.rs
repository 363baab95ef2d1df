use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use super::*;

/// A process manager of the tests: keys and values of all ranks, and where they wait.
#[derive(Debug)]
struct Manager {
    values: Mutex<HashMap<String, String>>,
    all: Barrier,
    commands: Mutex<Vec<String>>,
}

impl Manager {
    fn new(size: usize) -> Arc<Self> {
        let (values, commands) = (Mutex::default(), Mutex::default());
        Arc::new(Self { values, all: Barrier::new(size), commands })
    }

    /// The answer to what a rank has said, without `cmd=`; none if the rank waits for none.
    fn answer(&self, asked: &HashMap<String, String>) -> Option<String> {
        let of = |key: &str| asked.get(key).cloned().unwrap_or_default();
        let keep = || self.values.lock().unwrap().insert(of("key"), of("value"));
        let value = || self.values.lock().unwrap().get(&of("key")).cloned().unwrap_or_default();
        Some(match asked["cmd"].as_str() {
            "init" => "response_to_init rc=0".into(),
            "get_my_kvsname" => "my_kvsname rc=0 kvsname=kvs_7".into(),
            "put" => {
                assert_eq!(of("kvsname"), "kvs_7");
                keep();
                "put_result rc=0".into()
            }
            "barrier_in" => {
                self.all.wait();
                "barrier_out".into()
            }
            "get" => format!("get_result rc=0 value={}", value()),
            "fullinit" => "fullinit-response;rc=0;rank=0;size=3".into(),
            "kvs-put" => {
                keep();
                "kvs-put-response;rc=0".into()
            }
            "kvs-fence" => {
                self.all.wait();
                "kvs-fence-response;rc=0".into()
            }
            "kvs-get" => format!("kvs-get-response;rc=0;found=TRUE;value={}", value()),
            "finalize" => "finalize-response;rc=0".into(),
            "abort" => return None,
            other => format!("{other};rc=-1"),
        })
    }

    /// Serves one rank until it is gone.
    fn serve(&self, stream: UnixStream) {
        let mut reader = BufReader::new(stream);
        let mut speaks_two = false;
        loop {
            let mut text = String::new();
            if speaks_two {
                let mut digits = [0; 6];
                if reader.read_exact(&mut digits).is_err() {
                    return;
                }
                let len: u64 = std::str::from_utf8(&digits).unwrap().trim().parse().unwrap();
                (&mut reader).take(len).read_to_string(&mut text).unwrap();
                assert!(text.ends_with(';'), "{text}");
            } else if reader.read_line(&mut text).unwrap_or(0) == 0 {
                return;
            }
            let asked = parsed(&text, if speaks_two { ';' } else { ' ' });
            self.commands.lock().unwrap().push(text);
            let Some(answer) = self.answer(&asked) else { continue };
            let answer = if speaks_two {
                format!("{:6}cmd={answer};", answer.len() + 5)
            } else {
                format!("cmd={answer}\n")
            };
            reader.get_mut().write_all(answer.as_bytes()).unwrap();
            speaks_two |= asked.get("pmi_version").is_some_and(|v| v == "2");
        }
    }
}

fn joined(manager: &Arc<Manager>, version: Version, rank: usize, size: usize) -> Pmi {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let manager = manager.clone();
    thread::spawn(move || manager.serve(theirs));
    Pmi::begin(ours, version, rank, size, "12".into()).unwrap()
}

#[test]
fn exchange__all_ranks_have_all_texts_each_time() {
    const SIZE: usize = 3;
    for version in [Version::One, Version::Two] {
        let manager = Manager::new(SIZE);
        thread::scope(|scope| {
            for rank in 0..SIZE {
                let manager = &manager;
                scope.spawn(move || {
                    let mut pmi = joined(manager, version, rank, SIZE);
                    for word in ["first", "a b;c=d%\n\u{e9}"] {
                        let texts = pmi.exchange(&format!("{word} {rank}")).unwrap();
                        let expected: Vec<_> = (0..SIZE).map(|r| format!("{word} {r}")).collect();
                        assert_eq!(texts, expected, "{version:?}");
                    }
                    pmi.finish();
                });
            }
        });
    }
}

#[test]
fn abort__tells_the_manager_and_waits_for_nothing() {
    for (version, words) in
        [(Version::One, "cmd=abort exitcode=9\n"), (Version::Two, "isworld=TRUE")]
    {
        let manager = Manager::new(1);
        let mut pmi = joined(&manager, version, 0, 1);
        pmi.abort(9);
        let begun = std::time::Instant::now();
        while !manager.commands.lock().unwrap().iter().any(|text| text.contains(words)) {
            assert!(begun.elapsed().as_secs() < 20, "nothing was said");
            thread::yield_now();
        }
    }
}

#[test]
fn ask__an_end_or_a_refusal_is_an_error() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    assert!(Pmi::begin(ours, Version::One, 0, 1, String::new()).is_err());
    let manager = Manager::new(1);
    let mut pmi = joined(&manager, Version::Two, 0, 1);
    let refused = pmi.ask("name-publish", &[]).unwrap_err();
    assert!(refused.to_string().contains("says -1 to name-publish"), "{refused}");
}
