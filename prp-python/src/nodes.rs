//! Nodes: prphosts, and the counters of this process.

use std::path::PathBuf;

use prp_proto::hosts::HopTarget;
use prp_sock::{HostsFile, Resolver};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::raised;
use crate::stream::pair;

/// The lines of prphosts: a dict for each node, with `node`, `names`, `mtu` and `routes`.
#[pyfunction]
#[pyo3(signature = (path=None))]
pub(crate) fn hosts(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Bound<'_, PyList>> {
    let path = path.unwrap_or_else(HostsFile::default_path);
    let file = HostsFile::cached(&path).map_err(|e| raised(&e))?;
    let all = PyList::empty(py);
    for entry in file.hosts().entries() {
        let node = PyDict::new(py);
        node.set_item("node", entry.node().number())?;
        node.set_item("names", entry.names().collect::<Vec<_>>())?;
        node.set_item("mtu", entry.mtu())?;
        let routes = PyList::empty(py);
        for hop in entry.hops() {
            let route = PyDict::new(py);
            route.set_item("metric", hop.metric)?;
            match hop.target {
                HopTarget::Direct { mac, device } => {
                    route.set_item("address", mac.to_string())?;
                    route.set_item("device", device)?;
                }
                HopTarget::Udp(address) => route.set_item("udp", address.to_string())?,
                HopTarget::Unix(folder) => route.set_item("unix", folder)?,
                HopTarget::Via(node) => route.set_item("via", node.number())?,
            }
            routes.append(route)?;
        }
        node.set_item("routes", routes)?;
        all.append(node)?;
    }
    Ok(all)
}

/// The node and port that an address stands for.
#[pyfunction]
pub(crate) fn resolve(
    #[pyo3(from_py_with = crate::settings::address)] address: String,
) -> PyResult<(u16, u16)> {
    let resolver = Resolver::system().map_err(|e| raised(&e))?;
    resolver.address(&address).map(pair).map_err(|e| raised(&e))
}

/// The counters of this process in the text format of OpenMetrics.
#[pyfunction]
pub(crate) fn openmetrics(py: Python<'_>) -> String {
    py.detach(prp_sock::openmetrics)
}
