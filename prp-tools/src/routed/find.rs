//! Which daemon to ask. It is asked when something is wrong, prphosts perhaps, so that is not
//! needed to find it.

use std::path::Path;

use prp_node::RunDir;
use prp_sock::{NodeId, Resolver};

use crate::exit::{Code, Failure};
use crate::hosts::{load, path_or_default};

/// The node whose daemon is meant: `wanted`; or else the only one that runs in this network
/// namespace; or of several the one of the node that this machine is by the prphosts at `hosts`, or
/// the one in force.
pub(super) fn find_daemon(wanted: Option<NodeId>, hosts: Option<&Path>) -> Result<NodeId, Failure> {
    if let Some(node) = wanted {
        return Ok(node);
    }
    choose(&RunDir::in_force().running(), || by_hosts(hosts))
}

/// One of `running`, or what `by_hosts` says.
fn choose(
    running: &[NodeId],
    by_hosts: impl FnOnce() -> Result<NodeId, String>,
) -> Result<NodeId, Failure> {
    if let [only] = *running {
        return Ok(only);
    }
    match by_hosts() {
        // Where none seems to run, asking it says so, and what to do.
        Ok(node) if running.is_empty() || running.contains(&node) => Ok(node),
        Ok(node) => {
            let text = format!(
                "prp-routed runs here for {}, and not for node {node}, which this machine is by \
                 prphosts: say which with --node",
                words(running)
            );
            Err(Failure::new(Code::Failed, text))
        }
        Err(why) if running.is_empty() => {
            Err(Failure::new(Code::Failed, format!("no prp-routed runs here; and {why}")))
        }
        Err(why) => {
            let running = words(running);
            let text = format!("prp-routed runs here for {running}: say which with --node; {why}");
            Err(Failure::new(Code::Failed, text))
        }
    }
}

fn words(nodes: &[NodeId]) -> String {
    let words: Vec<_> = nodes.iter().map(ToString::to_string).collect();
    format!("nodes {}", words.join(", "))
}

fn by_hosts(hosts: Option<&Path>) -> Result<NodeId, String> {
    let file = load(&path_or_default(hosts)).map_err(|e| e.text().to_owned())?;
    let resolver = Resolver::by(file).and_then(|resolver| resolver.local_node());
    resolver.map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u16) -> NodeId {
        NodeId::new(number).expect("a node")
    }

    #[test]
    fn choose__prphosts_is_only_asked_where_it_is_needed() {
        let wrong = || Err("prphosts:4:3: expected something".to_owned());
        assert_eq!(choose(&[node(7)], wrong), Ok(node(7)));
        assert_eq!(choose(&[], || Ok(node(7))), Ok(node(7)));
        assert_eq!(choose(&[node(3), node(7)], || Ok(node(7))), Ok(node(7)));
        let failure = choose(&[node(3), node(7)], wrong).expect_err("which?");
        assert!(
            failure.text().contains("nodes 3, 7: say which with --node; prphosts:4:3"),
            "{failure:?}"
        );
        let failure = choose(&[node(3), node(7)], || Ok(node(8))).expect_err("which?");
        assert!(failure.text().contains("not for node 8"), "{failure:?}");
        let failure = choose(&[], wrong).expect_err("none");
        assert!(
            failure.text().starts_with("no prp-routed runs here; and prphosts:4:3"),
            "{failure:?}"
        );
    }
}
