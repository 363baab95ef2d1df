//! `tokio_echo ADDR` is an echo server with a task for each connection. It prints `ok ADDR` once it
//! listens. `tokio_echo ADDR TASKS BYTES` is its client: TASKS tasks run at the same time, each
//! with its own connection and pattern. The client code is generic over `AsyncRead + AsyncWrite`,
//! and does not depend on PRP.

use std::io::{self, ErrorKind};

use prp_sock::tokio::{PrpListener, PrpStream};
use prp_tests::pattern::Pattern;
use prp_tests::privilege::raise_descriptor_limit;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::task::JoinSet;

fn main() -> io::Result<()> {
    raise_descriptor_limit()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |word: &str| word.parse::<usize>().map_err(io::Error::other);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    match &words[..] {
        [addr] => runtime.block_on(serve(addr)),
        [addr, tasks, bytes] => runtime.block_on(many_tasks(addr, number(tasks)?, number(bytes)?)),
        _ => Err(ErrorKind::InvalidInput.into()),
    }
}

async fn serve(addr: &str) -> io::Result<()> {
    let listener = PrpListener::bind(addr).await?;
    println!("ok {}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(echo(stream));
    }
}

async fn echo(stream: impl AsyncRead + AsyncWrite) -> io::Result<()> {
    let (mut from, mut to) = split(stream);
    tokio::io::copy(&mut from, &mut to).await?;
    to.shutdown().await
}

async fn many_tasks(addr: &str, tasks: usize, bytes: usize) -> io::Result<()> {
    let mut all = JoinSet::new();
    for task in 0..tasks {
        let addr = addr.to_owned();
        all.spawn(async move {
            let stream = PrpStream::connect(addr.as_str()).await?;
            round_trip(stream, task as u64, bytes).await
        });
    }
    while let Some(done) = all.join_next().await {
        done.map_err(io::Error::other)??;
    }
    println!("ok");
    Ok(())
}

/// Writes and reads at the same time, so that the data may exceed the buffers.
async fn round_trip<S>(stream: S, seed: u64, bytes: usize) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let mut pattern = Pattern::new(seed);
    let mut sent = Vec::new();
    while sent.len() < bytes {
        sent.extend_from_slice(pattern.next(bytes - sent.len()));
    }
    let (mut from, mut to) = split(stream);
    let out = sent.clone();
    let writer = tokio::spawn(async move {
        to.write_all(&out).await?;
        to.shutdown().await
    });
    let mut got = Vec::new();
    from.read_to_end(&mut got).await?;
    writer.await.map_err(io::Error::other)??;
    if got == sent { Ok(()) } else { Err(io::Error::other("other bytes than were sent")) }
}
