//! `prp model` as scripts meet it: names of options, keys of JSON, exit codes. Nothing here needs a
//! privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::NamedTempFile;

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    command.arg("model").args(args).stdin(Stdio::null());
    command
}

fn prp(args: &[&str]) -> Output {
    command(args).output().expect("the program can be run")
}

/// Standard output of a run that succeeds.
fn out(args: &[&str]) -> String {
    let output = prp(args);
    let (text, error) = (output.stdout, String::from_utf8_lossy(&output.stderr).into_owned());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
    String::from_utf8(text).expect("UTF-8")
}

fn json(args: &[&str]) -> Value {
    let text = out(&[args, &["--json"]].concat());
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Code and standard error of a run that fails.
fn fails(args: &[&str]) -> (Option<i32>, String) {
    let output = prp(args);
    assert!(output.stdout.is_empty(), "{args:?}");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn file(text: &str, end: &str) -> NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(end).tempfile().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("room for some bytes");
    file
}

fn path(file: &NamedTempFile) -> &str {
    file.path().to_str().expect("a name in ASCII")
}

/// Measurements by a law, with a scatter of a percent that is the same each time.
fn measured(columns: &str, rows: impl Iterator<Item = (String, f64)>) -> NamedTempFile {
    let mut text = format!("{columns}\n");
    for (n, (cells, seconds)) in rows.enumerate() {
        let scatter = 1.0 + 0.005 * ((n * 7 % 11) as f64 - 5.0) / 5.0;
        text += &format!("{cells},{:.9e}\n", seconds * scatter);
    }
    file(&text, ".csv")
}

fn sizes() -> impl Iterator<Item = f64> {
    let small = (0..=20).map(|n| f64::from(n * 10));
    small.chain((8..=20).map(|n| f64::from(1_u32 << n)))
}

fn ping_pong(law: impl Fn(f64) -> f64) -> NamedTempFile {
    let rows = (0..4).flat_map(|_| sizes());
    measured("bytes,seconds", rows.map(|n| (format!("{n}"), law(n))))
}

fn holds(parameter: &Value, truth: f64) -> bool {
    let number = |key: &str| parameter[key].as_f64().unwrap_or(f64::NAN);
    number("low") <= truth && truth <= number("high") && number("value").is_finite()
}

/// Models with the names of their parameters, their units, and a law that tells them.
#[test]
fn fit__names_and_units_of_every_model() {
    type Law = fn(f64) -> f64;
    /// A parameter's name, unit and truth.
    type Parameter = (&'static str, &'static str, f64);
    let linear: Law = |n| 20e-6 + 10e-9 * n;
    let two_piece: Law = |n| 40e-6 + 50e-9 * n + 90e-9 * n.max(100.0);
    let packet: Law = |n| 30e-6 * (n / 1484.0).ceil().max(1.0) + 8e-9 * n;
    let hyperbola: Law = |n| 20e-6 * 20e-6 / (20e-6 + 10e-9 * n) + 10e-9 * n;
    let models: [(&str, Law, &[Parameter]); 4] = [
        ("linear", linear, &[("alpha", "s", 20e-6), ("beta", "s/B", 10e-9)]),
        (
            "prp",
            two_piece,
            &[
                ("L", "s", 49e-6),
                ("B0", "B/s", 20e6),
                ("L1", "s", 40e-6),
                ("B1", "B/s", 1.0 / 140e-9),
                ("n_min", "B", 100.0),
            ],
        ),
        ("packet", packet, &[("a", "s", 30e-6), ("m", "s/B", 8e-9), ("p", "B", 1484.0)]),
        ("hyperbolic", hyperbola, &[("a", "s", 20e-6), ("b", "s/B", 10e-9)]),
    ];
    for (model, law, parameters) in models {
        let file = ping_pong(law);
        let answer = json(&["fit", path(&file), "--model", model]);
        assert_eq!(answer["model"], model);
        assert_eq!(answer["points"], 4 * sizes().count());
        assert!(answer["aic"].is_number() && answer["not_identified"].is_array(), "{answer:#}");
        assert_eq!(answer["seed"], 1);
        for (name, unit, truth) in parameters {
            let parameter = &answer["parameters"][name];
            assert_eq!(parameter["unit"], *unit, "{model} {name}");
            assert!(holds(parameter, *truth), "{model} {name}: {parameter:#}");
        }
        assert!(answer["does_not_see"].to_string().contains("incast"), "{answer:#}");
    }
}

#[test]
fn fit__hops_determine_gamma() {
    let rows = (0..4).flat_map(|hops| sizes().map(move |n| (n, hops)));
    let law =
        |(n, hops): (f64, i32)| (format!("{n},{hops}"), 20e-6 + 10e-9 * n + 4e-6 * f64::from(hops));
    let file = measured("bytes,hops,seconds", rows.map(law));
    let answer = json(&["fit", path(&file), "--model", "linear"]);
    assert!(holds(&answer["parameters"]["gamma"], 4e-6), "{answer:#}");
    assert_eq!(answer["not_identified"], Value::Array(Vec::new()));
}

/// Every other model has a router's delay as well where messages passed different numbers of
/// routers.
#[test]
fn fit__hops_of_every_model() {
    let curve = |n: f64| 20e-6 * 20e-6 / (20e-6 + 10e-9 * n) + 10e-9 * n;
    let rows = (0..4).flat_map(|hops| sizes().map(move |n| (n, hops)));
    let law = |(n, hops): (f64, i32)| (format!("{n},{hops}"), curve(n) + 4e-6 * f64::from(hops));
    let file = measured("bytes,hops,seconds", rows.map(law));
    let answer = json(&["fit", path(&file), "--model", "hyperbolic"]);
    for (name, truth) in [("a", 20e-6), ("b", 10e-9), ("gamma", 4e-6)] {
        assert!(holds(&answer["parameters"][name], truth), "{name}: {answer:#}");
    }
    assert_eq!(json(&["fit", path(&file)])["best"], "hyperbolic");
    let over = ["predict", path(&file), "--model", "hyperbolic", "--size", "0", "--over", "3"];
    let seconds = json(&over)["predictions"][0]["seconds"].as_f64().expect("a time");
    assert!((seconds / 32e-6 - 1.0).abs() < 0.01, "{seconds}");
    let over = ["explain", path(&file), "--model", "hyperbolic", "--size", "0", "--over", "3"];
    let answer = json(&over);
    assert_eq!(answer["terms"][1]["name"], "routers (gamma h)", "{answer:#}");
    assert!(
        answer["would_help"].to_string().contains("fewer hops: one less saves 4"),
        "{answer:#}"
    );
}

#[test]
fn fit__a_ping_pong_alone_tells_neither_o_nor_g() {
    let file = ping_pong(|n| 26e-6 + 10e-9 * (n - 1.0).max(0.0));
    for model in ["logp", "loggp"] {
        let answer = json(&["fit", path(&file), "--model", model]);
        assert_eq!(answer["not_identified"], serde_json::json!(["o", "g"]), "{answer:#}");
        assert!(answer["parameters"]["o"].is_null());
    }
    let answer = json(&["fit", path(&file), "--model", "loggp"]);
    assert!(holds(&answer["parameters"]["G"], 10e-9), "{answer:#}");
    assert!(holds(&answer["parameters"]["L"], 26e-6), "{answer:#}");
}

#[test]
fn fit__without_a_model_tells_the_best() {
    let file = ping_pong(|n| 20e-6 * 20e-6 / (20e-6 + 10e-9 * n) + 10e-9 * n);
    let answer = json(&["fit", path(&file)]);
    assert_eq!(answer["best"], "hyperbolic");
    assert!(answer["models"].as_array().is_some_and(|all| all.len() > 3));
    let text = out(&["fit", path(&file)]);
    assert!(text.contains("95 %:") && text.contains("does not see: contention"), "{text}");
}

#[test]
fn fit__draws_with_axes_and_units() {
    let (file, svg) = (ping_pong(|n| 20e-6 + 10e-9 * n), file("", ".svg"));
    out(&["fit", path(&file), "--model", "linear", "--svg", path(&svg)]);
    let drawing = std::fs::read_to_string(svg.path()).expect("a drawing");
    for text in ["bytes in a message", "microseconds one way", "95 % interval", "residual, %"] {
        assert!(drawing.contains(text), "{text}");
    }
    // Messages over different numbers of routers have a curve and a band each.
    let count = |drawing: &str, tag: &str| drawing.matches(tag).count();
    let (lines, bands) = (count(&drawing, "<polyline"), count(&drawing, "<polygon"));
    let rows = (0..3).flat_map(|hops| sizes().map(move |n| (n, hops)));
    let law =
        |(n, hops): (f64, i32)| (format!("{n},{hops}"), 20e-6 + 10e-9 * n + 4e-6 * f64::from(hops));
    let file = measured("bytes,hops,seconds", rows.map(law));
    out(&["fit", path(&file), "--model", "linear", "--svg", path(&svg)]);
    let drawing = std::fs::read_to_string(svg.path()).expect("a drawing");
    assert_eq!(count(&drawing, "<polygon"), bands + 2);
    assert!(count(&drawing, "<polyline") >= lines + 2);
    assert!(drawing.contains("model: 0 to 2 routers"));
}

#[test]
fn fit__what_is_wrong_with_a_file_has_its_line() {
    let one = file("bytes,seconds\n8,1e-6\n", ".csv");
    let (code, error) = fails(&["fit", path(&one), "--model", "linear"]);
    assert!(code == Some(1) && error.contains("1 measurements for 2 parameters"), "{error}");
    let wrong = file("bytes,seconds\n8,1e-6\n9,x\n", ".csv");
    let (code, error) = fails(&["fit", path(&wrong)]);
    assert!(code == Some(1) && error.contains("line 3: \"x\" is no time"), "{error}");
    assert_eq!(fails(&["fit", "/nowhere/at/all.csv"]).0, Some(1));
}

/// Example 1 of the latency hiding paper, and the multi-processor form.
#[test]
fn gain__of_the_papers_examples() {
    let gain = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        json(&[&["gain"], &words[..]].concat())
    };
    let number = |answer: &Value, key: &str| answer[key].as_f64().expect("a number");
    for (hardware, overhead, expected) in
        [("1", "1", 0.6), ("5", "0.2", 5.0 / 3.0), ("10", "0", 1.5)]
    {
        let answer = gain(&format!("--software 5 --hardware {hardware} --overhead {overhead}"));
        assert!((number(&answer, "gain") - expected).abs() < 1e-12, "{answer:#}");
    }
    let answer = gain(
        "--software 8 --hardware 2 --overhead 0.1 --fraction 0.5 --processors 16 --messages 4",
    );
    // q gamma_h / gamma_s = 1.
    assert!((number(&answer, "speedup") - 8.0).abs() < 1e-12, "{answer:#}");
    assert!((number(&answer, "speedup_hiding") - 16.0 / 1.5).abs() < 1e-12, "{answer:#}");
    assert!((number(&answer, "gain") - 2.0 / 1.5).abs() < 1e-12, "{answer:#}");
    let range = "--software 2..10 --machine H1=5,0 --machine H2=1,0.2 --machine H3=10,1";
    assert_eq!(gain(range)["without_loss"], serde_json::json!(["H1", "H3"]));
    let best = gain("--software 5 --machine H1=1,1 --machine H2=5,0.2 --machine H3=10,0");
    assert_eq!(best["best"], "H2");
    let many = gain("--lambda 7359 --messages sqrt(p) --fraction 10/29 --overhead-each 5.4355e-4");
    assert_eq!(many["best_speedup"]["processors"], 601);
    assert_eq!(many["best_speedup_hiding"]["processors"], 453);
    assert_eq!(many["best_gain"]["processors"], 229);
    assert!(many["does_not_see"].to_string().contains("incast"), "{many:#}");
    // Two are asked for, and are no default.
    let two = gain("--lambda 7359 --messages p --processors 2");
    assert_eq!((&two["up_to"], &two["best_speedup"]["processors"]), (&2.into(), &2.into()));
}

