use super::*;
use prp_model::fit::TimeKind;

fn pairs(text: &str) -> Vec<(f64, f64)> {
    let samples = parse(text, Format::Auto, "prp").unwrap_or_else(|error| panic!("{error}"));
    samples.iter().map(|sample| (sample.size.number(), sample.time.micros())).collect()
}

fn mistake(text: &str) -> String {
    parse(text, Format::Auto, "prp").map(|_| ()).expect_err(text).to_string()
}

fn near(left: &[(f64, f64)], right: &[(f64, f64)]) -> bool {
    let is_near = |(l, r): (&(f64, f64), &(f64, f64))| l.0 == r.0 && (l.1 - r.1).abs() < 1e-9 * r.1;
    left.len() == right.len() && left.iter().zip(right).all(is_near)
}

#[test]
fn csv__with_the_columns_that_it_has() {
    assert!(near(&pairs("bytes,seconds\n0,1e-5\n64,2e-5\n"), &[(0.0, 10.0), (64.0, 20.0)]));
    let text = "# made by hand\nbytes, hops, seconds, messages, kind, round, pairs\n\n8, 2, 1e-6, 4, send, 7, 3\n";
    let sample = parse(text, Format::Auto, "prp").expect("a measurement")[0];
    assert_eq!((sample.messages, sample.pairs, sample.round), (4, 3, Some(7)));
    assert_eq!((sample.kind, sample.hops.map(|h| h.number())), (TimeKind::Send, Some(2.0)));
}

#[test]
fn csv__mistakes_have_their_line() {
    for (text, wanted) in [
        ("bytes,hop,seconds\n", "line 1: no column \"hop\""),
        ("bytes\n1\n", "line 1: the header needs bytes and seconds"),
        ("bytes,seconds\n1,1e-6\n2\n", "line 3: 1 cells under 2 columns"),
        ("bytes,seconds\n1,x\n", "line 2: \"x\" is no time in seconds"),
        ("bytes,seconds\n-1,1\n", "line 2: \"-1\" is no size in bytes"),
        ("bytes,seconds\n1,nan\n", "line 2: \"nan\" is no time"),
        ("bytes,seconds\n1,0\n", "line 2: a time of 0 s"),
        ("bytes,seconds,kind\n1,1,both\n", "line 2: \"both\" is no kind"),
        ("bytes,seconds\n", "no measurements in it"),
        ("", "no header"),
    ] {
        assert!(mistake(text).starts_with(wanted), "{text:?}: {}", mistake(text));
    }
}

#[test]
fn osu__old_and_new_tables() {
    let old = "# OSU MPI Latency Test v5.6\n# Size          Latency (us)\n0                       1.29\n1                       1.33\n";
    assert!(near(&pairs(old), &[(0.0, 1.29), (1.0, 1.33)]));
    let new = "\n# OSU MPI Latency Test v7.5\n# Datatype: MPI_CHAR.\n# Size       Avg Lat(us)   P50 Tail Lat(us)   P90 Tail Lat(us)\n1   1.92   1.90  2.10\n";
    assert!(near(&pairs(new), &[(1.0, 1.92)]));
}

#[test]
fn imb__pingpong_and_tables_of_several_times() {
    let pingpong = "#---\n# Benchmarking PingPong\n       #bytes #repetitions      t[usec]   Mbytes/sec\n            0         1000         0.61         0.00\n         4096         1000         2.10      1950.00\n";
    assert!(near(&pairs(pingpong), &[(0.0, 0.61), (4096.0, 2.10)]));
    let several =
        "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n 8 1000 1.0 3.0 2.0\n";
    assert!(near(&pairs(several), &[(8.0, 2.0)]));
    assert!(mistake("#bytes #repetitions\n 8 1000\n").contains("t[usec]"));
}

/// One file has all benchmarks of a run, and other programs of a suite print tables of the same
/// form.
#[test]
fn tables__of_what_is_no_ping_pong() {
    let head = "#bytes #repetitions      t[usec]   Mbytes/sec\n";
    let pingpong = format!("# Benchmarking PingPong\n{head} 8 1000 0.61 0.00\n\n");
    let others = format!(
        "# Benchmarking PingPing\n{head} 8 1000 9.99 0.00\n# Benchmarking Bcast\n{head} 8 1000 7 0\n"
    );
    assert!(near(&pairs(&format!("{others}{pingpong}{others}")), &[(8.0, 0.61)]));
    assert!(mistake(&others).contains("take PingPong"), "{}", mistake(&others));
    let wrong = format!("{others}{pingpong} 16 1000 0 0\n");
    assert!(mistake(&wrong).starts_with("line 11: "), "{}", mistake(&wrong));
    let bandwidth = "# OSU MPI Bandwidth Test v7.5\n# Size      Bandwidth (MB/s)\n1   3.81\n";
    assert!(mistake(bandwidth).starts_with("line 2: no times"), "{}", mistake(bandwidth));
}

#[test]
fn netpipe__its_file_and_what_it_prints() {
    let file = "       1  0.266  0.0000286\n       2  0.534  0.0000285\n";
    assert!(near(&pairs(file), &[(1.0, 28.6), (2.0, 28.5)]));
    let printed = "Now starting the main loop\n  0:       1 bytes   9999 times -->      0.27 Mbps in      28.60 usec\n";
    assert!(near(&pairs(printed), &[(1.0, 28.6)]));
}

const SWEEP: &str = r#"{
  "command": "sweep", "settings": {"node": "2"},
  "results": {
    "prp": [
      {"size": 0, "p50_us": {"median": 2.0, "rounds": [1.9, 2.1]}},
      {"size": 64, "p50_us": {"median": 3.0, "rounds": [3.0]}}
    ],
    "tcp": [{"size": 64, "p50_us": {"rounds": [7.0]}}]
  }
}"#;

#[test]
fn perf__each_round_is_a_measurement() {
    assert!(near(&pairs(SWEEP), &[(0.0, 1.9), (0.0, 2.1), (64.0, 3.0)]));
    let tcp = parse(SWEEP, Format::Auto, "tcp").expect("TCP was measured");
    assert_eq!(tcp.len(), 1);
    assert_eq!(transports(SWEEP), ["prp", "tcp"]);
    let latency = r#"{"command": "latency", "settings": {"size": 8},
        "results": {"prp": {"p50_us": {"rounds": [1.5, 1.6]}}}}"#;
    assert!(near(&pairs(latency), &[(8.0, 1.5), (8.0, 1.6)]));
}

#[test]
fn perf__what_it_does_not_have() {
    let raw = parse(SWEEP, Format::Auto, "raw").map(|_| ()).expect_err("raw was not measured");
    assert_eq!(raw.to_string(), "nothing of raw in it: there is prp, tcp");
    let stream = r#"{"command": "stream", "results": {"prp": {}}}"#;
    assert!(mistake(stream).contains("take sweep or latency"), "{}", mistake(stream));
    assert!(mistake("{").contains("no JSON"));
    let empty = r#"{"command": "sweep", "results": {"prp": [{"size": 1}]}}"#;
    assert!(mistake(empty).contains("p50_us"));
}

/// A file may be declared to be what its text does not suggest.
#[test]
fn parse__as_what_it_is_declared_to_be() {
    let text = "8 2.0\n16 2.5\n";
    let samples = parse(text, Format::Osu, "prp").expect("two columns");
    assert_eq!(samples.len(), 2);
    assert!(parse(text, Format::Netpipe, "prp").is_err());
}
