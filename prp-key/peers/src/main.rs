//! What PRP with a sealing key is compared with, for `netns-scripts/bench --key`: one stream, and
//! 64 bytes to and fro, over TLS (rustls over the kernel's TCP) and over QUIC (quinn).
//!
//! The server writes its certificate to a file, and trusts nobody; the client trusts that
//! certificate. A client prints one JSON object: `gbps`, the payload that arrived by the time until
//! the client knew it, and `p50_us`, half of the median round trip.

mod identity;
mod measure;
mod quic;
mod tls;

use std::env;
use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use measure::Figures;

const USAGE: &str = "\
usage: prp-key-peers serve ADDRESS:PORT CERTIFICATE
       prp-key-peers tls|quic ADDRESS:PORT CERTIFICATE SECONDS";

/// Whatever a crate may say.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<_> = env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["serve", address, certificate] => serve(address, Path::new(certificate)),
        [what @ ("tls" | "quic"), address, certificate, seconds] => {
            client(what, address, Path::new(certificate), seconds)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("prp-key-peers: {e}");
            ExitCode::FAILURE
        }
    }
}

/// Serves both until it is killed.
fn serve(address: &str, certificate: &Path) -> Outcome {
    let address: SocketAddr = address.parse()?;
    let config = identity::server(certificate)?;
    let (listener, socket) = (TcpListener::bind(address)?, quic::socket(address)?);
    println!("listening on {address}");
    let of_tls = config.clone();
    thread::spawn(move || tls::serve(&listener, &of_tls));
    quic::serve(socket, config)
}

fn client(what: &str, address: &str, certificate: &Path, seconds: &str) -> Outcome {
    let address: SocketAddr = address.parse()?;
    let time = Duration::try_from_secs_f64(seconds.parse()?)?;
    let config = identity::client(certificate)?;
    let Figures { gbps, p50_us } = match what {
        "tls" => tls::measure(address, config, time)?,
        _ => quic::measure(address, config, time)?,
    };
    println!("{{\"gbps\": {gbps:.4}, \"p50_us\": {p50_us:.3}}}");
    Ok(())
}
