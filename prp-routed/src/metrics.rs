//! Counters as text for Prometheus.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::counters::{self, Total};
use crate::neighbours::Neighbours;
use crate::report;
use crate::router::Router;

type Labels = Vec<(&'static str, String)>;

/// The text.
pub fn text(
    router: &mut Router,
    neighbours: &Neighbours,
    processes: usize,
    reloads: u64,
) -> String {
    let mut registry = Registry::with_prefix("prp_routed");
    totals(&mut registry, router, reloads);
    drops(&mut registry, router);
    devices(&mut registry, router);
    let usable: Family<Labels, Gauge> = Family::default();
    for neighbour in neighbours.iter() {
        let node = ("node", neighbour.hop.node.to_string());
        let labels = vec![node, ("mac", neighbour.station.to_string())];
        usable.get_or_create(&labels).set(i64::from(neighbour.usable));
    }
    registry.register("neighbour_usable", "Whether frames are sent to a neighbour", usable);
    let registered: Gauge = Gauge::default();
    registered.set(i64::try_from(processes).unwrap_or(i64::MAX));
    registry.register("registered_processes", "Processes that have registered", registered);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    in_order(&text)
}

/// The same lines, those of one metric by their labels: the registry has them in an order that
/// changes.
fn in_order(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let name = |line: &&str| line.split(['{', ' ']).next().map(str::to_owned);
    lines.chunk_by_mut(|a, b| name(a) == name(b)).for_each(|metric| {
        if !metric[0].starts_with('#') {
            metric.sort_unstable();
        }
    });
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn counter(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let counter: Counter = Counter::default();
    counter.inc_by(value);
    registry.register(name, help, counter);
}

fn totals(registry: &mut Registry, router: &Router, reloads: u64) {
    for Total { metric, help, value, .. } in counters::of_router(router) {
        counter(registry, metric, help, value);
    }
    for (name, value) in counters::of_udp(router).into_iter().flatten() {
        let help = format!("Of the UDP device: {}", name.replace('_', " "));
        counter(registry, &format!("udp_{name}"), &help, value);
    }
    counter(registry, "reloads", "Times prphosts was put in force again", reloads);
}

fn drops(registry: &mut Registry, router: &Router) {
    let family: Family<Labels, Counter> = Family::default();
    for (why, count) in router.forwarder.stats().drops.iter() {
        family.get_or_create(&vec![("reason", why.name().to_owned())]).inc_by(count);
    }
    registry.register("dropped_frames", "Frames dropped, by reason", family);
}

fn devices(registry: &mut Registry, router: &mut Router) {
    let family = Family::<Labels, Counter>::default;
    let (received, sent) = (family(), family());
    let (overruns, dropped, refused) = (family(), family(), family());
    let other_vlan = family();
    for device in report::devices(router) {
        let labels = vec![("device", device.device)];
        for (name, count) in device.refused {
            let error = name.strip_prefix("refused_").unwrap_or(name).to_owned();
            let labels = [labels.clone(), vec![("error", error)]].concat();
            refused.get_or_create(&labels).inc_by(count);
        }
        received.get_or_create(&labels).inc_by(device.received);
        sent.get_or_create(&labels).inc_by(device.sent);
        overruns.get_or_create(&labels).inc_by(device.overruns);
        dropped.get_or_create(&labels).inc_by(device.dropped);
        other_vlan.get_or_create(&labels).inc_by(device.other_vlan);
    }
    registry.register("device_received_frames", "Frames received for the router", received);
    registry.register("device_sent_frames", "Frames sent", sent);
    let help = "Frames lost because the receiving ring was full";
    registry.register("device_overruns", help, overruns);
    let help = "Frames lost because the device took no more, or refused by the kernel";
    registry.register("device_dropped", help, dropped);
    let help = "Those of them that the kernel refused to send, by its error";
    registry.register("device_refused", help, refused);
    let help = "Frames of VLANs that prphosts does not name of a device that has one, not taken";
    registry.register("device_other_vlan", help, other_vlan);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order__lines_of_one_metric_stay_together_and_by_their_labels() {
        let text = "# HELP b B.\n# TYPE b counter\nb{r=\"2\"} 5\nb{r=\"1\"} 7\n# HELP a A.\n# TYPE a gauge\n\
                    a{x=\"z\"} 1\na{x=\"y\"} 2\n# EOF\n";
        let ordered = "# HELP b B.\n# TYPE b counter\nb{r=\"1\"} 7\nb{r=\"2\"} 5\n# HELP a A.\n# TYPE a gauge\n\
                       a{x=\"y\"} 2\na{x=\"z\"} 1\n# EOF\n";
        assert_eq!(in_order(text), ordered);
    }
}
