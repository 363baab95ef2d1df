//! Executes commands from its standard input, one per line, and answers each with a line: `ok ...`,
//! or `err KIND TEXT`. Streams, listeners and background commands have names.
//!
//! | command | what it does; the text after `ok` |
//! | --- | --- |
//! | `listen L ADDR` | binds; the address |
//! | `accept L S` | the peer |
//! | `connect S ADDR [NAME=VALUE]...` | with `port`, `node`, `device`, `crc`, `reliability`, `spin` (us), `timeout`, `user_timeout` (ms), `keepalive` (ms); the local address |
//! | `send S SEED BYTES` | writes BYTES bytes of the pattern of SEED; their tally |
//! | `drain S` | reads to the end; the tally of the bytes |
//! | `take S BYTES` | reads BYTES bytes; their tally |
//! | `write S TEXT`, `read S BYTES` | calls `write` or `read` once |
//! | `echo S` | sends back all data until the end; the tally |
//! | `serve L` | accepts connections for ever, and echoes each on a thread |
//! | `pong S ROUNDS`, `ping S ROUNDS` | sends a byte back and forth |
//! | `shutdown S HOW` | `read`, `write` or `both` |
//! | `set S NAME VALUE` | `read_timeout`, `write_timeout`, `user_timeout`, `linger` in ms, `nonblocking` |
//! | `error S`, `retransmitted S`, `timeouts S`, `drops S [REASON]`, `too_big S`, `security S`, `xdp_tx S`, `tcx_rx S`, `udp S COUNTER` | calls `take_error`, or returns a counter |
//! | `assume_idle` | polls, and takes fast paths, as on a machine that does nothing else |
//! | `rss` | resident memory of this process in KiB |
//! | `limit RESOURCE N` | lowers a limit: `files`, `memory` (KiB) or `processes` of its user |
//! | `become UID`, `chroot DIR` | changes the user and group; changes the root directory |
//! | `drop NAME`, `forget S` | drops it, or leaks it |
//! | `bg JOB COMMAND...`, `join JOB` | runs the command on a thread; waits for it, and returns its answer |
//! | `return`, `exit CODE`, `abort` | ends by returning from `main`, by `exit`, or by `abort` |

use std::collections::HashMap;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{chdir, chroot, setgid, setgroups, setuid};
use prp_sock::{Builder, DropReason, Keepalive, Port, PrpListener, PrpStream, Reliability};
use prp_tests::pattern::{self, Tally};
use prp_tests::privilege::raise_descriptor_limit;

static STREAMS: Mutex<Option<HashMap<String, PrpStream>>> = Mutex::new(None);
static LISTENERS: Mutex<Option<HashMap<String, PrpListener>>> = Mutex::new(None);

fn main() -> ExitCode {
    raise_descriptor_limit().expect("a limit");
    let mut jobs: HashMap<String, JoinHandle<io::Result<String>>> = HashMap::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[..] {
            ["bg", job, ..] => {
                let command = words[2..].join(" ");
                let work = move || perform(&command.split(' ').collect::<Vec<_>>());
                jobs.insert(job.to_owned(), std::thread::spawn(work));
                Ok(String::new())
            }
            ["join", job] => match jobs.remove(job).map(JoinHandle::join) {
                Some(Ok(answer)) => answer,
                _ => Err(invalid("no such job, or it panicked")),
            },
            ["return"] => return ExitCode::SUCCESS,
            ["exit", code] => std::process::exit(code.parse().unwrap_or(1)),
            ["abort"] => std::process::abort(),
            _ => perform(&words),
        };
        match answer {
            Ok(text) => println!("ok {text}"),
            Err(e) => println!("err {:?} {}", e.kind(), e.to_string().replace('\n', " ")),
        }
    }
    ExitCode::SUCCESS
}

