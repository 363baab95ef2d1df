mod answers;
mod planted;
pub(super) mod scatter;
mod shared;
