//! prphosts: any text is read or refused with located mistakes, and what is printed reads back.

use prp_proto::addr::DeviceId;
use prp_proto::hosts::Hosts;
use prp_proto::route::RouteTable;

/// Nodes whose view of the cluster is worked out: the first few stand for all.
const VIEWS: usize = 4;

/// Longest description of one mistake, in bytes: what is found in the file is cut.
const LONGEST_MISTAKE: usize = 1000;

/// Reads `data` as a prphosts file.
///
/// # Panics
/// If a mistake is told without a place in the file, the canonical form does not read back, or a
/// route leads a node to itself.
pub fn hosts(data: &[u8]) {
    let hosts = match Hosts::parse(data) {
        Ok(hosts) => hosts,
        Err(errors) => {
            assert!(errors.total() > 0);
            let lines = data.split(|b| *b == b'\n').count();
            for error in &errors {
                let shown = error.to_string();
                assert!(error.line() >= 1 && error.line() as usize <= lines, "{shown}");
                assert!(error.column() as usize <= data.len() + 1, "{shown}");
                assert!(!shown.contains(char::is_control), "{shown:?}");
                assert!(shown.len() < LONGEST_MISTAKE, "{shown}");
            }
            return;
        }
    };
    let printed = hosts.to_string();
    let again = Hosts::parse(printed.as_bytes()).expect("the canonical form reads back");
    assert_eq!(again, hosts);
    assert_eq!(again.to_string(), printed);
    for entry in hosts.entries() {
        for name in entry.names() {
            assert_eq!(hosts.resolve(name), Some(entry.node()), "{name}");
        }
    }
    for local in hosts.nodes().take(VIEWS) {
        let mut devices = 0;
        let routes = RouteTable::build(&hosts, local, |_| {
            devices += 1;
            Some(DeviceId(devices - 1))
        });
        assert_eq!(routes.local(), local);
        for node in hosts.nodes() {
            for hop in routes.lookup(node).next_hops() {
                assert_ne!(hop.node, local, "a path to {node} leads back to {local}");
                assert!(routes.is_source(node, hop.device, hop.addr));
            }
        }
    }
}
