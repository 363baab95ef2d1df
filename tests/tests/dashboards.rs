//! The dashboards for Grafana ask for metrics that prp-routed and processes give.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeSet;

use prp_tests::program::{finish, prp};
use prp_tests::puppet::Puppet;
use prp_tests::router::Router;
use prp_tests::topology::{Node, Topology};
use serde_json::Value;

prp_tests::main! {
    light:
        dashboard__of_routers,
        dashboard__of_processes;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");

/// The queries of a dashboard, of panels and of choices.
fn queries(dashboard: &str) -> Vec<String> {
    let dashboard: Value = serde_json::from_str(dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("queries"));
    let choices = dashboard["templating"]["list"].as_array().expect("variables").iter();
    let choices = choices.filter(|variable| variable["type"] == "query");
    let queries = targets.map(|target| &target["expr"]);
    let queries = queries.chain(choices.map(|variable| &variable["query"]));
    queries.map(|query| query.as_str().expect("a query").to_owned()).collect()
}

/// The names that the samples of metrics have, by the lines that tell their types.
fn samples(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let name = |(name, kind): (&str, &str)| {
        if kind == "counter" { format!("{name}_total") } else { name.to_owned() }
    };
    types.map(name).collect()
}

/// Expect: each query names metrics, and what `words` print on `node` has all of them.
fn check(dashboard: &str, node: &Node<'_>, words: &[&str]) {
    let mut command = node.command(prp(ROUTED));
    command.args(words);
    let (code, text, why) = finish(command);
    assert_eq!(code, Some(0), "{why}");
    let samples = samples(&text);
    for query in queries(dashboard) {
        let words = query.split(|c: char| !c.is_ascii_lowercase() && c != '_');
        let names: Vec<_> = words.filter(|word| word.starts_with("prp_")).collect();
        assert!(!names.is_empty(), "{query}");
        for name in names {
            assert!(samples.contains(name), "there is no {name}: {query}: {text}");
        }
    }
}

fn dashboard__of_routers() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let _router = Router::start(&node, ROUTED);
    check(include_str!("../../etc/grafana/prp-routed.json"), &node, &["routed", "metrics"]);
}

fn dashboard__of_processes() {
    let topology = Topology::pair();
    let [mut server, mut client] =
        [2, 1].map(|number| Puppet::start(&topology.node(number), PUPPET));
    server.ok("listen l 2:80");
    client.ok("connect s 2:80");
    let dashboard = include_str!("../../etc/grafana/prp-processes.json");
    check(dashboard, &topology.node(1), &["stat", "--openmetrics"]);
}
