//! An echo server on tokio, one task a connection: `tokio` answers on port 7002, `tokio NODE TEXT`
//! asks. Needs the feature `tokio`.
use std::io;

use prp_sock::tokio::{PrpListener, PrpStream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn ask(node: &str, text: &str) -> io::Result<()> {
    let mut stream = PrpStream::connect(format!("{node}:7002")).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    println!("{answer}");
    Ok(())
}

async fn serve() -> io::Result<()> {
    let listener = PrpListener::bind("self:7002").await?;
    loop {
        let (mut stream, peer) = listener.accept().await?;
        tokio::spawn(async move {
            let (mut from, mut to) = stream.split();
            if let Err(error) = tokio::io::copy(&mut from, &mut to).await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match &words[..] {
        [] => runtime.block_on(serve()),
        [node, text] => runtime.block_on(ask(node, text)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: tokio [NODE TEXT]")),
    }
}
