//! The dashboard for Grafana asks for metrics that prp-routed has.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeSet;

use serde_json::Value;

const DASHBOARD: &str = include_str!("../../etc/grafana/prp-routed.json");
const METRICS: &str = include_str!("../../prp-routed/src/metrics.rs");

/// What stands before every name.
const PREFIX: &str = "prp_routed_";

/// The metrics that a query names, without the prefix and what is added to counters.
fn names(query: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let after = query.split(PREFIX).skip(1);
    let names = after.map(|rest| rest.split(|c| !is_part(c)).next().unwrap_or_default());
    names.map(|name| name.strip_suffix("_total").unwrap_or(name)).collect()
}

#[test]
fn dashboard__asks_for_metrics_that_there_are() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(!panels.is_empty());
    for panel in panels {
        for target in panel["targets"].as_array().expect("queries") {
            let query = target["expr"].as_str().expect("a query");
            let names = names(query);
            assert!(!names.is_empty(), "{query} names no metric");
            for name in names {
                let registered = METRICS.contains(&format!("\"{name}\""));
                assert!(registered, "{}: prp-routed has no {name}", panel["title"]);
            }
        }
    }
}

#[test]
fn names__of_counters_and_gauges() {
    let query = "sum by (a) (rate(prp_routed_reloads_total{b=~\"$c\"}[1m])) or prp_routed_up == 0";
    assert_eq!(names(query), ["reloads", "up"].into());
}
