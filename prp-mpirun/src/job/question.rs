//! Questions of ranks, which the launcher answers.

use std::io;

use prp_mpi::control::program::words;
use prp_mpi::control::{Frame, Topic};
use prp_mpi::process::ask::{NUMBER, answer};

use super::Job;

/// Who has asked, and by which number.
#[derive(Clone, Debug)]
pub(super) struct Question {
    agent: usize,
    rank: usize,
    number: Vec<u8>,
}

impl Question {
    /// A question that has come from an agent.
    pub(super) fn new(agent: usize, frame: &Frame) -> Self {
        let number = frame.content.iter().take(NUMBER).copied().collect();
        Self { agent, rank: frame.rank as usize, number }
    }
}

impl Job<'_> {
    /// Answers a question.
    pub(super) fn answer(&mut self, question: &Question, said: io::Result<String>) {
        let Question { agent, rank, number } = question;
        self.send(*agent, &Frame::new(Topic::Answer, *rank, answer(number, said)));
    }

    /// Publishes a name, withdraws it, or says its port.
    pub(super) fn answer_name(&mut self, agent: usize, frame: &Frame) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut parts = words(frame.content.get(NUMBER..).unwrap_or_default()).map(text);
        let name = parts.next().unwrap_or_default();
        let said = match frame.topic {
            Topic::Publish => {
                let port = parts.next().unwrap_or_default();
                self.names.publish(&name, &port).map(|()| String::new())
            }
            Topic::Withdraw => self.names.withdraw(&name).map(|()| String::new()),
            _ => self.names.look_up(&name),
        };
        self.answer(&Question::new(agent, frame), said);
    }
}
