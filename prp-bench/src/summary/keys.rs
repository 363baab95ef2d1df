//! The figures under the names by which runs are compared. Add names, never change one.

use serde_json::{Map, Value, json};

use super::runs::Runs;

/// Everything there is, as nested objects: `latency_us.prp.block.64` is a number in three objects.
pub(super) fn all(runs: &Runs) -> Value {
    let mut keys = Map::new();
    let mut put = |path: &str, value: Option<f64>| {
        if let Some(value) = value {
            insert(&mut keys, path, json!(value));
        }
    };
    for size in [64, 1024, 8192] {
        for wait in ["block", "spin", "adaptive"] {
            for transport in ["prp", "tcp", "raw"] {
                let path = format!("results.{transport}.p50_us.median");
                let value = runs.number(&format!("latency.{wait}.{size}"), &path);
                put(&format!("latency_us.{transport}.{wait}.{size}"), value);
            }
        }
    }
    for mtu in [1500, 9000, 65535] {
        for transport in ["prp", "tcp", "tcp_no_offload", "tcp_no_segmentation", "raw"] {
            let value = runs.number(&format!("stream.mtu{mtu}"), &gbps(transport));
            put(&format!("goodput_gbps.mtu{mtu}.{transport}"), value);
        }
    }
    for transport in ["prp", "tcp"] {
        for rate in [100, 1000] {
            let value = runs.number(&format!("stream.rate{rate}"), &gbps(transport));
            put(&format!("goodput_mbps.rate{rate}.{transport}"), value.map(|v| v * 1e3));
        }
        let path = format!("results.{transport}.per_s.median");
        put(&format!("connects_per_s.{transport}"), runs.number("connect", &path));
        let value = runs.number("stream.loss1", &gbps(transport));
        put(&format!("loss1pct_goodput_gbps.{transport}"), value);
        for streams in [16, 256] {
            let value = runs.median(&format!("stream.streams{streams}"), &gbps(transport));
            put(&format!("streams{streams}_goodput_gbps.{transport}"), value);
        }
        let path = format!("results.{transport}.p50_us.median");
        put(&format!("one_core_latency_us.{transport}"), runs.number("latency.onecore", &path));
        for wait in ["adaptive", "block"] {
            let value = runs.number(&format!("latency.busy.{wait}"), &path);
            put(&format!("busy_latency_us.{transport}.{wait}"), value);
        }
    }
    udp(runs, &mut put);
    for transport in ["prp", "tcp_no_offload", "tcp_no_segmentation"] {
        let path = format!("results.{transport}.cpu_s_per_gb");
        put(&format!("cpu_s_per_gb.{transport}"), runs.number("stream.mtu1500", &path));
    }
    for transport in ["prp", "tcp", "tcp_no_offload"] {
        let figures = [
            ("beside_latency_us", "p50_us.median"),
            ("beside_latency_p99_us", "p99_us"),
            ("beside_goodput_gbps", "beside_gbps.median"),
        ];
        for (name, figure) in figures {
            let value = runs.number("latency.beside", &format!("results.{transport}.{figure}"));
            put(&format!("{name}.{transport}"), value);
        }
    }
    put("ports31_goodput_gbps.prp", runs.median("stream.ports31", &gbps("prp")));
    let mut machine = runs.machine("client").cloned().unwrap_or(Value::Null);
    if let (Value::Object(machine), Some(stolen)) = (&mut machine, runs.stolen()) {
        machine.insert("stolen".into(), stolen.into());
    }
    keys.insert("machine".into(), machine);
    Value::Object(keys)
}

/// Those of the bench's part `udp`.
fn udp(runs: &Runs, put: &mut impl FnMut(&str, Option<f64>)) {
    for size in [64, 1024, 8192, 65536] {
        for wait in ["block", "spin", "adaptive"] {
            let value =
                runs.number(&format!("udp.latency.{wait}.{size}"), "results.prp.p50_us.median");
            put(&format!("latency_us.prp_udp.{wait}.{size}"), value);
        }
    }
    for mtu in [1400, 1499, 1500, 9000] {
        let value = runs.number(&format!("udp.stream.mtu{mtu}"), &gbps("prp"));
        put(&format!("goodput_gbps.mtu{mtu}.prp_udp"), value);
    }
    for (name, transport) in [("prp_udp", "prp"), ("tcp", "tcp")] {
        let value = runs.number("udp.stream.cut", &gbps(transport));
        put(&format!("cut_goodput_gbps.{name}"), value);
        let path = format!("results.{transport}.cpu_s_per_gb");
        put(&format!("cpu_s_per_gb.{name}"), runs.number("udp.stream.mtu1500", &path));
    }
}

/// Where a stream's goodput is.
pub(super) fn gbps(transport: &str) -> String {
    format!("results.{transport}.gbps.median")
}

