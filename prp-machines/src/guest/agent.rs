//! The agent: runs scripts for the host, as many at a time as it asks for.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::failure::{Context, Outcome};
use crate::guest::nodes::Nodes;
use crate::guest::{PORT, SCRATCH};
use crate::protocol::{Answer, KILLED_LATE, Place, Request, RunId};

/// The most of a run's output that is sent to the host.
const OUTPUT: usize = 64 * 1024;

/// Runs that go on, by the leaders of their process groups.
type Groups = Arc<Mutex<HashMap<RunId, Pid>>>;

/// Serves the host until the machine ends.
///
/// # Errors
/// There is no device to the host.
pub(crate) fn run() -> Outcome {
    let port = OpenOptions::new().read(true).write(true).open(PORT).context(PORT)?;
    let answers = Arc::new(Mutex::new(port.try_clone()?));
    let groups = Groups::default();
    let nodes = Arc::new(Nodes::default());
    send(&answers, &Answer::Ready)?;
    for line in BufReader::new(port).lines() {
        match serde_json::from_str(&line?)? {
            Request::Run { id, place, script, seconds } => {
                let (answers, groups) = (Arc::clone(&answers), Arc::clone(&groups));
                let nodes = Arc::clone(&nodes);
                thread::spawn(move || {
                    let limit = Duration::from_secs(seconds);
                    let entered = match place {
                        Place::Root => Ok(()),
                        Place::Node(node) => nodes.enter(node),
                    };
                    let ended = entered.and_then(|()| run_script(id, &script, limit, &groups));
                    let (status, output) =
                        ended.unwrap_or_else(|reason| (1, format!("the agent: {reason}")));
                    send(&answers, &Answer::Ended { id, status, output })
                });
            }
            Request::AddNode { id, node } => {
                let (status, output) = match nodes.add(node) {
                    Ok(()) => (0, String::new()),
                    Err(reason) => (1, format!("the agent: {reason}")),
                };
                send(&answers, &Answer::Ended { id, status, output })?;
            }
            Request::Signal { id, signal } => signal_group(&groups, id, signal),
            Request::Reset => {
                // All processes but the first and the calling one.
                let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
                nodes.clear();
            }
        }
    }
    Ok(())
}

fn send<W: Write>(to: &Mutex<W>, answer: &Answer) -> Outcome {
    let line = serde_json::to_string(answer)? + "\n";
    let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(to.write_all(line.as_bytes())?)
}

/// Sends a signal to the processes of a run, which may have ended.
fn signal_group(groups: &Groups, id: RunId, signal: i32) {
    let groups = groups.lock().unwrap_or_else(PoisonError::into_inner);
    if let (Some(group), Ok(signal)) = (groups.get(&id), Signal::try_from(signal)) {
        let _ = killpg(*group, signal);
    }
}

/// Runs a script to its end, for `limit` at most; returns its status and the end of its output.
fn run_script(id: RunId, script: &str, limit: Duration, groups: &Groups) -> Outcome<(i32, String)> {
    let script = format!("exec 2>&1\nset -euo pipefail\ncd {SCRATCH}\n{script}\n");
    let mut command = Command::new("bash");
    command.args(["-c", &script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = command.spawn()?;
    let group = Pid::from_raw(child.id() as i32);
    groups.lock().unwrap_or_else(PoisonError::into_inner).insert(id, group);
    let reader = child.stdout.take().map(|stdout| thread::spawn(|| last_part(stdout)));
    let status = wait(&mut child, group, limit);
    groups.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    // What is left of the run holds its output open.
    let _ = killpg(group, Signal::SIGKILL);
    let output = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    Ok((status?, String::from_utf8_lossy(&output).into_owned()))
}

fn wait(child: &mut Child, group: Pid, limit: Duration) -> io::Result<i32> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()));
        }
        if begin.elapsed() > limit {
            let _ = killpg(group, Signal::SIGKILL);
            child.wait()?;
            return Ok(KILLED_LATE);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Reads to the end, and keeps the last [`OUTPUT`] bytes.
fn last_part(mut from: impl Read) -> Vec<u8> {
    let (mut kept, mut buf) = (Vec::new(), vec![0; OUTPUT]);
    while let Ok(n @ 1..) = from.read(&mut buf) {
        kept.extend_from_slice(&buf[..n]);
        let excess = kept.len().saturating_sub(OUTPUT);
        kept.drain(..excess);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_part__keeps_the_end() {
        let mut long = vec![b'a'; OUTPUT];
        long.extend_from_slice(b"the end");
        let kept = last_part(&long[..]);
        assert_eq!(kept.len(), OUTPUT);
        assert!(kept.ends_with(b"the end"));
    }
}
