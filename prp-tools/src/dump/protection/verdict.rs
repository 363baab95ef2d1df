//! What key files say of a packet, and why they say nothing of some.

use prp_node::counted;
use prp_proto::key::Refusal;

use super::Protection;

/// What key files say of a packet's tag.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(in crate::dump) enum Verdict {
    /// A member has made it.
    Right,
    /// No member has made it, or it was changed.
    Wrong,
    /// They do not say that.
    Unchecked(WhyNot),
}

/// Why key files say nothing of a packet's tag.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(in crate::dump) enum WhyNot {
    /// It is of a connection, whose keys only its two processes had.
    Inside,
    /// Node keys vouch for it, and no private key of its nodes is there.
    NodeKeys,
    /// It names a secret that the file does not have.
    OtherSecret,
    /// It was not captured as a whole, or what it answers was not.
    Cut,
}

impl WhyNot {
    const ALL: [Self; 4] = [Self::Inside, Self::NodeKeys, Self::OtherSecret, Self::Cut];

    const fn text(self) -> &'static str {
        match self {
            Self::Inside => {
                "of connections: their keys follow from secrets that only the memory of the two \
                 processes had, and no key file checks or opens them"
            }
            Self::NodeKeys => {
                "for which node keys vouch: --node-key takes the private key file of one of their \
                 two nodes"
            }
            Self::OtherSecret => "which name a secret that the key file does not have",
            Self::Cut => "which were not captured whole, or whose request was not",
        }
    }
}

impl Verdict {
    /// What a check says of a packet `with_node_keys`, or without.
    pub(super) const fn of(checked: Result<u16, Refusal>, with_node_keys: bool) -> Self {
        match checked {
            Ok(_) => Self::Right,
            Err(Refusal::UnknownKey) if with_node_keys => Self::Unchecked(WhyNot::NodeKeys),
            Err(Refusal::UnknownKey) => Self::Unchecked(WhyNot::OtherSecret),
            Err(_) => Self::Wrong,
        }
    }
}

/// How many packets were shown and not checked, by the reason.
#[derive(Debug, Default)]
pub(in crate::dump) struct Unchecked {
    counts: [u64; WhyNot::ALL.len()],
}

impl Unchecked {
    /// Counts a packet that is shown.
    pub(in crate::dump) fn note(&mut self, protection: &Protection) {
        if let Some(Verdict::Unchecked(why)) = protection.verdict {
            self.counts[why as usize] += 1;
        }
    }

    /// Returns a line for each reason that there was.
    pub(in crate::dump) fn lines(&self) -> impl Iterator<Item = String> {
        let counts = WhyNot::ALL.into_iter().zip(self.counts).filter(|(_, count)| *count > 0);
        counts.map(|(why, count)| {
            format!("not checked: {} {}", counted(count as usize, "packet"), why.text())
        })
    }
}
