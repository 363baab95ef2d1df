//! The counters for Prometheus over HTTP, where that is wanted: a thread that asks the daemon as
//! any user may.
//!
//! A client that reaches the port may be slow, or hostile: what it can have of the daemon is
//! bounded here. The router's own thread answers at most one question in `FRESH`, however many
//! requests come.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use prp_node::RunDir;
use prp_proto::addr::NodeId;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use crate::control::ask_within;
use crate::report::Question;

/// The media type of the text.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Connections at a time: a cluster has one or two collectors. More wait in the kernel's queue.
const CONNECTIONS: usize = 16;

/// How long a client may take over its request: collectors send it in one segment.
const REQUEST_TIME: Duration = Duration::from_secs(2);

/// How long a client may take over everything, the answer included, which is some kilobytes.
const CONNECTION_TIME: Duration = Duration::from_secs(10);

/// The longest head of a request, and what is buffered for a connection: the least that hyper has.
const BUFFER: usize = 8192;

/// Most headers: those of browsers are half as many.
const HEADERS: usize = 48;

/// How long an answer of the daemon is given to other clients, too: shorter than any collector's
/// interval.
const FRESH: Duration = Duration::from_millis(250);

/// How long the daemon may take over its answer: it makes one in microseconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// How long no connection is taken after one could not be: most likely there are no descriptors.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The socket, without a thread that answers yet.
#[derive(Debug)]
pub struct Exporter {
    listener: TcpListener,
}

/// What every connection shares.
#[derive(Debug)]
struct Shared {
    /// To the thread that asks the daemon.
    questions: Sender<oneshot::Sender<io::Result<Value>>>,
    /// What the daemon answered last, and when.
    last_answer: Mutex<Option<(Instant, Result<Bytes, String>)>>,
}

impl Exporter {
    /// Takes the address: before privileges are given up, since some ports need one.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let named =
            |e: io::Error| io::Error::new(e.kind(), format!("metrics = \"{address}\": {e}"));
        let listener = TcpListener::bind(address).map_err(named)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }

    /// Serves the counters of `node`'s daemon at `http://ADDRESS/metrics`; the address, whose port
    /// is a real one where zero was asked for. To be called when privileges have been given up: its
    /// threads inherit the rest.
    ///
    /// # Errors
    /// There are no descriptors, or no thread can be had.
    pub fn serve(self, dir: RunDir, node: NodeId) -> io::Result<SocketAddr> {
        let bound = self.listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        info!(address = %bound, "metrics");
        let (questions, asked) = channel::<oneshot::Sender<_>>();
        // Made now, since there may be no thread to be had later.
        std::thread::Builder::new().name("metrics-ask".into()).spawn(move || {
            for reply in asked {
                let answer = ask_within(&dir, node, &Question::Metrics, ANSWER_TIMEOUT);
                // The client may have gone.
                let _ = reply.send(answer);
            }
        })?;
        let shared = Arc::new(Shared { questions, last_answer: Mutex::default() });
        std::thread::Builder::new().name("metrics".into()).spawn(move || {
            if let Err(e) = runtime.block_on(accept(self.listener, shared)) {
                warn!("metrics: {e}");
            }
        })?;
        Ok(bound)
    }
}

/// Takes connections for as long as the daemon lives.
async fn accept(listener: TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(converse(stream, shared.clone(), place))),
            Err(_) => sleep(ACCEPT_RETRY_INTERVAL).await,
        }
    }
}

/// Serves one request, within bounds.
async fn converse(stream: TcpStream, shared: Arc<Shared>, _place: OwnedSemaphorePermit) {
    let service = service_fn(move |request| answer(request, shared.clone()));
    let mut http = http1::Builder::new();
    http.keep_alive(false).half_close(true).timer(TokioTimer::new());
    http.header_read_timeout(REQUEST_TIME).max_buf_size(BUFFER).max_headers(HEADERS);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // A client that is too slow, has gone, or speaks something else, needs no answer.
    let _ = timeout(CONNECTION_TIME, connection).await;
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Shared>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.uri().path() != "/metrics" {
        return Ok(plain(StatusCode::NOT_FOUND, "GET /metrics\n"));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "GET /metrics\n");
        response.headers_mut().insert(ALLOW, const { HeaderValue::from_static("GET, HEAD") });
        return Ok(response);
    }
    Ok(match shared.text().await {
        Ok(text) => {
            let mut response = plain(StatusCode::OK, text);
            response.headers_mut().insert(CONTENT_TYPE, const { HeaderValue::from_static(TYPE) });
            response
        }
        Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, why),
    })
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response
}

impl Shared {
    /// What the daemon answers now, or has answered just before.
    async fn text(&self) -> Result<Bytes, String> {
        let mut last_answer = self.last_answer.lock().await;
        if let Some((at, text)) = &*last_answer
            && at.elapsed() < FRESH
        {
            return text.clone();
        }
        let (reply, answer) = oneshot::channel();
        // Both fail only if the thread that asks is gone.
        let _ = self.questions.send(reply);
        let text = match answer.await {
            Ok(Ok(value)) => Ok(Bytes::from(value.as_str().unwrap_or_default().to_owned())),
            Ok(Err(e)) => Err(format!("{e}\n")),
            Err(e) => Err(format!("{e}\n")),
        };
        if let Err(why) = &text {
            warn!("metrics: {}", why.trim_end());
        }
        *last_answer = Some((Instant::now(), text.clone()));
        text
    }
}

#[cfg(test)]
mod tests;