const GRAPHS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../prp-model/graphs");

#[test]
fn reduce__the_papers_graphs() {
    let graph = |name: &str| json(&["reduce", &format!("{GRAPHS}/{name}.toml")]);
    let number = |value: &Value| value.as_f64().expect("a number");
    let message = &graph("figure-9")["messages"]["m"];
    assert!((number(&message["a"]) - 2114.64e-6).abs() < 1e-12, "{message:#}");
    assert!((number(&message["b"]) - 1.42e-6).abs() < 1e-18, "{message:#}");
    let broadcast = graph("figure-10");
    assert_eq!(broadcast["whole"]["a_of"], "8 a_W + 3 a_C + 3 a_L");
    assert_eq!(broadcast["messages"].as_object().map(|all| all.len()), Some(10));
    assert_eq!(graph("figure-13")["whole"]["a_of"], "19 a_W + 4 a_C + 4 a_L");
    for name in ["figure-1", "figure-7"] {
        assert!(graph(name)["messages"]["m1"]["a"].is_number(), "{name}");
    }
    let wrong = file("[[block]]\nname = \"W\"\na = -1\nb = 0\n", ".toml");
    let (code, error) = fails(&["reduce", path(&wrong)]);
    assert!(code == Some(1) && error.contains("line 3: a = -1 is no time"), "{error}");
}

