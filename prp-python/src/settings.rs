//! Settings of connections, as keyword arguments.

use std::time::Duration;

use prp_sock::{Builder, Keepalive, NodeId, Port, Reliability, ReliabilitySet};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// As `Builder::max_message`.
const MAX_MESSAGE: usize = 16 << 20;

/// A time in seconds.
pub(crate) fn seconds(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| PyValueError::new_err(format!("{value}: not a number of seconds")))
}

/// A builder with the keyword arguments of `connect` and `Listener`.
pub(crate) fn builder(options: Option<&Bound<'_, PyDict>>) -> PyResult<Builder> {
    let mut builder = Builder::new();
    for (name, value) in options.into_iter().flatten() {
        let name: String = name.extract()?;
        builder = set(builder, &name, &value)?;
    }
    Ok(builder)
}

/// The longest message of `recv_message`, in bytes: the keyword argument `max_message`.
pub(crate) fn max_message(options: Option<&Bound<'_, PyDict>>) -> PyResult<usize> {
    match options.map(|options| options.get_item("max_message")).transpose()?.flatten() {
        Some(bytes) => bytes.extract(),
        None => Ok(MAX_MESSAGE),
    }
}

fn set(builder: Builder, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Builder> {
    let time = || seconds(value.extract()?);
    let optional = || value.extract::<Option<f64>>()?.map(seconds).transpose();
    Ok(match name {
        "connect_timeout" => builder.connect_timeout(time()?),
        "user_timeout" => builder.user_timeout(optional()?),
        "keepalive" => builder.keepalive(keepalive(value)?),
        "send_buffer" => builder.send_buffer(value.extract()?),
        "send_buffer_max" => builder.send_buffer_max(value.extract()?),
        "recv_buffer" => builder.recv_buffer(value.extract()?),
        "spin" => match optional()? {
            Some(budget) => builder.spin(budget),
            None => builder,
        },
        "backlog" => builder.backlog(value.extract()?),
        "max_message" => builder.max_message(value.extract()?),
        "max_segment" => builder.max_segment(value.extract()?),
        "crc" => builder.crc(value.extract()?),
        "reliability" => builder.reliability_any(policies(value)?),
        "congestion" => {
            let controller: String = value.extract()?;
            let controller = controller.parse();
            builder.congestion(controller.map_err(|e| PyValueError::new_err(format!("{e}")))?)
        }
        "hosts" => builder.hosts(value.extract::<std::path::PathBuf>()?),
        "node" => builder.node(node(value.extract()?)?),
        "device" => builder.device(value.extract::<String>()?),
        "local_port" => match value.extract()? {
            0 => builder,
            port => builder.local_port(Port::new(port)),
        },
        _ => return Err(PyTypeError::new_err(format!("no option {name:?}"))),
    })
}

/// The node `number`.
pub(crate) fn node(number: u16) -> PyResult<NodeId> {
    NodeId::new(number)
        .ok_or_else(|| PyValueError::new_err(format!("{number}: no node, which are 1 to 65534")))
}

/// None, or seconds of silence, seconds between probes, and probes.
fn keepalive(value: &Bound<'_, PyAny>) -> PyResult<Option<Keepalive>> {
    let Some((idle, interval, probes)) = value.extract::<Option<(f64, f64, u8)>>()? else {
        return Ok(None);
    };
    Ok(Some(Keepalive { idle: seconds(idle)?, interval: seconds(interval)?, probes }))
}

fn policies(value: &Bound<'_, PyAny>) -> PyResult<ReliabilitySet> {
    let text: String = value.extract()?;
    let mut all = None;
    for word in text.split(',') {
        let policy = match word.trim() {
            "detect" => Reliability::Detect,
            "go-back-n" => Reliability::GoBackN,
            "selective-repeat" => Reliability::SelectiveRepeat,
            _ => return Err(PyValueError::new_err(format!("no policy {word:?}"))),
        };
        let known = all.map_or(ReliabilitySet::only(policy), |s: ReliabilitySet| s.with(policy));
        all = Some(known);
    }
    all.ok_or_else(|| PyValueError::new_err("no policy"))
}

/// An address: text, or a node and a port.
pub(crate) fn address(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = value.extract::<String>() {
        return Ok(text);
    }
    if let Ok((number, port)) = value.extract::<(u16, u16)>() {
        return Ok(format!("{}:{port}", node(number)?));
    }
    let (name, port) = value.extract::<(String, u16)>().map_err(|_| {
        PyTypeError::new_err("an address is a text as \"3:80\", or a node and a port")
    })?;
    Ok(format!("{name}:{port}"))
}
