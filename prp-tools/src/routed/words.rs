//! What the daemon says, for people.

use prp_routed::report::{Hop, KernelStatus};
use serde_json::{Map, Value};

use super::table;

/// The text of `value`: where it has hops or the like, those in words.
pub(super) fn render(mut value: Value) -> String {
    match &mut value {
        Value::Array(rows) => rows.iter_mut().for_each(route),
        Value::Object(map) => {
            status(map);
            if let Some(Value::Array(rows)) = map.get_mut("changes") {
                rows.iter_mut().for_each(change);
            }
        }
        _ => {}
    }
    table::render(&value)
}

/// The next hops of a route, or why there are none.
fn route(row: &mut Value) {
    let Value::Object(row) = row else { return };
    let Some(route) = row.remove("route") else { return };
    let why = row.remove("why");
    let words = match (route.as_str(), row.get("next_hops")) {
        (Some("via"), Some(list)) => hops(list),
        (Some("none"), _) => {
            format!("none: {}", why.as_ref().and_then(Value::as_str).unwrap_or("-"))
        }
        (other, _) => other.unwrap_or("-").to_owned(),
    };
    row.insert("next_hops".into(), words.into());
}

/// Next hops before and after.
fn change(row: &mut Value) {
    let Value::Object(row) = row else { return };
    for key in ["before", "after"] {
        let words = row.get(key).map(hops);
        row.extend(words.map(|words| (key.to_owned(), words.into())));
    }
}

fn hops(list: &Value) -> String {
    let hops: Vec<Hop> = serde_json::from_value(list.clone()).unwrap_or_default();
    hops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What the kernel refused to send by a device, by its error.
fn refusals(device: &mut Value) {
    let Some(refused) = device.get_mut("refused") else { return };
    let Value::Object(counts) = &*refused else { return };
    let word = |(name, frames): (&String, &Value)| {
        format!("{} {frames}", name.strip_prefix("refused_").unwrap_or(name))
    };
    let words: Vec<_> = counts.iter().map(word).collect();
    *refused = if words.is_empty() { Value::Null } else { words.join(", ").into() };
}

fn status(map: &mut Map<String, Value>) {
    if let Some(Value::Array(devices)) = map.get_mut("devices") {
        devices.iter_mut().for_each(refusals);
    }
    let Some(kernel) = map.get_mut("kernel_forwarding") else { return };
    if let Ok(status) = serde_json::from_value::<KernelStatus>(kernel.clone()) {
        *kernel = status.to_string().into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn render__hops_in_words() {
        let hop = json!({"node": 2, "mac": "02:00:00:00:00:02", "device": "eth0", "metric": 0, "mtu": null});
        let backup = json!({"node": 3, "mac": "02:00:00:00:00:03", "device": "eth1", "metric": 7, "mtu": 1400});
        let routes = json!([
            {"node": 1, "name": "a", "route": "local", "next_hops": [], "why": null},
            {"node": 2, "name": null, "route": "via", "next_hops": [hop, backup], "why": null},
            {"node": 9, "name": null, "route": "none", "next_hops": [], "why": "prphosts has no line for it"},
        ]);
        assert_eq!(
            render(routes),
            "node  name  next hops\n\
             1     a     local\n\
             2     -     2 02:00:00:00:00:02 eth0, 3 02:00:00:00:00:03 eth1 metric 7 mtu 1400\n\
             9     -     none: prphosts has no line for it\n"
        );
        let reload =
            json!({"applied": false, "changes": [{"node": 2, "before": [], "after": [hop]}]});
        assert!(
            render(reload)
                .contains("\nnode  before  after\n2             2 02:00:00:00:00:02 eth0\n")
        );
    }

    #[test]
    fn render__what_was_refused_by_its_error() {
        let device = |refused| json!({"device": "eth0", "refused": refused});
        let refused = json!({"refused_eperm": 3, "refused_enobufs": 1});
        let status = json!({"node": 1, "devices": [device(json!({})), device(refused)]});
        let text = render(status);
        assert!(text.contains("eth0    -\neth0    "), "{text}");
        assert!(text.contains("eperm 3") && text.contains("enobufs 1"), "{text}");
    }

    #[test]
    fn render__the_kernels_part_in_a_line() {
        let status = json!({"node": 1, "kernel_forwarding": {"active": true, "why_not": null, "not_from": ["eth0"]}});
        assert!(render(status).contains("kernel_forwarding  yes, but for what comes by eth0\n"));
    }
}