/// The book includes the papers' graphs in full: a reader that copies one gets what the files are.
#[test]
fn reduce__the_book_s_samples_are_the_files() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    let book = std::fs::read_to_string(format!("{docs}/models.md")).expect("the book");
    for number in [1, 7, 9, 10, 13] {
        let path = format!("../prp-model/graphs/figure-{number}.toml");
        assert!(std::fs::metadata(format!("{docs}/{path}")).is_ok(), "{path}");
        assert!(book.contains(&format!("```toml\n{{{{#include {path}}}}}\n```\n")), "{path}");
    }
}

#[test]
fn predict__by_a_graph_and_by_a_fit() {
    let graph = format!("{GRAPHS}/figure-10.toml");
    let answer = json(&["predict", &graph, "--size", "0", "--size", "1000000"]);
    let seconds = |at: usize| answer["predictions"][at]["seconds"].as_f64().expect("a time");
    assert!((seconds(0) - 8062.96e-6).abs() < 1e-9, "{answer:#}");
    // Large messages take what their bytes do: 2 1.42 + 1.84 + 2 2.76 us a byte.
    assert!((seconds(1) / 10.2 - 1.0).abs() < 0.01, "{answer:#}");
    let file = ping_pong(|n| 20e-6 + 10e-9 * n);
    let answer = json(&["predict", path(&file), "--model", "linear", "--size", "5000"]);
    let seconds = answer["predictions"][0]["seconds"].as_f64().expect("a time");
    assert!((seconds / 70e-6 - 1.0).abs() < 0.01, "{answer:#}");
    let over = ["predict", path(&file), "--model", "linear", "--size", "8", "--over", "2"];
    assert_eq!(fails(&over).0, Some(2));
    let over = ["explain", path(&file), "--model", "linear", "--over", "2"];
    assert_eq!(fails(&over).0, Some(2));
}