fn perform(words: &[&str]) -> io::Result<String> {
    match *words {
        ["listen", name, addr] => {
            let listener = PrpListener::bind(addr)?;
            let addr = listener.local_addr()?;
            put(&LISTENERS, name, listener);
            Ok(addr.to_string())
        }
        ["accept", listener, name] => {
            let (stream, peer) = listener_of(listener)?.accept()?;
            put(&STREAMS, name, stream);
            Ok(peer.to_string())
        }
        ["connect", name, addr, ..] => {
            let stream = builder(&words[3..])?.connect(addr)?;
            let addr = stream.local_addr()?;
            put(&STREAMS, name, stream);
            Ok(addr.to_string())
        }
        ["assume_idle"] => {
            prp_device::assume_idle_machine();
            done()
        }
        ["rss"] => rss(),
        ["limit", resource, n] => limit(resource, number(n)?),
        ["become", user] => {
            let user = number(user)? as u32;
            setgroups(&[])?;
            setgid(user.into())?;
            setuid(user.into())?;
            done()
        }
        ["chdir", directory] => {
            chdir(directory)?;
            done()
        }
        ["chroot", directory] => {
            chroot(directory)?;
            chdir("/")?;
            done()
        }
        ["serve", listener] => serve(&listener_of(listener)?),
        ["drop", name] => {
            let gone = (take(&STREAMS, name), take(&LISTENERS, name));
            if matches!(gone, (None, None)) { Err(invalid("nothing of that name")) } else { done() }
        }
        ["forget", name] => {
            std::mem::forget(take(&STREAMS, name));
            done()
        }
        [call, stream, ..] => with_stream(call, stream_of(stream)?, &words[2..]),
        _ => Err(invalid("what?")),
    }
}

fn with_stream(call: &str, mut stream: PrpStream, words: &[&str]) -> io::Result<String> {
    let mut tally = Tally::default();
    match (call, words) {
        ("send", [seed, bytes]) => {
            let (seed, bytes) = (number(seed)?, number(bytes)?);
            pattern::send(&mut stream, seed, bytes)?;
            Ok(Tally::expected(seed, bytes).to_string())
        }
        ("drain", []) => received(&mut stream, u64::MAX, &mut tally),
        ("take", [bytes]) => received(&mut stream, number(bytes)?, &mut tally),
        ("write", [text]) => stream.write(text.as_bytes()).map(|n| n.to_string()),
        ("read", [bytes]) => {
            let mut buf = vec![0; number(bytes)? as usize];
            let n = stream.read(&mut buf)?;
            Ok(String::from_utf8_lossy(&buf[..n]).into_owned())
        }
        ("echo", []) => echo(&mut stream).map(|tally| tally.to_string()),
        ("ping" | "pong", [rounds]) => ball(&mut stream, call == "ping", number(rounds)?),
        ("shutdown", [how]) => {
            let how = match *how {
                "read" => Shutdown::Read,
                "write" => Shutdown::Write,
                _ => Shutdown::Both,
            };
            stream.shutdown(how).map(|()| String::new())
        }
        ("set", [name, value]) => set(&stream, name, number(value)?),
        ("error", []) => Ok(stream
            .take_error()?
            .map_or_else(|| "none".to_owned(), |e| format!("{:?}", e.kind()))),
        ("drops", []) => {
            let drops = stream.endpoint_stats()?.drops;
            let each = drops.occurred();
            Ok(each.map(|(r, n)| format!("{}={n} ", r.name())).collect())
        }
        ("drops", [reason]) => {
            let reason = DropReason::ALL.iter().find(|r| r.name() == *reason);
            let reason = *reason.ok_or_else(|| invalid("no such reason"))?;
            Ok(stream.endpoint_stats()?.drops[reason].to_string())
        }
        ("devices", []) => {
            let devices = stream.device_stats()?;
            Ok(devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join(" "))
        }
        ("security", []) => {
            let terms = stream.terms()?;
            let key = terms.key.map_or_else(String::new, |id| format!(" {id}"));
            Ok(format!("{}{key}", terms.security))
        }
        ("too_big", []) => {
            Ok(stream.device_stats()?.iter().map(|d| d.too_big).sum::<u64>().to_string())
        }
        ("xdp_tx", []) => {
            Ok(stream.device_stats()?.iter().map(|d| d.xdp_tx).sum::<u64>().to_string())
        }
        ("udp", [name]) => {
            let devices = stream.device_stats()?;
            let udp = devices.iter().filter_map(|d| d.udp).flat_map(|udp| udp.counters());
            Ok(udp.filter(|(known, _)| known == name).map(|(_, n)| n).sum::<u64>().to_string())
        }
        ("tcx_rx", []) => {
            Ok(stream.device_stats()?.iter().map(|d| d.tcx_rx).sum::<u64>().to_string())
        }
        ("retransmitted", []) => Ok(stream.stats()?.retransmitted.to_string()),
        ("segments", []) => Ok(stream.stats()?.segments_sent.to_string()),
        ("timeouts", []) => Ok(stream.stats()?.timeouts.to_string()),
        _ => Err(invalid("what?")),
    }
}

fn received(stream: &mut PrpStream, most: u64, tally: &mut Tally) -> io::Result<String> {
    match pattern::receive(stream, most, tally) {
        Ok(()) => Ok(tally.to_string()),
        Err(e) => Err(io::Error::new(e.kind(), format!("after {tally}: {e}"))),
    }
}

