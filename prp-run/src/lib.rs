//! What `prp run` and the library that it preloads into programs agree on (docs/run.md): which IP
//! addresses stand for nodes, what the library asks the holder, the settings of a run, and what
//! holds for a program's end of a pair, whether the library or the holder answers for it.
//!
//! The library calls this inside of other programs' `connect` and `accept`: but for what only the
//! holder calls, nothing here allocates.
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod mapping;
mod message;
mod option;
mod pair_name;
mod settings;
mod standing;

pub use mapping::{BELL, FAMILY, Mapping, Network};
pub use message::{Answer, NAME_MAX, Request, RequestKind, TOKEN_SIZE};
pub use option::{OptionValue, is_taken};
pub use pair_name::{PENDING_BUFFER, PairName, SEND_BUFFER};
pub use settings::{Protocols, Settings, VARIABLE};
pub use standing::reached;
