//! The counters for Prometheus over HTTP, where that is wanted: a thread that asks the daemon as anybody may.

use std::io;
use std::net::SocketAddr;

use prp_sock::NodeId;
use tiny_http::{Header, Method, Request, Response, Server};
use tracing::{info, warn};

use crate::control::ask;
use crate::report::Question;

/// What the text is.
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the counters of `node`'s daemon at `http://ADDRESS/metrics`; the address, whose port is a real one where
/// zero was asked for. To be called when the daemon has given up its privileges.
///
/// # Errors
/// The address cannot be had.
pub fn serve(address: SocketAddr, node: NodeId) -> io::Result<SocketAddr> {
    let named = |e| io::Error::other(format!("metrics = \"{address}\": {e}"));
    let server = Server::http(address).map_err(named)?;
    let bound = server.server_addr().to_ip().unwrap_or(address);
    info!(address = %bound, "metrics");
    std::thread::Builder::new().name("metrics".into()).spawn(move || {
        for request in server.incoming_requests() {
            // Who has gone meanwhile needs no answer.
            let _ = answer(request, node);
        }
    })?;
    Ok(bound)
}

fn answer(request: Request, node: NodeId) -> io::Result<()> {
    if request.url() != "/metrics" || *request.method() != Method::Get {
        return request.respond(Response::from_string("GET /metrics\n").with_status_code(404));
    }
    match ask(node, &Question::Metrics) {
        Ok(value) => {
            let text = value.as_str().unwrap_or_default();
            let header = Header::from_bytes("Content-Type", TYPE);
            let response = Response::from_string(text);
            request.respond(header.into_iter().fold(response, Response::with_header))
        }
        Err(e) => {
            warn!("metrics: {e}");
            request.respond(Response::from_string(e.to_string()).with_status_code(503))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::control::Control;
    use crate::report::Reply;

    fn request(address: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }

    #[test]
    fn serve__gives_what_the_daemon_says_and_nothing_else() {
        let node = NodeId::new(65_110).unwrap();
        let address = serve("127.0.0.1:0".parse().unwrap(), node).unwrap();
        assert!(request(address, "GET /metrics").starts_with("HTTP/1.1 503"), "no daemon runs");
        for other in ["GET /", "POST /metrics", "GET /metrics/../x"] {
            assert!(request(address, other).starts_with("HTTP/1.1 404"), "{other}");
        }
        let mut control = Control::bind(node).unwrap();
        let asking = std::thread::spawn(move || request(address, "GET /metrics"));
        let mut asked = Vec::new();
        while asked.is_empty() {
            asked = control.turn();
            std::thread::yield_now();
        }
        for (asker, question) in asked {
            assert!(matches!(question, Ok(Question::Metrics)));
            control.answer(asker, &Reply::Ok("frames 7\n".into()));
        }
        let said = asking.join().unwrap();
        assert!(said.starts_with("HTTP/1.1 200") && said.ends_with("frames 7\n"), "{said}");
    }
}
