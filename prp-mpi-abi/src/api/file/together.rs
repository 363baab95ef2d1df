//! Reading and writing of ranks whose pieces of a file lie between each other's, in two phases: a
//! few ranks (aggregators) read or write long parts of the file, and exchange the pieces with the
//! others by messages.
//!
//! The method is that of ROMIO (R. Thakur, W. Gropp and E. Lusk, "Data Sieving and Collective I/O
//! in ROMIO", Frontiers '99), after J. del Rosario, R. Bordawekar and A. Choudhary, "Improved
//! Parallel I/O via a Two-phase Run-time Access Strategy" (1993). What lies between the pieces of
//! all ranks is never written, as ROMIO does after it has read it: other programs may write there,
//! and a file that is opened for writing alone can be written.
//!
//! | part | what |
//! | --- | --- |
//! | [extent] | what each rank accesses, and whether two phases are worth it |
//! | [hints] | what the program says about that |
//! | [domains] | which aggregator has which part of the file, round by round |
//! | [share] | what a rank has in one part, as it tells the aggregator |
//! | [covered] | which bytes of a part any rank has |
//! | [window] | what an aggregator has of a part in memory |
//! | [exchange] | the messages of a round |

mod covered;
mod domains;
mod exchange;
mod extent;
mod hints;
mod share;
mod window;

pub(super) use self::exchange::TwoPhase;
pub(super) use self::extent::{Extent, extents_of_all};
