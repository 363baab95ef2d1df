//! `echo` answers on port 7000; `echo NODE TEXT` asks. For TCP only names and addresses differ.
use std::io::{self, Read, Write};
use std::net::Shutdown;

use prp_sock::{PrpListener, PrpStream};

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1);
    if let (Some(node), Some(text)) = (args.next(), args.next()) {
        let mut stream = PrpStream::connect(format!("{node}:7000"))?;
        stream.write_all(text.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        println!("{answer}");
        return Ok(());
    }
    for stream in PrpListener::bind("self:7000")?.incoming() {
        let stream = stream?;
        io::copy(&mut &stream, &mut &stream)?;
    }
    Ok(())
}
