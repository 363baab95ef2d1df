//! The router of this node: whether it runs, and what it says.

use std::io::ErrorKind;

use prp_node::RunDir;
use prp_routed::control::ask;
use prp_routed::report::Question;
use serde_json::Value;

use super::finding::Finding;

/// What is to be said of the routers of this network namespace.
pub(super) fn findings() -> Vec<Finding> {
    let dir = RunDir::in_force();
    match dir.check() {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => {
            let fix = "make it again as root, or set PRP_RUN_DIR to a directory of this user";
            let cause = format!("{e}: no program believes a prp-routed there");
            return vec![Finding::warning("run_dir", cause, fix)];
        }
        _ => {}
    }
    let nodes = dir.running();
    if nodes.is_empty() {
        let cause = "no prp-routed runs here: closed ports do not refuse, `prp ping` is not \
                     answered, and peers of killed processes wait for a timeout";
        return vec![Finding::note("no_router", cause, "`systemctl enable --now prp-routed`")];
    }
    let status = |node| ask(&dir, node, &Question::Status).map_err(|e| (node, e));
    let of_answer = |answer| match answer {
        Ok(status) => of_status(&status),
        Err((node, e)) => {
            let cause = format!("the prp-routed of node {node} does not answer: {e}");
            vec![Finding::warning("router_silent", cause, "`prp routed status`; start it again")]
        }
    };
    nodes.into_iter().map(status).flat_map(of_answer).collect()
}

/// What the status of a router has that is not as it should be.
fn of_status(status: &Value) -> Vec<Finding> {
    let warning = |cause: &str| Finding::warning("router", format!("prp-routed says: {cause}"), "");
    let error = status["last_error"].as_str().map(|error| {
        let cause = format!("prp-routed goes by an earlier prphosts: {error}");
        Finding::warning("router_hosts", cause, "fix the file, then `prp routed reload`")
    });
    let troubles = status["troubles"].as_array().into_iter().flatten();
    error.into_iter().chain(troubles.filter_map(Value::as_str).map(warning)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_status__has_errors_and_troubles() {
        assert_eq!(of_status(&json!({ "last_error": null, "troubles": [] })), []);
        let status =
            json!({ "last_error": "h:1:2: expected a node", "troubles": ["eth1 is down"] });
        let found = of_status(&status);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].cause.contains("h:1:2") && found[1].cause.contains("eth1 is down"));
    }
}
