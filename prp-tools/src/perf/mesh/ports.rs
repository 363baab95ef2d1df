//! Which nodes' ports are slower than the others.

use std::fmt;

use prp_model::rounds::median;
use serde::Serialize;

/// A port is slow if it has less than this part of what the others have in the middle: a link of a
/// tenth of the speed, or of half duplex, has, and what scatters has not.
const SLOW: f64 = 0.5;

/// Other ports that are needed to tell a slow one from them.
const OTHERS: usize = 2;

/// A direction of a port.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Direction {
    /// From the node.
    Sends,
    /// To the node.
    Receives,
}

/// Which streams there were at the same time.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Company {
    /// One.
    Alone,
    /// All.
    Together,
}

/// The goodput of each node in a direction, in Gbit/s: the best of its streams where each was
/// alone, their sum where all were at once.
#[derive(Clone, Debug)]
pub(super) struct PortRates {
    pub(super) direction: Direction,
    pub(super) company: Company,
    /// In the order of the nodes; none for a node without a stream.
    pub(super) gbps: Vec<Option<f64>>,
}

/// A port that is slow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SlowPort {
    node: String,
    direction: Direction,
    when: Company,
    gbps: f64,
    /// What the others have in the middle.
    others_gbps: f64,
}

impl PortRates {
    /// Those of `nodes` that are slow.
    pub(super) fn slow(&self, nodes: &[String]) -> Vec<SlowPort> {
        let mut slow = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let Some(gbps) = self.gbps[at] else { continue };
            let others = self.gbps.iter().enumerate().filter(|(other, _)| *other != at);
            let others: Vec<_> = others.filter_map(|(_, gbps)| *gbps).collect();
            let Some(middle) = median(&others).filter(|_| others.len() >= OTHERS) else { continue };
            if gbps < SLOW * middle {
                let (direction, when) = (self.direction, self.company);
                slow.push(SlowPort {
                    node: node.clone(),
                    direction,
                    when,
                    gbps,
                    others_gbps: middle,
                });
            }
        }
        slow
    }
}

/// For people.
impl fmt::Display for SlowPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, direction, when, gbps, others_gbps } = self;
        let direction = match direction {
            Direction::Sends => "sends",
            Direction::Receives => "receives",
        };
        let when = match when {
            Company::Alone => "alone",
            Company::Together => "with all others",
        };
        write!(
            f,
            "slow: {node} {direction} {gbps:.3} Gbit/s {when}, other nodes {others_gbps:.3}: look at \
             its cable and its port of the switch, and at `prp doctor {node}`"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(gbps: &[Option<f64>]) -> Vec<(String, f64)> {
        let nodes: Vec<_> = (1..=gbps.len()).map(|n| format!("node{n}")).collect();
        let (direction, company) = (Direction::Receives, Company::Alone);
        let slow = PortRates { direction, company, gbps: gbps.to_vec() }.slow(&nodes);
        slow.into_iter().map(|port| (port.node, port.others_gbps)).collect()
    }

    #[test]
    fn slow__is_the_port_that_has_less_than_half() {
        let named = |gbps: &[f64]| rates(&gbps.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(named(&[0.94, 0.93, 0.09]), [("node3".to_owned(), 0.935)]);
        assert_eq!(named(&[0.94, 0.01, 0.93, 0.02, 0.95]).len(), 2);
        assert_eq!(named(&[0.94, 0.93, 0.48]), []);
    }

    #[test]
    fn slow__needs_others_to_compare_with() {
        assert_eq!(rates(&[Some(0.94), Some(0.01)]), []);
        assert_eq!(rates(&[Some(0.94), Some(0.01), None]), []);
        assert_eq!(rates(&[]), []);
    }

    #[test]
    fn slow_port__says_where_to_look() {
        let nodes = ["a", "b", "c"].map(str::to_owned);
        let gbps = [1.0, 2.0, 0.1].map(Some).to_vec();
        let (direction, company) = (Direction::Sends, Company::Together);
        let slow = PortRates { direction, company, gbps }.slow(&nodes);
        let text = slow[0].to_string();
        assert!(
            text.starts_with("slow: c sends 0.100 Gbit/s with all others, other nodes 1.500:"),
            "{text}"
        );
        assert!(text.ends_with("`prp doctor c`"), "{text}");
    }
}
