//! Copies files to another node: `file_transfer FOLDER` receives them on port 7004; `file_transfer
//! NODE FILE` sends one. A file appears in the folder under its own name once it is complete.
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use prp_sock::{PrpListener, PrpStream};

/// The longest name in bytes, as in most file systems.
const MAX_NAME: usize = 255;

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, text.into())
}

/// Sends the length of the name, the name, the length of the file and the file; waits for the
/// receiver to say how many bytes it has on disk.
fn send(node: &str, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| invalid(format!("{}: no name to send", path.display())))?;
    let mut stream = PrpStream::connect(format!("{node}:7004"))?;
    stream.write_all(&[name.len() as u8])?;
    stream.write_all(name.as_bytes())?;
    stream.write_all(&len.to_be_bytes())?;
    io::copy(&mut (&mut file).take(len), &mut stream)?;
    let mut kept = [0; 8];
    stream.read_exact(&mut kept)?;
    println!("{name}: {} bytes", u64::from_be_bytes(kept));
    Ok(())
}

fn receive(mut stream: PrpStream, folder: &Path) -> io::Result<()> {
    let mut len = [0];
    stream.read_exact(&mut len)?;
    let mut name = vec![0; usize::from(len[0])];
    stream.read_exact(&mut name)?;
    let name = String::from_utf8(name).map_err(|_| invalid("the name is not UTF-8"))?;
    // The name is the peer's: it must not lead out of the folder.
    let is_plain = Path::new(&name).file_name().is_some_and(|own| own == name.as_str());
    if !is_plain || name.len() > MAX_NAME {
        return Err(invalid(format!("{name:?} is no plain file name")));
    }
    let mut len = [0; 8];
    stream.read_exact(&mut len)?;
    let len = u64::from_be_bytes(len);
    let unfinished = folder.join(format!(".{name}.part"));
    let mut file = File::create(&unfinished)?;
    let got = io::copy(&mut (&mut stream).take(len), &mut file).and_then(|got| {
        file.sync_all()?;
        Ok(got)
    });
    match got {
        Ok(got) if got == len => fs::rename(&unfinished, folder.join(&name))?,
        other => {
            fs::remove_file(&unfinished)?;
            return Err(other.err().unwrap_or_else(|| ErrorKind::UnexpectedEof.into()));
        }
    }
    stream.write_all(&len.to_be_bytes())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words[..] {
        [node, file] => send(node, Path::new(file)),
        [folder] => {
            for stream in PrpListener::bind("self:7004")?.incoming() {
                let (stream, folder) = (stream?, folder.clone());
                std::thread::spawn(move || {
                    if let Err(error) = receive(stream, Path::new(&folder)) {
                        eprintln!("file_transfer: {error}");
                    }
                });
            }
            Ok(())
        }
        _ => Err(invalid("usage: file_transfer FOLDER | file_transfer NODE FILE")),
    }
}