#[test]
fn compare__halves_a_graph_and_collectives() {
    let file = ping_pong(|n| 20e-6 + 10e-9 * n);
    let answer = json(&["compare", path(&file), "--model", "linear", "--model", "hyperbolic"]);
    let error = |at: usize| answer["models"][at]["median_error"].as_f64().expect("an error");
    assert_eq!(answer["models"][0]["model"], "linear");
    assert!(error(0) < 0.01 && error(1) > 0.02, "{answer:#}");
    // Section 4's workstations: pairs of them, and a broadcast that is 10 % slower than its model.
    let law = |pairs: u32, n: f64| {
        let (a, z) = (
            2.0 * 859.52e-6 + f64::from(pairs) * 345.6e-6,
            1.42e-6_f64.max(f64::from(pairs) * 0.92e-6) * n,
        );
        a * a / (a + z) + z
    };
    let rows = [1, 2, 4, 8].into_iter().flat_map(|pairs| sizes().map(move |n| (pairs, n)));
    let pairs = measured("pairs,bytes,seconds", rows.map(|(p, n)| (format!("{p},{n}"), law(p, n))));
    let flat = 12.0 * 859.52e-6 + 345.6e-6 - 859.52e-6;
    let patterns = format!("pattern,processes,bytes,seconds\nflat-broadcast,11,0,{}\n", flat / 1.1);
    let patterns = self::file(&patterns, ".csv");
    let answer = json(&["compare", path(&pairs), "--collectives", path(&patterns)]);
    let error = answer["patterns"][0]["median_error"].as_f64().expect("an error");
    assert!((error - 0.1).abs() < 0.01, "{answer:#}");
    let graph = format!("{GRAPHS}/figure-9.toml");
    let answer = json(&["compare", path(&file), "--graph", &graph]);
    assert!(answer["median_error"].is_number(), "{answer:#}");
}

