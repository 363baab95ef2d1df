//! Names of nodes, for people to read.

use std::collections::HashMap;

use super::{load, path_or_default};

/// Names of nodes by number, where they are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(HashMap<u16, String>);

impl Names {
    /// Of the prphosts in force if names are `wanted`; without a file there are none.
    pub(crate) fn load(wanted: bool) -> Self {
        let file = wanted.then(|| load(&path_or_default(None)).ok()).flatten();
        let names = file.iter().flat_map(|file| {
            let hosts = file.hosts();
            hosts
                .nodes()
                .filter_map(|node| Some((node.number(), hosts.name(node)?.to_owned())))
                .collect::<Vec<_>>()
        });
        Self(names.collect())
    }

    /// An end of a connection: its node, by name where it has one, and its port.
    pub(crate) fn end(&self, node: u16, port: u16) -> String {
        self.0.get(&node).map_or_else(|| format!("{node}:{port}"), |name| format!("{name}:{port}"))
    }
}
