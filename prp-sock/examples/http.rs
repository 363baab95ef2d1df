//! HTTP over PRP with hyper, which does not depend on PRP: `http` serves on port 7006; `http NODE
//! PATH` sends a request. Needs the feature `tokio`.
use std::convert::Infallible;
use std::io;

use http_body_util::{BodyExt, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, client, server};
use hyper_util::rt::TokioIo;
use prp_sock::tokio::{PrpListener, PrpStream};

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = format!("{} {}\n", request.method(), request.uri().path());
    Ok(Response::new(Full::new(text.into())))
}

async fn serve() -> io::Result<()> {
    let listener = PrpListener::bind("self:7006").await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        tokio::spawn(async move {
            let http = server::conn::http1::Builder::new();
            let serving = http.serve_connection(TokioIo::new(stream), service_fn(answer));
            if let Err(error) = serving.await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

async fn ask(node: &str, path: &str) -> io::Result<()> {
    let stream = PrpStream::connect(format!("{node}:7006")).await?;
    let handshake = client::conn::http1::handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    let request = Request::builder().uri(path).header("host", node);
    let request = request.body(Empty::<Bytes>::new()).map_err(io::Error::other)?;
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(io::Error::other)?;
    print!("{status}: {}", String::from_utf8_lossy(&body.to_bytes()));
    Ok(())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match &words[..] {
        [] => runtime.block_on(serve()),
        [node, path] => runtime.block_on(ask(node, path)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: http [NODE PATH]")),
    }
}
