//! The router of this node: whether it runs, and what it says.

use std::io::{self, ErrorKind};

use prp_device::UdpCounters;
use prp_node::RunDir;
use prp_node::explained::{ExplainedError, Explanation};
use prp_routed::control::ask;
use prp_routed::report::Question;
use serde_json::Value;

use super::finding::{Finding, Kind};
use super::key;

/// What is to be said of the routers of this network namespace.
pub(super) fn findings() -> Vec<Finding> {
    let dir = RunDir::in_force();
    match dir.check() {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            let fix = "make it again as root, or set PRP_RUN_DIR to a directory of this user";
            let cause = format!("{e}: no program believes a prp-routed there");
            return vec![Finding::warning(Kind::RunDir, cause, fix)];
        }
        _ => {}
    }
    let nodes = dir.running();
    if nodes.is_empty() {
        let cause = "no prp-routed runs here: closed ports do not refuse, `prp ping` is not \
                     answered, and peers of killed processes wait for a timeout";
        return vec![Finding::note(Kind::NoRouter, cause, "`systemctl enable --now prp-routed`")];
    }
    let status = |node| ask(&dir, node, &Question::Status);
    let used = key::read().ok().flatten().map(|keys| keys.used().id());
    let of_answer = |answer| match answer {
        Ok(status) => {
            let of_key = used.and_then(|used| key::of_router(&status, used));
            of_status(&status).into_iter().chain(of_key).collect()
        }
        Err(e) => vec![of_silence(&e)],
    };
    nodes.into_iter().map(status).flat_map(of_answer).collect()
}

/// That a router was asked, and has not answered: what `error` says of that.
fn of_silence(error: &io::Error) -> Finding {
    let (cause, fix) = match ExplainedError::within(error) {
        [Explanation { cause, fix: Some(fix), .. }, ..] => (cause.clone(), fix.clone()),
        _ => (error.to_string(), "start prp-routed again".to_owned()),
    };
    Finding::warning(Kind::RouterSilent, cause, &fix)
}

/// What the status of a router has that is not as it should be.
fn of_status(status: &Value) -> Vec<Finding> {
    let trouble = |text: &str| {
        // As it prints what it has found.
        let (cause, fix) = text.split_once("; ").unwrap_or((text, "`prp routed status`"));
        Finding::warning(Kind::Router, format!("prp-routed says: {cause}"), fix)
    };
    let error = status["last_error"].as_str().map(|error| {
        let stated = status["last_error_fix"].as_str();
        // It says at its end what to do.
        let end = stated.map(|fix| format!("; {fix}")).unwrap_or_default();
        let error = error.strip_suffix(&end).unwrap_or(error);
        let cause = format!("prp-routed goes by an earlier prphosts: {error}");
        let fix = stated.unwrap_or("fix that, then `prp routed reload`");
        Finding::warning(Kind::RouterHosts, cause, fix)
    });
    let troubles = status["troubles"].as_array().into_iter().flatten();
    let troubles = troubles.filter_map(Value::as_str).map(trouble);
    error.into_iter().chain(troubles).chain(of_drops(status)).collect()
}

/// What the router has dropped since it started, by the names that its counters have everywhere.
fn of_drops(status: &Value) -> Option<Finding> {
    let count = |(name, value): (&String, &Value), place: &str| {
        let number = value.as_u64().filter(|number| *number > 0)?;
        (!UdpCounters::is_traffic(name)).then(|| format!("{place}{name} {number}"))
    };
    let object = |key: &str| status[key].as_object().into_iter().flatten();
    let reasons = object("dropped").filter_map(|counter| count(counter, ""));
    let udp = object("udp").filter_map(|counter| count(counter, "udp "));
    let devices = status["devices"].as_array().into_iter().flatten().flat_map(|device| {
        let name = device["device"].as_str().unwrap_or("?");
        let counters = device.as_object().into_iter().flatten();
        let drops = counters.filter(|(key, _)| ["overruns", "dropped"].contains(&key.as_str()));
        drops.filter_map(move |counter| count(counter, &format!("{name} ")))
    });
    let all: Vec<_> = reasons.chain(devices).chain(udp).collect();
    (!all.is_empty()).then(|| {
        let cause = format!("prp-routed has counted since its start: {}", all.join(", "));
        let fix = "`prp routed counters --watch` has what still grows";
        Finding::note(Kind::RouterDrops, cause, fix)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_status__has_errors_and_troubles() {
        assert_eq!(of_status(&json!({ "last_error": null, "troubles": [] })), []);
        let status = json!({
            "last_error": "h:1:2: expected a node",
            "troubles": ["eth1 is down; `ip link set eth1 up`"],
        });
        let found = of_status(&status);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].cause.contains("h:1:2") && found[1].cause.ends_with("eth1 is down"));
        assert_eq!(found[1].fix.as_deref(), Some("`ip link set eth1 up`"));
    }

    #[test]
    fn of_status__every_drop_is_in_a_note() {
        let status = json!({
            "dropped": { "bad_source": 2, "no_route": 0 },
            "devices": [{ "device": "eth0", "sent": 9, "overruns": 3, "dropped": 4 }],
            "udp": { "strangers": 5, "gso_batches_sent": 6, "too_short": 0 },
        });
        let found = of_status(&status);
        assert_eq!(found.len(), 1, "{found:?}");
        let (_, counters) = found[0].cause.split_once(": ").expect("counters");
        let mut counters: Vec<_> = counters.split(", ").collect();
        counters.sort_unstable();
        let expected = ["bad_source 2", "eth0 dropped 4", "eth0 overruns 3", "udp strangers 5"];
        assert_eq!((found[0].kind, &counters[..]), (Kind::RouterDrops, &expected[..]));
    }

    #[test]
    fn of_status__the_fix_is_the_one_that_is_stated() {
        let fix_of = |status: &Value| of_status(status).pop().and_then(|finding| finding.fix);
        let status = json!({ "last_error": "h:1:2: expected a node" });
        assert_eq!(fix_of(&status).as_deref(), Some("fix that, then `prp routed reload`"));
        let status =
            json!({ "last_error": "h: it would be 7; restart", "last_error_fix": "restart" });
        assert_eq!(fix_of(&status).as_deref(), Some("restart"));
        assert!(of_status(&status)[0].cause.ends_with("it would be 7"));
    }
}