/// Patterns of processes that share two processors: 5 us for a send or a receive, 10 ns a byte, and
/// nothing else.
fn played(patterns: &[&str]) -> NamedTempFile {
    let time = |pattern: &str, n: f64| match pattern {
        // Four sends and four receives.
        "pairs,8" => 20e-6 + 40e-9 * n,
        "pairs,4" | "pairs,2" => 10e-6 + if pattern == "pairs,4" { 20e-9 } else { 10e-9 } * n,
        _ => 20e-6 + 30e-9 * n,
    };
    let row = |pattern: &str, n: f64| (format!("{pattern},{n}"), time(pattern, n));
    let sizes = [1.0, 64.0, 1024.0, 65536.0, 262144.0].repeat(3);
    let rows = patterns.iter().flat_map(|pattern| sizes.iter().map(|n| row(pattern, *n)));
    measured("pattern,processes,bytes,seconds", rows)
}

#[test]
fn predict__processes_that_share_processors() {
    let graph = format!("{GRAPHS}/figure-10.toml");
    let seconds = |words: &[&str], size: &str| {
        let answer = json(&[&["predict", &graph, "--size", size], words].concat());
        (answer["predictions"][0]["seconds"].as_f64().expect("a time"), answer)
    };
    // A processor for each of the eleven, and one for all.
    let (alone, _) = seconds(&[], "1000");
    let (enough, answer) = seconds(&["--processors", "11"], "1000");
    assert_eq!((alone, answer["shared"]["switches"].as_u64()), (enough, Some(0)));
    let (one, answer) = seconds(&["--processors", "1"], "0");
    // Ten sends and ten receives.
    assert!(one >= 20.0 * 859.52e-6 - 1e-9, "{one}");
    assert!(answer["shared"]["a_of"].to_string().contains("20 a_W"), "{answer:#}");
    for wrong in ["0", "-1", "65537", "two"] {
        let (code, why) = fails(&["predict", &graph, "--size", "1", "--processors", wrong]);
        assert!(code == Some(2) && why.contains("--processors"), "{wrong}: {why}");
    }
}

#[test]
fn shared__is_fitted_predicts_and_is_compared() {
    let file = played(&["pairs,2", "pairs,4", "pairs,8", "flat-broadcast,4"]);
    let without = fails(&["fit", path(&file), "--model", "shared"]);
    assert!(without.0 == Some(2) && without.1.contains("--processors N"), "{without:?}");
    let on_two = ["--processors", "2", "--resamples", "19"];
    let answer = json(&[&["fit", path(&file), "--model", "shared"][..], &on_two].concat());
    assert_eq!(answer["model"], "shared");
    let o = answer["parameters"]["o"]["value"].as_f64().expect("a time");
    assert!((o / 5e-6 - 1.0).abs() < 0.2, "{answer:#}");
    let pattern = ["--pattern", "pairs", "--processes", "8", "--size", "1024"];
    let predict = ["predict", path(&file), "--model", "shared"];
    let answer = json(&[&predict[..], &on_two, &pattern].concat());
    let seconds = answer["predictions"][0]["seconds"].as_f64().expect("a time");
    assert!((seconds / 61e-6 - 1.0).abs() < 0.1, "{answer:#}");
    let odd = ["--pattern", "pairs", "--processes", "7", "--size", "1"];
    let (code, why) = fails(&[&predict[..], &on_two, &odd].concat());
    assert!(code == Some(2) && why.contains("no such pattern"), "{why}");
    let flat = played(&["flat-broadcast,4"]);
    let compare = ["compare", path(&file), "--collectives", path(&flat)];
    let answer = json(&[&compare[..], &on_two].concat());
    let error = |key: &str| answer["patterns"][0][key].as_f64().expect("an error");
    assert!(error("shared_median_error") < 0.1, "{answer:#}");
}

