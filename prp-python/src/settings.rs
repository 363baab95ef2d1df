//! Settings of connections, as keyword arguments.

use std::path::PathBuf;
use std::time::Duration;

use prp_sock::{Builder, Classic, Controller, Keepalive, NodeId, Port};
use prp_sock::{Reliability, ReliabilitySet};
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

/// Sets an option of the builder to a value.
type Set = fn(Builder, &Bound<'_, PyAny>) -> PyResult<Builder>;

/// The options by their names. The stub lists them again.
const OPTIONS: [(&str, Set); 18] = [
    ("backlog", |builder, value| Ok(builder.backlog(value.extract()?))),
    ("classic", |builder, value| Ok(builder.classic(classic(value)?))),
    ("congestion", |builder, value| Ok(builder.congestion(controller(value)?))),
    ("connect_timeout", |builder, value| Ok(builder.connect_timeout(seconds(value.extract()?)?))),
    ("crc", |builder, value| Ok(builder.crc(value.extract()?))),
    ("device", |builder, value| Ok(builder.device(value.extract::<String>()?))),
    ("hosts", |builder, value| Ok(builder.hosts(value.extract::<PathBuf>()?))),
    ("keepalive", |builder, value| Ok(builder.keepalive(keepalive(value)?))),
    ("local_port", |builder, value| Ok(from_port(builder, value.extract()?))),
    ("max_message", |builder, value| Ok(builder.max_message(value.extract()?))),
    ("max_segment", |builder, value| Ok(builder.max_segment(value.extract()?))),
    ("node", |builder, value| Ok(builder.node(node(value.extract()?)?))),
    ("recv_buffer", |builder, value| Ok(builder.recv_buffer(value.extract()?))),
    ("reliability", |builder, value| Ok(builder.reliability_any(policies(value)?))),
    ("send_buffer", |builder, value| Ok(builder.send_buffer(value.extract()?))),
    ("send_buffer_max", |builder, value| Ok(builder.send_buffer_max(value.extract()?))),
    ("spin", |builder, value| Ok(spin(builder, optional(value)?))),
    ("user_timeout", |builder, value| Ok(builder.user_timeout(optional(value)?))),
];

/// The names of the options of `connect` and `Listener`.
#[pyfunction]
pub(crate) fn options() -> Vec<&'static str> {
    OPTIONS.iter().map(|(name, _)| *name).collect()
}

fn set(builder: Builder, name: &str, value: &Bound<'_, PyAny>) -> PyResult<Builder> {
    match OPTIONS.iter().find(|(known, _)| *known == name) {
        Some((_, set)) => set(builder, value),
        None => Err(PyTypeError::new_err(format!("no option {name:?}"))),
    }
}

/// A time in seconds, or None.
fn optional(value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    value.extract::<Option<f64>>()?.map(seconds).transpose()
}

fn spin(builder: Builder, budget: Option<Duration>) -> Builder {
    match budget {
        Some(budget) => builder.spin(budget),
        None => builder,
    }
}

/// A port to connect from, of which 0 stands for any.
fn from_port(builder: Builder, port: u16) -> Builder {
    if port == 0 { builder } else { builder.local_port(Port::new(port)) }
}

fn classic(value: &Bound<'_, PyAny>) -> PyResult<Classic> {
    match &*value.extract::<String>()? {
        "refuse" => Ok(Classic::Refuse),
        "allow" => Ok(Classic::Allow),
        "only" => Ok(Classic::Only),
        other => Err(PyValueError::new_err(format!("{other:?}: neither refuse, allow nor only"))),
    }
}

fn controller(value: &Bound<'_, PyAny>) -> PyResult<Controller> {
    let name: String = value.extract()?;
    name.parse().map_err(|e| PyValueError::new_err(format!("{e}")))
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
