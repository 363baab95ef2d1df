//! Which packets are shown, in the words of tcpdump.

use super::decode::DecodedPacket;
use super::packet::PacketKind;
use crate::argument;
use crate::exit::{Code, Failure};
use crate::hosts;

/// What a packet must be to be shown: every condition holds.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketFilter {
    conditions: Vec<(PacketSide, Subject)>,
    /// One of these, if there are any.
    pub(super) kinds: Vec<PacketKind>,
}

/// Which end of a packet something is said of.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum PacketSide {
    Either,
    Source,
    Destination,
}

/// What an end must have.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Subject {
    Node(u16),
    Port(u16),
}

/// What there is, for a user who has written something else.
const WORDS: &str =
    "expected `host NODE` or `port PORT`, `src` or `dst` before them, and `and` between them";

impl PacketFilter {
    /// Reads the words of a command line.
    ///
    /// # Errors
    /// They are no filter, or a node that they name is not in prphosts.
    pub(super) fn parse(words: &[String]) -> Result<Self, Failure> {
        let mut filter = Self::default();
        // A filter may be one word of the shell.
        let joined = words.join(" ");
        let mut words = joined.split_whitespace().peekable();
        let mut before = None;
        while let Some(word) = words.next() {
            if let "and" | "&&" = word {
                let is_between = before.is_some_and(|it| it != word) && words.peek().is_some();
                before = Some(word);
                if is_between {
                    continue;
                }
                return Err(usage(word));
            }
            before = Some("");
            let side = match word {
                "src" | "source" => PacketSide::Source,
                "dst" | "destination" => PacketSide::Destination,
                _ => PacketSide::Either,
            };
            let subject = if side == PacketSide::Either { Some(word) } else { words.next() };
            match (subject, words.next()) {
                (Some("host" | "node"), Some(name)) => {
                    filter.add(side, Subject::Node(hosts::number(name)?));
                }
                (Some("port"), Some(port)) => {
                    let port = argument::port(port);
                    let port = port.map_err(|e| Failure::new(Code::Usage, format!("port: {e}")))?;
                    filter.add(side, Subject::Port(port));
                }
                _ => return Err(usage(word)),
            }
        }
        Ok(filter)
    }

    /// Adds that a `side` must have `subject`.
    pub(super) fn add(&mut self, side: PacketSide, subject: Subject) {
        self.conditions.push((side, subject));
    }

    /// Whether all are shown.
    pub(super) const fn takes_all(&self) -> bool {
        self.conditions.is_empty() && self.kinds.is_empty()
    }

    /// A port that the receiver may have.
    pub(super) fn receiver_port(&self) -> Option<u16> {
        self.conditions.iter().find_map(|condition| match condition {
            (PacketSide::Either | PacketSide::Destination, Subject::Port(port)) => Some(*port),
            _ => None,
        })
    }

    /// Whether it is shown; what is no packet has neither nodes nor ports.
    pub(super) fn takes(&self, packet: &DecodedPacket<'_>) -> bool {
        let holds = |(side, subject): &(PacketSide, Subject)| {
            let Some(frame) = packet.packet() else { return false };
            let (n, t) = (frame.head.network, frame.head.transport);
            let (wanted, source, destination) = match subject {
                Subject::Node(node) => (*node, n.src.number(), n.dst.number()),
                Subject::Port(port) => (*port, t.src_port.number(), t.dst_port.number()),
            };
            match side {
                PacketSide::Either => [source, destination].contains(&wanted),
                PacketSide::Source => source == wanted,
                PacketSide::Destination => destination == wanted,
            }
        };
        self.conditions.iter().all(holds)
            && (self.kinds.is_empty() || self.kinds.contains(&PacketKind::of(&packet.content)))
    }
}

fn usage(word: &str) -> Failure {
    let fix = match word {
        "ether" | "proto" | "udp" | "tcp" | "ip" => {
            "; only packets of PRP are shown (--ethertype, --udp-port)"
        }
        _ => "",
    };
    Failure::new(Code::Usage, format!("{word}: {WORDS}{fix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Vec<(PacketSide, Subject)>, String> {
        let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
        let filter = PacketFilter::parse(&words);
        filter.map(|it| it.conditions).map_err(|e| e.text().to_owned())
    }

    #[test]
    fn parse__words_of_tcpdump() {
        let port = Subject::Port(7000);
        assert_eq!(parse("port 7000"), Ok(vec![(PacketSide::Either, port)]));
        let both = vec![(PacketSide::Either, Subject::Node(2)), (PacketSide::Destination, port)];
        assert_eq!(parse("host 2 and dst port 7000"), Ok(both.clone()));
        assert_eq!(parse("node 2 dst port 7000"), Ok(both));
        assert_eq!(parse("src host 3"), Ok(vec![(PacketSide::Source, Subject::Node(3))]));
    }

    #[test]
    fn parse__what_it_does_not_know_has_a_hint() {
        for words in ["and", "and port 1", "port 1 and", "port 1 and and port 2", "src", "src port"]
        {
            assert!(parse(words).is_err_and(|text| text.contains("host NODE")), "{words}");
        }
        for words in ["port", "host", "port 1 or port 2", "not port 1", "7000", "src 2"] {
            assert!(parse(words).is_err_and(|text| text.contains("host NODE")), "{words}");
        }
        assert!(parse("ether proto 0x88b5").is_err_and(|text| text.contains("--ethertype")));
        assert!(parse("port http").is_err_and(|text| text.contains("0 to 65535")));
    }
}
