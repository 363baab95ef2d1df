//! `wire SETTINGS COUNTERS DEVICE DEVICE [DEVICE DEVICE]...` joins devices in pairs and loses,
//! repeats, changes and delays frames as the file SETTINGS says. In place of a device may be
//! `unix:FOLDER:OWN:NEIGHBOUR`: the node OWN, for its neighbour, among the Unix sockets in FOLDER.
//! It follows changes of that file,
//! and writes its counters to the file COUNTERS. It prints `ready` after its start. `topo up --loss
//! ...` starts it; it ends when its devices are removed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use prp_tests::wire::{Link, Settings};

/// Interval at which it reads the settings and writes the counters.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// How long to poll for frames before sleeping: a wake-up costs more than a frame, and most frames
/// arrive within this time of each other.
const SPIN: Duration = Duration::from_micros(50);

/// How long before a frame is due to be awake: a wake-up takes some microseconds.
const WAKE_UP: Duration = Duration::from_micros(20);

/// By how much the kernel may wake it late. Its default of 50 us is longer than many a link.
const TIMER_SLACK: u64 = 1;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [settings, counters, devices @ ..] = &words[..] else {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "wire SETTINGS COUNTERS DEVICE DEVICE",
        ));
    };
    let mut text = fs::read_to_string(settings)?;
    let parsed = parse(&text)?;
    let mut links = Vec::new();
    for (number, pair) in (0..).zip(devices.chunks_exact(2)) {
        links.push(Link::open([&pair[0], &pair[1]], &parsed, number)?);
    }
    set_timerslack(TIMER_SLACK)?;
    println!("ready");
    let (mut checked, mut busy) = (Instant::now(), Instant::now());
    loop {
        let mut any = false;
        for link in &mut links {
            any |= link.poll()?;
        }
        let now = Instant::now();
        if any {
            busy = now;
        } else if now.duration_since(busy) < SPIN {
            thread::yield_now();
        } else {
            sleep(&links)?;
        }
        if now.duration_since(checked) >= CHECK_INTERVAL {
            checked = now;
            let read = fs::read_to_string(settings)?;
            if read != text {
                let parsed = parse(&read)?;
                links.iter_mut().for_each(|link| link.set(&parsed));
                text = read;
            }
            publish(Path::new(counters), &text, &links)?;
        }
    }
}

fn parse(text: &str) -> io::Result<Settings> {
    text.parse().map_err(|e: String| io::Error::new(ErrorKind::InvalidData, e))
}

/// Sleeps until a frame arrives or a waiting one is nearly due.
fn sleep(links: &[Link]) -> io::Result<()> {
    let due = links.iter().filter_map(Link::next).min();
    let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
    let wait = wait.map_or(CHECK_INTERVAL, |wait| wait.min(CHECK_INTERVAL));
    if wait <= WAKE_UP {
        thread::yield_now();
        return Ok(());
    }
    let fds = links.iter().flat_map(Link::fds);
    let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    match ppoll(&mut fds, Some((wait - WAKE_UP).into()), None) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Writes the settings in force, and a line for each direction. The file is replaced atomically,
/// since another process may be reading it.
fn publish(path: &Path, settings: &str, links: &[Link]) -> io::Result<()> {
    let mut text = format!("{}\n", settings.trim_end());
    for (number, link) in links.iter().enumerate() {
        for (direction, counters) in link.counters().into_iter().enumerate() {
            text.push_str(&format!("link={} direction={} {counters}\n", number + 1, direction + 1));
        }
    }
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, path)
}
