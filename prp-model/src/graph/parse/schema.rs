//! What a graph file has, as it is written.

use serde::Deserialize;
use toml::Spanned;

use crate::graph::Primitive;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) primitive: Primitive,
    #[serde(default)]
    pub(super) ordered: bool,
    #[serde(default)]
    pub(super) block: Vec<Spanned<BlockTable>>,
    #[serde(default)]
    pub(super) message: Vec<Spanned<MessageTable>>,
    pub(super) pattern: Option<Spanned<Pattern>>,
    #[serde(default)]
    pub(super) machine: MachineTable,
}

/// Nodes with processors that processes share.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MachineTable {
    pub(super) processes: Option<Spanned<u32>>,
    pub(super) spin: Option<Spanned<f64>>,
    pub(super) wake: Option<Spanned<f64>>,
    pub(super) switch: Option<Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlockTable {
    pub(super) name: Spanned<String>,
    pub(super) a: Spanned<f64>,
    pub(super) b: Spanned<f64>,
    pub(super) copies: Option<Spanned<u32>>,
    pub(super) processor: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageTable {
    pub(super) name: Spanned<String>,
    pub(super) from: String,
    pub(super) to: Spanned<String>,
    pub(super) via: Spanned<Vec<Spanned<PathPart>>>,
    pub(super) size: Option<Spanned<f64>>,
    #[serde(default)]
    pub(super) after: Vec<Spanned<String>>,
}

/// A block, or several: among blocks in series several are alternatives, and among alternatives
/// they are in series.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum PathPart {
    Block(String),
    Several(Vec<Self>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pattern {
    pub(super) kind: Spanned<String>,
    pub(super) processes: Spanned<u32>,
    pub(super) neighbours: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) network: Network,
}

#[derive(Copy, Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Network {
    #[default]
    Shared,
    Switched,
}
