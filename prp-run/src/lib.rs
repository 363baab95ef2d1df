//! What `prp run` and the library that it preloads into programs agree on (docs/run.md): which IP
//! addresses stand for nodes, what the library asks the holder, and the settings of a run.
//!
//! The library calls this inside of other programs' `connect` and `accept`: but for what only the
//! holder calls, nothing here allocates.
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod mapping;
mod message;
mod pair_name;
mod settings;

pub use mapping::{BELL, FAMILY, Mapping, Network, OWN_ONLY, OWN_ONLY_IP6, PRP_ONLY, PRP_ONLY_IP6};
pub use message::{Answer, NAME_MAX, Request, RequestKind, TOKEN_SIZE};
pub use pair_name::PairName;
pub use settings::{Protocols, Settings, VARIABLE};
