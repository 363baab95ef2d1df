//! What the processes of one node agree on, without trusting each other.
//!
//! Applications never serve each other. Between them the kernel arbitrates: a port belongs to the
//! process that has bound its abstract Unix name ([`PortClaims`]), and one process, the *steward*,
//! has bound the name of port 0 ([`StewardClaim`]). Only `prp-routed` coordinates. Its sockets are
//! in a directory that root or the daemon's user owns ([`RunDir`]), and a process believes what it
//! hears there only if owner and peer are to be trusted. `docs/trust.md` is the threat model.
//!
//! | module | noun |
//! | --- | --- |
//! | [`claims`] | ports and the steward's place: abstract names, first come, first served |
//! | [`run_dir`] | where the daemon's sockets are, and whether they are to be believed |
//! | [`registry`] | what a process and prp-routed tell each other |
//! | [`status`] | what a process says of its connections to those that may read it |
//! | [`mirror`] | how a capture gets frames that pass by all packet sockets |
//! | [`fork`] | what the child of a fork has of its parent, and what it has not |
//! | [`hosts`] | prphosts as it was read |
//! | [`key`] | the cluster's key file |
//! | [`explained`] | errors with cause, fix and place in fields of their own |
//! | [`descriptors`] | how many descriptors a process may have |
//! | [`limits`] | the kernel's limits that end a process by a signal |
//! | [`signals`] | which signals a process heeds |
//! | [`environment`] | variables that a privileged program must not take from its caller |
//! | [`count`] | numbers of things in words |
//! | [`mod@printable`] | texts of others, as a terminal shows them and does nothing else |
//! | [`process`] | other processes, as the kernel shows them |
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod claims;
pub mod count;
pub mod descriptors;
pub mod environment;
pub mod explained;
pub mod hosts;
pub mod key;
pub mod limits;
pub mod mirror;
pub mod printable;
pub mod process;
pub mod registry;
pub mod run_dir;
pub mod signals;
pub mod status;
mod sys;
mod trust;
mod worded;

pub use sys::fork;

pub use claims::{Addressee, OwnerProbe, PortClaims, RouterUdpName, StewardClaim, UdpOwners};
pub use count::counted;
pub use explained::{ExplainedError, Explanation};
pub use hosts::HostsFile;
pub use key::KeyWatch;
pub use printable::{printable, printable_path};
pub use registry::{DownHop, DownHops, Ledger, LedgerReader};
pub use run_dir::{RunDir, Service, ServiceListener};
pub use status::StatusPage;
pub use trust::is_trusted;
pub use worded::{reworded, worded};
