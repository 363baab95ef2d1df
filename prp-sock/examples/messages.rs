//! Messages instead of bytes: `messages` answers each message with its length,
//! `messages NODE TEXT...` sends each word as a message. What is sent as one message is received as
//! one.
use std::io;

use prp_sock::{PrpListener, PrpStream};

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    if let Some(node) = words.next() {
        let stream = PrpStream::connect(format!("{node}:7001"))?;
        let mut answer = Vec::new();
        for word in words {
            stream.send_message(word.as_bytes())?;
            answer.clear();
            stream.recv_message(&mut answer)?;
            println!("{word}: {}", String::from_utf8_lossy(&answer));
        }
        return Ok(());
    }
    for stream in PrpListener::bind("self:7001")?.incoming() {
        let stream = stream?;
        let mut message = Vec::new();
        while stream.recv_message(&mut message)? {
            stream.send_message(format!("{} bytes", message.len()).as_bytes())?;
            message.clear();
        }
    }
    Ok(())
}
