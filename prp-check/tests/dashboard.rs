//! The dashboards for Grafana ask for metrics that there are.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeSet;

use prp_proto::stats::EndpointStats;
use serde_json::Value;

const ROUTER: &str = include_str!("../../etc/grafana/prp-routed.json");
const ROUTER_METRICS: &str = include_str!("../../prp-routed/src/metrics.rs");
const ROUTER_COUNTERS: &str = include_str!("../../prp-routed/src/counters.rs");
const PROCESSES: &str = include_str!("../../etc/grafana/prp-processes.json");
const PROCESS_METRICS: &str = include_str!("../../prp-node/src/status/openmetrics.rs");
const DEVICE_COUNTERS: &str = include_str!("../../prp-sock/src/stats.rs");

/// The metrics that a query names, without what is added to counters.
fn names(query: &str) -> BTreeSet<&str> {
    let words = query.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    let names = words.filter(|word| word.starts_with("prp_"));
    names.map(|name| name.strip_suffix("_total").unwrap_or(name)).collect()
}

/// Whether `source` has `name` as a text of its own.
fn has(source: &str, name: &str) -> bool {
    source.contains(&format!("\"{name}\""))
}

fn is_metric_of_router(name: &str) -> bool {
    let sources = [ROUTER_METRICS, ROUTER_COUNTERS];
    let name = name.strip_prefix("prp_routed_");
    name.is_some_and(|name| sources.iter().any(|source| has(source, name)))
}

fn is_metric_of_process(name: &str) -> bool {
    let counters: BTreeSet<_> = EndpointStats::default().counters().map(|(name, _)| name).collect();
    has(PROCESS_METRICS, name)
        || name.strip_prefix("prp_").is_some_and(|name| counters.contains(name))
        || name.strip_prefix("prp_device_").is_some_and(|name| has(DEVICE_COUNTERS, name))
}

fn check(dashboard: &str, is_metric: impl Fn(&str) -> bool) {
    let dashboard: Value = serde_json::from_str(dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("queries"));
    let queries = targets.map(|target| &target["expr"]);
    let choices = dashboard["templating"]["list"].as_array().expect("variables").iter();
    let choices = choices.filter(|v| v["type"] == "query").map(|variable| &variable["query"]);
    for query in queries.chain(choices) {
        let query = query.as_str().expect("a query");
        let names = names(query);
        assert!(!names.is_empty(), "{query} names no metric");
        names.iter().for_each(|name| assert!(is_metric(name), "there is no {name}: {query}"));
    }
    assert!(!panels.is_empty());
}

#[test]
fn dashboard__of_the_router_asks_for_metrics_that_there_are() {
    check(ROUTER, is_metric_of_router);
}

#[test]
fn dashboard__of_processes_asks_for_metrics_that_there_are() {
    check(PROCESSES, is_metric_of_process);
}

#[test]
fn names__of_counters_and_gauges() {
    let query =
        "sum by (a) (rate(prp_routed_reloads_total{b=~\"$c\"}[1m])) or prp_connections == 0";
    assert_eq!(names(query), ["prp_connections", "prp_routed_reloads"].into());
    assert!(is_metric_of_router("prp_routed_reloads") && is_metric_of_process("prp_connections"));
    assert!(!is_metric_of_router("prp_routed_load") && !is_metric_of_process("prp_device_load"));
}