/// Puts `value` at `path`, making the objects that hold it.
pub(super) fn insert(object: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(object.insert(path.to_owned(), value)),
        Some((key, rest)) => {
            let inner = object.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(prp: f64, tcp: f64) -> Value {
        let p50 = |us: f64| json!({"p50_us": {"median": us}});
        json!({"results": {"prp": p50(prp), "tcp": p50(tcp), "raw": p50(1.5)}, "client": {"cores": 2}})
    }

    fn stream(prp: f64, tcp: f64) -> Value {
        let goodput = |gbps: f64| json!({"gbps": {"median": gbps}, "cpu_s_per_gb": 2.5});
        let results = json!({
            "prp": goodput(prp), "tcp": goodput(tcp), "tcp_no_offload": goodput(4.0), "raw": goodput(7.0)
        });
        json!({ "results": results })
    }

    /// The names that others rely on.
    #[test]
    fn all__has_the_names_agreed_on() {
        let rate = |per_s: f64| json!({"per_s": {"median": per_s}});
        let mut runs = vec![
            ("connect".to_owned(), json!({"results": {"prp": rate(2e4), "tcp": rate(1e4)}})),
            ("stream.loss1".to_owned(), stream(1.0, 2.0)),
        ];
        for name in ["mtu1500", "mtu9000", "mtu65535", "rate100", "rate1000"] {
            runs.push((format!("stream.{name}"), stream(6.0, 20.0)));
        }
        for (n, gbps) in [5.0, 7.0, 6.0].into_iter().enumerate() {
            runs.push((format!("stream.streams16.{}", n + 1), stream(gbps, 9.0)));
            runs.push((format!("stream.streams256.{}", n + 1), stream(gbps, 9.0)));
        }
        for wait in ["block", "spin"] {
            for size in [64, 1024, 8192] {
                runs.push((format!("latency.{wait}.{size}"), latency(3.0, 6.0)));
            }
            runs.push((format!("udp.latency.{wait}.65536"), latency(30.0, 60.0)));
        }
        for name in ["mtu1400", "mtu1500", "cut"] {
            runs.push((format!("udp.stream.{name}"), stream(12.0, 15.0)));
        }
        for name in ["onecore", "busy.adaptive", "busy.block"] {
            runs.push((format!("latency.{name}"), latency(8.0, 9.0)));
        }
        let beside =
            json!({"p50_us": {"median": 8.5}, "p99_us": 50.0, "beside_gbps": {"median": 4.5}});
        runs.push(("latency.beside".to_owned(), json!({"results": {"prp": beside}})));
        let runs = Runs::of(runs.iter().map(|(name, run)| (name.as_str(), run.clone())));
        let all = all(&runs);
        let wanted = [
            ("one_core_latency_us.prp", 8.0),
            ("beside_latency_us.prp", 8.5),
            ("beside_latency_p99_us.prp", 50.0),
            ("beside_goodput_gbps.prp", 4.5),
            ("busy_latency_us.prp.adaptive", 8.0),
            ("busy_latency_us.tcp.block", 9.0),
            ("latency_us.prp.block.64", 3.0),
            ("latency_us.tcp.block.1024", 6.0),
            ("latency_us.prp.spin.8192", 3.0),
            ("latency_us.raw.spin.64", 1.5),
            ("goodput_gbps.mtu1500.prp", 6.0),
            ("goodput_gbps.mtu9000.tcp", 20.0),
            ("goodput_gbps.mtu65535.tcp_no_offload", 4.0),
            ("goodput_gbps.mtu1500.raw", 7.0),
            ("goodput_mbps.rate100.prp", 6000.0),
            ("goodput_mbps.rate1000.tcp", 20000.0),
            ("connects_per_s.prp", 2e4),
            ("connects_per_s.tcp", 1e4),
            ("latency_us.prp_udp.spin.65536", 30.0),
            ("goodput_gbps.mtu1500.prp_udp", 12.0),
            ("goodput_gbps.mtu1400.prp_udp", 12.0),
            ("cut_goodput_gbps.prp_udp", 12.0),
            ("cut_goodput_gbps.tcp", 15.0),
            ("cpu_s_per_gb.prp_udp", 2.5),
            ("cpu_s_per_gb.tcp", 2.5),
            ("cpu_s_per_gb.prp", 2.5),
            ("cpu_s_per_gb.tcp_no_offload", 2.5),
            ("loss1pct_goodput_gbps.prp", 1.0),
            ("loss1pct_goodput_gbps.tcp", 2.0),
            ("streams16_goodput_gbps.prp", 6.0),
            ("streams256_goodput_gbps.tcp", 9.0),
        ];
        for (path, value) in wanted {
            let found = all.pointer(&format!("/{}", path.replace('.', "/")));
            assert_eq!(found.and_then(Value::as_f64), Some(value), "{path}");
        }
        assert_eq!(all["machine"]["cores"], 2);
    }

    #[test]
    fn all__tells_what_was_stolen_over_all_runs() {
        let run = |stolen: f64| {
            let mut run = latency(3.0, 6.0);
            run["stolen"] = stolen.into();
            run
        };
        let runs = Runs::of([("latency.block.64", run(0.5)), ("latency.spin.64", run(0.25))]);
        assert_eq!(all(&runs)["machine"], json!({"cores": 2, "stolen": 0.375}));
    }

    #[test]
    fn all__leaves_out_what_was_not_run() {
        let runs = Runs::of([("latency.block.64", latency(3.0, 6.0))]);
        let all = all(&runs);
        let names: Vec<_> = all.as_object().expect("an object").keys().collect();
        assert_eq!(names, ["latency_us", "machine"]);
    }
}
