use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::yield_now;

use super::*;
use crate::local_service::{Event, LocalService};
use crate::report::Reply;

/// Exporters of different tests search for their daemon in different folders.
struct TestRunDir {
    _folder: tempfile::TempDir,
    dir: RunDir,
}

fn node() -> NodeId {
    NodeId::new(65_110).expect("a node")
}

fn serve() -> (TestRunDir, SocketAddr) {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = RunDir::at(folder.path().join("run"));
    let exporter = Exporter::bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let address = exporter.serve(dir.clone(), node()).expect("a thread");
    (TestRunDir { _folder: folder, dir }, address)
}

fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).expect("it listens")
}

/// What comes until the other end closes.
fn rest(mut stream: &TcpStream) -> String {
    let mut response = Vec::new();
    // Reset by a server that did not read everything: what it sent before counts.
    let _ = stream.read_to_end(&mut response);
    String::from_utf8_lossy(&response).into_owned()
}

fn request(address: SocketAddr, line: &str) -> String {
    let mut stream = connect(address);
    write!(stream, "{line} HTTP/1.1\r\nHost: x\r\n\r\n").expect("it reads");
    rest(&stream)
}

/// Answers like a daemon, for as long as `asking` runs; how often it was asked.
fn answering<T: Send + 'static>(
    run_dir: &TestRunDir,
    asking: impl FnOnce() -> T + Send + 'static,
) -> (T, usize) {
    let (service, mut daemon) = LocalService::bind(&run_dir.dir, node()).expect("a free name");
    daemon.start(service).expect("a thread");
    let asking = std::thread::spawn(asking);
    let mut times = 0;
    while !asking.is_finished() {
        for event in daemon.events() {
            let Event::Request(asked) = event else { panic!("{event:?}") };
            assert!(matches!(asked.question, Ok(Question::Metrics)));
            times += 1;
            daemon.answer(asked.client, Reply::Ok(format!("frames {times}\n").into()));
        }
        yield_now();
    }
    (asking.join().expect("it does not panic"), times)
}

#[test]
fn serve__gives_what_the_daemon_says_and_nothing_else() {
    let (run_dir, address) = serve();
    for (other, code) in [
        ("GET /", "404"),
        ("GET /metrics/../x", "404"),
        ("POST /metrics", "405"),
        ("PUT /metrics", "405"),
        ("DELETE /metrics", "405"),
    ] {
        assert!(request(address, other).starts_with(&format!("HTTP/1.1 {code}")), "{other}");
    }
    let ([got, head], _) = answering(&run_dir, move || {
        ["GET /metrics", "HEAD /metrics"].map(|line| request(address, line))
    });
    assert!(got.starts_with("HTTP/1.1 200") && got.ends_with("\r\n\r\nframes 1\n"), "{got}");
    assert!(got.contains("content-type: application/openmetrics-text"), "{got}");
    assert!(got.contains("connection: close"), "{got}");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
}

#[test]
fn serve__without_a_daemon_says_so() {
    let (_place, address) = serve();
    let response = request(address, "GET /metrics");
    assert!(
        response.starts_with("HTTP/1.1 503") && response.contains("no prp-routed runs"),
        "{response}"
    );
}

#[test]
fn serve__many_requests_are_one_question() {
    let (run_dir, address) = serve();
    let ((first, again), times) = answering(&run_dir, move || {
        // All within the time in which an answer is fresh, unless this machine is held up for that
        // long.
        let start = std::time::Instant::now();
        let all: Vec<_> = (0..20).map(|_| request(address, "GET /metrics")).collect();
        let fresh = start.elapsed() < FRESH;
        (all.len(), fresh)
    });
    assert_eq!(first, 20);
    assert!(times == 1 || !again, "{times} questions");
}

/// Everything here waits for the server to close, and it does.
#[test]
fn serve__what_is_slow_or_too_large_is_cut_off() {
    let (_place, address) = serve();
    // Silence, and a head that never ends, for as long as the server has patience.
    let silent = connect(address);
    let mut slow = connect(address);
    slow.write_all(b"GET /metrics HTTP/1.1\r\nx: ").expect("room");
    // A head longer than the buffer, one with too many headers, something else altogether.
    let head = |headers: String| format!("GET /metrics HTTP/1.1\r\n{headers}\r\n");
    let long = head(format!("x: {}\r\n", "y".repeat(4 * BUFFER)));
    let many = head((0..=HEADERS).map(|n| format!("x{n}: y\r\n")).collect());
    for text in [long, many, "\u{16}\u{3}\u{1}nonsense\r\n\r\n".into()] {
        let mut stream = connect(address);
        // It may have closed before all of it is written.
        let _ = stream.write_all(text.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
        let response = rest(&stream);
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 4"), "{response}");
    }
    for stream in [silent, slow] {
        assert!(!rest(&stream).starts_with("HTTP/1.1 200"));
    }
}

/// All places are taken by clients that say nothing; the next client is served when one of them has
/// been cut off.
#[test]
fn serve__places_are_few_and_come_free() {
    let (_place, address) = serve();
    let silent: Vec<_> = (0..CONNECTIONS).map(|_| connect(address)).collect();
    assert!(request(address, "GET /").starts_with("HTTP/1.1 404"));
    let cut_off = |mut stream: &TcpStream| {
        stream.set_nonblocking(true).expect("a socket");
        !matches!(stream.read(&mut [0]), Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    };
    assert!(silent.iter().any(cut_off), "served while all places were taken");
}
