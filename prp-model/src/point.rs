//! One message between two processes: the models' formulas, each with its source and where it
//! holds.

mod hyperbolic;
mod linear;
mod logp;
mod packet;
mod two_piece;

pub use hyperbolic::Hyperbolic;
pub(crate) use hyperbolic::hyperbola;
pub use linear::Linear;
pub use logp::{LogGp, LogP};
pub use packet::Packet;
pub(crate) use packet::packets;
pub use two_piece::TwoPiece;

#[cfg(test)]
mod tests;
