//! An HTTP client and server that know nothing of PRP: hyper over the asynchronous streams.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, client, server};
use hyper_util::rt::TokioIo;
use prp_sock::testing::{Pair, within_patience};
use prp_sock::tokio::PrpStream;

/// Sizes of request bodies: none, one segment, more than all buffers hold.
const SIZES: [usize; 4] = [0, 1, 1000, 8 << 20];

/// Bytes of a request that differ from its neighbours'.
fn body(size: usize) -> Bytes {
    (0..size).map(|i| (i % 251) as u8).collect()
}

/// What answers: the path and the number of the request in the head, its body in the body.
async fn echo(
    request: Request<Incoming>,
    count: Arc<AtomicUsize>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let number = count.fetch_add(1, Ordering::Relaxed);
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    let response = Response::builder().header("x-path", path).header("x-number", number);
    Ok(response.body(Full::new(body)).expect("the head is well formed"))
}

#[test]
fn http1__requests_with_bodies_on_one_connection() {
    within_patience(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let pair = Pair::new();
            let (ours, theirs) = pair.streams();
            let [ours, theirs] = [ours, theirs].map(|s| PrpStream::from_std(s).unwrap());

            let served = Arc::new(AtomicUsize::new(0));
            let count = served.clone();
            let service = service_fn(move |request| echo(request, count.clone()));
            let server = server::conn::http1::Builder::new();
            let serving = tokio::spawn(server.serve_connection(TokioIo::new(theirs), service));

            let (mut sender, connection) =
                client::conn::http1::handshake(TokioIo::new(ours)).await.unwrap();
            let driving = tokio::spawn(connection);
            for (number, size) in SIZES.into_iter().enumerate() {
                let path = format!("/{size}");
                let request = Request::builder().method(Method::POST).uri(&path);
                let request = request.header("host", "beta").body(Full::new(body(size))).unwrap();
                sender.ready().await.unwrap();
                let response = sender.send_request(request).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                assert_eq!(response.headers()["x-path"], path);
                // Expect: the connection was kept, as one server has counted them all.
                assert_eq!(response.headers()["x-number"], number.to_string());
                let bytes = response.into_body().collect().await.unwrap().to_bytes();
                assert_eq!(bytes, body(size), "{size} bytes");
            }
            // Expect: the end that is done closes, and neither side calls that an error.
            drop(sender);
            driving.await.unwrap().expect("the client's end is clean");
            serving.await.unwrap().expect("the server's end is clean");
            assert_eq!(served.load(Ordering::Relaxed), SIZES.len());
        });
    });
}