fn echo(stream: &mut PrpStream) -> io::Result<Tally> {
    let (mut buf, mut tally) = (vec![0; 64 * 1024], Tally::default());
    loop {
        match stream.read(&mut buf)? {
            0 => return stream.shutdown(Shutdown::Write).map(|()| tally),
            n => {
                stream.write_all(&buf[..n])?;
                tally.note(&buf[..n]);
            }
        }
    }
}

fn serve(listener: &PrpListener) -> io::Result<String> {
    loop {
        let (mut stream, _) = listener.accept()?;
        std::thread::spawn(move || echo(&mut stream));
    }
}

fn ball(stream: &mut PrpStream, serves: bool, rounds: u64) -> io::Result<String> {
    let mut byte = [0];
    for _ in 0..rounds {
        if serves {
            stream.write_all(&[1])?;
        }
        stream.read_exact(&mut byte)?;
        if !serves {
            stream.write_all(&byte)?;
        }
    }
    Ok(format!("{rounds} rounds"))
}

fn builder(words: &[&str]) -> io::Result<Builder> {
    let mut builder = Builder::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| invalid("expected NAME=VALUE"))?;
        builder = match name {
            "port" => builder.local_port(Port::new(number(value)? as u16)),
            "node" => builder.node(value.parse().map_err(|_| invalid("expected a node"))?),
            "device" => builder.device(value),
            "reliability" => {
                let all = Reliability::STRONGEST_FIRST;
                let one = all.into_iter().find(|r| r.name() == value);
                let one = one.ok_or_else(|| invalid("no such reliability"))?;
                builder.reliability(one)
            }
            "crc" => builder.crc(value == "yes"),
            "spin" => builder.spin(Duration::from_micros(number(value)?)),
            "timeout" => builder.connect_timeout(millis(number(value)?)),
            "user_timeout" => builder.user_timeout(Some(millis(number(value)?))),
            "keepalive" => {
                let interval = millis(number(value)?);
                builder.keepalive(Some(Keepalive { idle: interval, interval, probes: 3 }))
            }
            _ => return Err(invalid("no such setting")),
        };
    }
    Ok(builder)
}

fn set(stream: &PrpStream, name: &str, value: u64) -> io::Result<String> {
    let time = (value > 0).then(|| millis(value));
    match name {
        "read_timeout" => stream.set_read_timeout(time)?,
        "write_timeout" => stream.set_write_timeout(time)?,
        "user_timeout" => stream.set_user_timeout(time)?,
        "linger" => stream.set_linger(Some(millis(value)))?,
        "nonblocking" => stream.set_nonblocking(value != 0)?,
        _ => return Err(invalid("no such setting")),
    }
    done()
}

/// Resident memory of this process.
fn rss() -> io::Result<String> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.map(str::to_owned).ok_or_else(|| invalid("no VmRSS"))
}

fn limit(resource: &str, n: u64) -> io::Result<String> {
    let (resource, n) = match resource {
        "files" => (Resource::RLIMIT_NOFILE, n),
        "memory" => (Resource::RLIMIT_AS, n << 10),
        "processes" => (Resource::RLIMIT_NPROC, n),
        _ => return Err(invalid("no such limit")),
    };
    let (_, hard) = getrlimit(resource)?;
    setrlimit(resource, n.min(hard), hard)?;
    done()
}

fn stream_of(name: &str) -> io::Result<PrpStream> {
    let streams = STREAMS.lock().expect("no thread panicked with the lock");
    let stream = streams.as_ref().and_then(|s| s.get(name));
    stream.ok_or_else(|| invalid("no such stream"))?.try_clone()
}

fn listener_of(name: &str) -> io::Result<PrpListener> {
    let listeners = LISTENERS.lock().expect("no thread panicked with the lock");
    let listener = listeners.as_ref().and_then(|l| l.get(name));
    listener.ok_or_else(|| invalid("no such listener"))?.try_clone()
}

fn put<T>(all: &Mutex<Option<HashMap<String, T>>>, name: &str, one: T) {
    let mut all = all.lock().expect("no thread panicked with the lock");
    all.get_or_insert_default().insert(name.to_owned(), one);
}

fn take<T>(all: &Mutex<Option<HashMap<String, T>>>, name: &str) -> Option<T> {
    all.lock().expect("no thread panicked with the lock").as_mut()?.remove(name)
}

fn number(word: &str) -> io::Result<u64> {
    word.parse().map_err(|_| invalid("expected a number"))
}

const fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn done() -> io::Result<String> {
    Ok(String::new())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, what)
}
