use serde_json::{Value, json};

use super::*;

fn latency(us: f64) -> Value {
    let one =
        |us: f64| json!({"p50_us": {"median": us}, "distribution": [[0.5, us], [0.99, 2.0 * us]]});
    json!({"results": {"prp": one(us), "tcp": one(3.0 * us), "raw": one(us / 2.0)}})
}

fn runs() -> Runs {
    let point = |size: u32, us: f64| json!({"size": size, "p50_us": {"median": us}});
    let points = json!([point(0, 1.0), point(1, 1.0), point(1024, 2.0)]);
    let goodput = json!({"gbps": {"median": 6.0}});
    Runs::of([
        ("sweep.mtu1500", json!({"results": {"prp": points, "tcp": points}})),
        ("stream.mtu1500", json!({"results": {"prp": goodput, "raw": goodput}})),
        ("latency.adaptive.64", latency(3.0)),
        ("latency.block.64", latency(20.0)),
        ("latency.spin.64", latency(2.0)),
    ])
}

#[test]
fn all__draws_what_there_is() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    all(&runs(), dir.path()).expect("drawn");
    for (name, _) in PLOTS {
        let text = std::fs::read_to_string(dir.path().join(name)).expect("a plot");
        assert!(text.starts_with("<svg") && text.contains("PRP"), "{name}: {text:.200}");
    }
}

#[test]
fn all__draws_nothing_of_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    all(&Runs::of([]), dir.path()).expect("nothing to do");
    assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 0);
}

#[test]
fn breakdown__adds_up_to_the_blocking_latency() {
    let text = format!("{:?}", breakdown::parts(&runs()));
    assert_eq!(
        text,
        "[LatencyParts { name: \"PRP\", device: 1.0, protocol: 1.0, waking: 18.0 }, \
         LatencyParts { name: \"TCP\", device: 0.0, protocol: 6.0, waking: 54.0 }]"
    );
}
