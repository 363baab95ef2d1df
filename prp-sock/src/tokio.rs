//! The same streams for `async` programs: `AsyncRead` and `AsyncWrite`, for any runtime.
//!
//! Only tokio's traits are used, not its reactor: the engine's background thread runs the protocol
//! and wakes tasks. Code that is generic over `AsyncRead + AsyncWrite` runs on these streams as it
//! is.
//!
//! ```no_run
//! use prp_sock::tokio::PrpStream;
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # async fn example() -> std::io::Result<()> {
//! let mut stream = PrpStream::connect("gamma:80").await?;
//! stream.write_all(b"hello").await?;
//! let mut answer = Vec::new();
//! stream.read_to_end(&mut answer).await?;
//! # Ok(())
//! # }
//! ```

mod listener;
mod split;
mod stream;
mod waiting;

pub use listener::PrpListener;
pub use split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
pub use stream::PrpStream;

use std::io;

use crate::{PrpAddr, ToPrpAddrs};

/// Resolves `host` by the prphosts in force, as `tokio::net::lookup_host` by DNS. The file is read
/// only if a name needs it and it has changed.
///
/// ```
/// # async fn example() -> std::io::Result<()> {
/// let mut addrs = prp_sock::tokio::lookup_host("3:80").await?;
/// assert_eq!(addrs.next(), Some("3:80".parse().unwrap()));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`ToPrpAddrs::to_prp_addrs`].
pub async fn lookup_host<T: ToPrpAddrs>(host: T) -> io::Result<impl Iterator<Item = PrpAddr>> {
    host.to_prp_addrs()
}

#[cfg(test)]
mod tests;
