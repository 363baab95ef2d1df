//! What runs in a machine: the first process, and the agent that runs scripts for the host.

pub(crate) mod agent;
mod init;
mod nodes;
mod system;

pub(crate) use init::{ROOT_KEY, run as init};

/// The folder for files of scenes, in memory.
pub(crate) const SCRATCH: &str = "/run/machines";

/// The device to the host.
const PORT: &str = "/dev/vport0p1";