#[test]
fn explain__what_dominates_and_what_would_help() {
    let file = ping_pong(|n| 20e-6 + 10e-9 * n);
    let answer = json(&["explain", path(&file), "--model", "linear", "--size", "64"]);
    assert_eq!(answer["dominant"], "start of a message (alpha)");
    assert!(answer["would_help"].to_string().contains("larger messages"), "{answer:#}");
    let large = json(&["explain", path(&file), "--model", "linear", "--size", "1000000"]);
    assert_eq!(large["dominant"], "its bytes (beta n)");
    assert!(large["would_help"].to_string().contains("another transport"), "{large:#}");
    // One of them is another transport of the same measurement, with its number.
    let point = |size: u32, micros: f64| {
        format!(r#"{{"size": {size}, "p50_us": {{"rounds": [{micros}, {}]}}}}"#, micros * 1.01)
    };
    let points = |start: f64| {
        let all = [0, 64, 1024, 16384].map(|n| point(n, start + 0.01 * f64::from(n)));
        all.join(",")
    };
    let text = format!(
        r#"{{"command": "sweep", "results": {{"prp": [{}], "tcp": [{}]}}}}"#,
        points(5.0),
        points(15.0)
    );
    let sweep = self::file(&text, ".json");
    let answer = json(&["explain", path(&sweep), "--model", "linear", "--size", "0"]);
    assert!(answer["would_help"].to_string().contains("tcp takes 15."), "{answer:#}");
}

#[test]
fn export__in_every_form() {
    let file = ping_pong(|n| 20e-6 + 10e-9 * n);
    let export = |form: &str| out(&["export", path(&file), "--model", "linear", form]);
    assert!(export("--simgrid").starts_with("<?xml"));
    let words = ["export", path(&file), "--model", "linear", "--simgrid", "--processors", "6"];
    assert!(out(&words).contains(" core=\"6\""));
    assert!(export("--loggopsim").contains("\nLogGOPSim -f SCHEDULE.bin -L "));
    assert!(export("--latex").starts_with(r"\["));
    assert!(export("--python").starts_with("def seconds(size, hops=0):"));
    assert_eq!(fails(&["export", path(&file)]).0, Some(2));
    assert_eq!(fails(&["export", path(&file), "--latex", "--python"]).0, Some(2));
}

#[test]
fn usage__is_2() {
    for args in [
        &[][..],
        &["fit"],
        &["fit", "x.csv", "--model", "cubic"],
        &["fit", "x.csv", "--live", "beta"],
        &["fit", "x.csv", "--resamples", "18"],
        &["gain"],
        &["gain", "--software", "0", "--hardware", "1"],
        &["gain", "--software", "1..2", "--hardware", "1"],
        &["gain", "--software", "1", "--hardware", "1", "--fraction", "2"],
        &["gain", "--software", "1", "--hardware", "1", "--messages", "p"],
        &["predict", "x.toml"],
        &["collective", "--rank", "0"],
    ] {
        assert_eq!(fails(args).0, Some(2), "{args:?}");
    }
}

/// Ports that are free now.
fn ports(count: usize) -> Vec<u16> {
    let all: Vec<_> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port")).collect();
    all.iter().map(|door| door.local_addr().expect("its address").port()).collect()
}

/// Four processes play all patterns over the loopback's TCP; process 0 tells a line for each
/// measurement.
#[test]
fn collective__four_processes_over_tcp() {
    let list: Vec<String> = ports(4).iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let addresses = list.join(",");
    let process = |rank: usize| -> Child {
        let rank = rank.to_string();
        let patterns = "tree-broadcast,flat-broadcast,reduction,neighbours,pairs";
        let args = [
            "collective",
            "--transport",
            "tcp",
            "--rank",
            &rank,
            "--addresses",
            &addresses,
            "--pattern",
            patterns,
            "--processes",
            "2,4",
            "--bytes",
            "1,1000",
            "--rounds",
            "2",
        ];
        command(&args).stdout(Stdio::piped()).spawn().expect("the program can be run")
    };
    let mut all: Vec<Child> = (0..4).map(process).collect();
    let output = all.remove(0).wait_with_output().expect("an end");
    assert!(output.status.success());
    for mut other in all {
        assert!(other.wait().expect("an end").success());
    }
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "pattern,processes,bytes,seconds");
    // Five patterns but for neighbours among two, two sizes, two rounds.
    assert_eq!(lines.len() - 1, 9 * 2 * 2, "{text}");
    for line in &lines[1..] {
        let seconds: f64 = line.rsplit(',').next().and_then(|s| s.parse().ok()).expect("a time");
        assert!(seconds > 0.0, "{line}");
    }
}
