//! A chat room: `chat` is the server on port 7005; `chat NODE NAME` joins it, sends the lines of
//! standard input and prints those of all members.
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use prp_sock::{PrpListener, PrpStream};

/// A member that does not read is dropped after this time, so that it does not delay the others.
const SLOWEST: Duration = Duration::from_secs(5);

/// The members, by number.
#[derive(Default)]
struct Members(Mutex<Vec<(usize, PrpStream)>>);

impl Members {
    fn members(&self) -> std::sync::MutexGuard<'_, Vec<(usize, PrpStream)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a line to all members.
    fn send(&self, line: &str) {
        self.members().retain_mut(|(_, member)| writeln!(member, "{line}").is_ok());
    }

    fn leave(&self, number: usize) {
        self.members().retain(|(other, _)| *other != number);
    }
}

/// Serves one member: its first line is its name.
fn serve(room: &Members, number: usize, stream: PrpStream) -> io::Result<()> {
    let writer = stream.try_clone()?;
    writer.set_write_timeout(Some(SLOWEST))?;
    let mut lines = BufReader::new(stream).lines();
    let Some(name) = lines.next().transpose()? else { return Ok(()) };
    room.members().push((number, writer));
    room.send(&format!("* {name} has come"));
    for line in lines.map_while(Result::ok) {
        room.send(&format!("{name}: {line}"));
    }
    room.leave(number);
    room.send(&format!("* {name} has left"));
    Ok(())
}

fn join(node: &str, name: &str) -> io::Result<()> {
    let mut stream = PrpStream::connect(format!("{node}:7005"))?;
    let reader = BufReader::new(stream.try_clone()?);
    let printer = thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            println!("{line}");
        }
    });
    writeln!(stream, "{name}")?;
    for line in io::stdin().lines() {
        writeln!(stream, "{}", line?)?;
    }
    stream.shutdown(Shutdown::Write)?;
    drop(printer.join());
    Ok(())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [node, name] => join(node, name),
        [] => {
            let room = Arc::new(Members::default());
            for (number, stream) in PrpListener::bind("self:7005")?.incoming().enumerate() {
                let (room, stream) = (room.clone(), stream?);
                thread::spawn(move || {
                    if let Err(error) = serve(&room, number, stream) {
                        eprintln!("chat: member {number}: {error}");
                    }
                });
            }
            Ok(())
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: chat [NODE NAME]")),
    }
}
