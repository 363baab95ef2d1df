//! What a node's steward does for the node's processes: the kernel gives every frame to the one it is for,
//! whatever their number.
//!
//! docs/steering.md has the plan. The processes' side is `engine::steering`; what both sides say is [`message`]. The
//! steward's side, [`Office`], needs no engine: prp-routed keeps one as well.

mod book;
mod client;
mod desk;
pub(crate) mod message;
mod office;
mod row;

pub use office::{Office, Whom};
