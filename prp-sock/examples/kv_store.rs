//! A key-value store that speaks the redis protocol (RESP 2): `kv_store` serves on port 7007;
//! `kv_store NODE WORD...` sends one command, as `kv_store 2 SET colour red`. redis-cli and redis
//! libraries can use it through a proxy from TCP.
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use prp_sock::{PrpListener, PrpStream};

type Store = Mutex<HashMap<Vec<u8>, Vec<u8>>>;

/// Maximum number of words in a command, and of bytes in a word. If a command exceeds them, the
/// connection ends.
const MAX_WORDS: usize = 1024;
const MAX_BYTES: usize = 16 << 20;

/// The number after `sign`; `None` at the end of the stream.
fn number(reader: &mut impl BufRead, sign: char, most: usize) -> io::Result<Option<usize>> {
    let mut line = String::new();
    // No valid number has twenty digits.
    reader.take(24).read_line(&mut line)?;
    let digits = line.strip_prefix(sign).and_then(|rest| rest.strip_suffix("\r\n"));
    match digits.map(str::parse) {
        Some(Ok(number)) if number <= most => Ok(Some(number)),
        None if line.is_empty() => Ok(None),
        _ => Err(io::Error::new(ErrorKind::InvalidData, format!("no number: {line:?}"))),
    }
}

fn command(reader: &mut impl BufRead) -> io::Result<Option<Vec<Vec<u8>>>> {
    let Some(count) = number(reader, '*', MAX_WORDS)? else { return Ok(None) };
    let mut words = Vec::new();
    for _ in 0..count {
        let len = number(reader, '$', MAX_BYTES)?.ok_or(ErrorKind::UnexpectedEof)?;
        let mut word = Vec::new();
        reader.take(len as u64 + 2).read_to_end(&mut word)?;
        if word.len() != len + 2 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        word.truncate(len);
        words.push(word);
    }
    Ok(Some(words))
}

fn answer(store: &Store, words: &[Vec<u8>]) -> Vec<u8> {
    let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
    let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
    let name = words.first().map(|name| name.to_ascii_uppercase()).unwrap_or_default();
    match (name.as_slice(), words.get(1..).unwrap_or_default()) {
        (b"PING", []) => b"+PONG\r\n".to_vec(),
        (b"SET", [key, value]) => {
            store.insert(key.to_vec(), value.to_vec());
            b"+OK\r\n".to_vec()
        }
        (b"GET", [key]) => match store.get(*key) {
            Some(value) => [format!("${}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat(),
            None => b"$-1\r\n".to_vec(),
        },
        (b"DEL", keys) => {
            let gone = keys.iter().filter(|key| store.remove(**key).is_some()).count();
            format!(":{gone}\r\n").into_bytes()
        }
        _ => b"-ERR PING, SET key value, GET key and DEL key... are known\r\n".to_vec(),
    }
}

fn serve(store: &Store, stream: &PrpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(words) = command(&mut reader)? {
        (&*stream).write_all(&answer(store, &words))?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((node, words)) = words.split_first() else {
        let store = Arc::new(Store::default());
        for stream in PrpListener::bind("self:7007")?.incoming() {
            let (store, stream) = (store.clone(), stream?);
            std::thread::spawn(move || serve(&store, &stream));
        }
        return Ok(());
    };
    let mut stream = PrpStream::connect(format!("{node}:7007"))?;
    let word = |word: &String| format!("${}\r\n{word}\r\n", word.len());
    let words: Vec<_> = words.iter().map(word).collect();
    stream.write_all(format!("*{}\r\n{}", words.len(), words.concat()).as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    io::copy(&mut stream, &mut io::stdout())?;
    Ok(())
}
