//! The echo service with a log on standard error: `log` answers on port 7008; `log NODE TEXT` asks.
//! Needs the feature `tracing`.
use std::io::{self, Read, Write};
use std::net::Shutdown;

use prp_sock::{PrpListener, PrpStream};
use tracing_subscriber::filter::LevelFilter;

fn main() -> io::Result<()> {
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_ansi(false)
        .with_writer(io::stderr)
        .init();
    let mut args = std::env::args().skip(1);
    if let (Some(node), Some(text)) = (args.next(), args.next()) {
        let mut stream = PrpStream::connect(format!("{node}:7008"))?;
        stream.write_all(text.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        println!("{answer}");
        return Ok(());
    }
    for stream in PrpListener::bind("self:7008")?.incoming() {
        let stream = stream?;
        io::copy(&mut &stream, &mut &stream)?;
    }
    Ok(())
}
