mod answers;
mod planted;
mod scatter;
