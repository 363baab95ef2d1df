//! Which connections are shown, in the words of ss.

use super::snapshot::{Connection, Listener};
use crate::exit::{Code, Failure};
use crate::hosts;

/// What a connection must be to be shown: all of it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ConnectionFilter {
    /// Those that listen.
    listening: bool,
    /// Those with a peer.
    connections: bool,
    /// In upper case; none: all but TIME-WAIT, unless `all`.
    states: Vec<String>,
    all: bool,
    source: End,
    destination: End,
}

/// What an end of a connection must be.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
struct End {
    node: Option<u16>,
    port: Option<PortBound>,
}

/// What a port must be.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct PortBound {
    comparison: Comparison,
    port: u16,
}

/// How a port is compared.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Comparison {
    /// The one that a word of ss stands for.
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "=" | "==" | "eq" => Self::Equal,
            "!=" | "ne" | "neq" => Self::Unequal,
            "<" | "lt" => Self::Less,
            "<=" | "le" | "leq" => Self::AtMost,
            ">" | "gt" => Self::Greater,
            ">=" | "ge" | "geq" => Self::AtLeast,
            _ => return None,
        })
    }
}

impl PortBound {
    /// The port `text`, compared as `comparison` says; else it must be this one.
    fn parse(comparison: Option<Comparison>, text: &str) -> Result<Self, String> {
        Ok(Self { comparison: comparison.unwrap_or(Comparison::Equal), port: port(text)? })
    }

    fn takes(self, port: u16) -> bool {
        match self.comparison {
            Comparison::Equal => port == self.port,
            Comparison::Unequal => port != self.port,
            Comparison::Less => port < self.port,
            Comparison::AtMost => port <= self.port,
            Comparison::Greater => port > self.port,
            Comparison::AtLeast => port >= self.port,
        }
    }
}

/// All states, and the words of ss for some of them.
const STATES: [&str; 8] =
    ["LISTEN", "CONN-WAIT", "ESTAB", "CLOSE-WAIT", "FIN-WAIT", "LAST-ACK", "TIME-WAIT", "CLOSED"];

/// What a filter begins with, and an example of what follows.
const EXAMPLES: [(&str, &str); 5] =
    [("state", "listen"), ("sport", "7000"), ("dport", "7000"), ("src", "2"), ("dst", "2:7000")];

impl ConnectionFilter {
    /// Of the words of a command line.
    pub(crate) fn parse(words: &[String], all: bool, listening: bool) -> Result<Self, Failure> {
        let usage = |text: String| Failure::new(Code::Usage, text);
        let mut filter =
            Self { listening: all || listening, connections: !listening, all, ..Self::default() };
        let kept = |word: &&str| !matches!(*word, "and" | "&&" | "(" | ")");
        let joined = words.join(" ");
        let mut words = joined.split_whitespace().filter(kept);
        while let Some(word) = words.next() {
            let Some((_, example)) = EXAMPLES.iter().find(|(known, _)| *known == word) else {
                let text =
                    format!("{word}: expected state, sport, dport, src or dst, as in `dport 7000`");
                return Err(usage(text));
            };
            // `sport = :80` and `sport eq :80` are the same as `sport :80`.
            let comparison = words.clone().next().and_then(Comparison::of);
            if comparison.is_some() {
                words.next();
            }
            if !word.ends_with("port") && comparison.is_some_and(|it| it != Comparison::Equal) {
                return Err(usage(format!(
                    "{word}: only ports are compared, as in `dport ge 1024`"
                )));
            }
            let Some(value) = words.next() else {
                return Err(usage(format!("{word} lacks a value, as in `{word} {example}`")));
            };
            match word {
                "state" => filter.states.push(state(value).map_err(usage)?),
                "sport" => {
                    let bound = PortBound::parse(comparison, value).map_err(usage)?;
                    filter.source.port = Some(bound);
                }
                "dport" => {
                    let bound = PortBound::parse(comparison, value).map_err(usage)?;
                    filter.destination.port = Some(bound);
                }
                "src" => filter.source = End::parse(value)?,
                _ => filter.destination = End::parse(value)?,
            }
        }
        if filter.states.iter().any(|state| state == "LISTEN") {
            filter.listening = true;
            filter.connections = filter.states.len() > 1;
        } else if !filter.states.is_empty() {
            filter.listening = false;
        }
        Ok(filter)
    }

    /// Whether a connection is shown.
    pub(crate) fn takes(&self, connection: &Connection) -> bool {
        let Connection { state, local_node, local_port, peer_node, peer_port, .. } = connection;
        let is_in_state = if self.states.is_empty() {
            self.all || state != "TIME-WAIT"
        } else {
            self.states.contains(state)
        };
        self.connections
            && is_in_state
            && self.source.takes(*local_node, *local_port)
            && self.destination.takes(*peer_node, *peer_port)
    }

    /// Whether a port that is listened on is shown.
    pub(super) fn takes_listener(&self, listener: &Listener) -> bool {
        self.listening
            && self.destination == End::default()
            && self.source.takes(listener.node, listener.port)
    }
}

impl End {
    /// `NODE`, `NODE:PORT` or `:PORT`.
    fn parse(text: &str) -> Result<Self, Failure> {
        let (node, port_text) = text.split_once(':').map_or((text, None), |(n, p)| (n, Some(p)));
        let node = match node {
            "" | "*" => None,
            name => Some(hosts::number(name)?),
        };
        let port = port_text.map(|text| PortBound::parse(None, text)).transpose();
        Ok(Self { node, port: port.map_err(|text| Failure::new(Code::Usage, text))? })
    }

    fn takes(&self, node: u16, port: u16) -> bool {
        self.node.is_none_or(|wanted| wanted == node)
            && self.port.is_none_or(|wanted| wanted.takes(port))
    }
}

fn port(text: &str) -> Result<u16, String> {
    let number = text.strip_prefix(':').unwrap_or(text).parse();
    number.map_err(|_| format!("{text}: expected a port from 0 to 65535"))
}

fn state(text: &str) -> Result<String, String> {
    let upper = text.to_uppercase();
    let word = match upper.as_str() {
        "ESTABLISHED" => "ESTAB",
        "LISTENING" => "LISTEN",
        "SYN-SENT" => "CONN-WAIT",
        "FIN-WAIT-1" | "FIN-WAIT-2" => "FIN-WAIT",
        word => word,
    };
    if STATES.contains(&word) {
        return Ok(word.to_owned());
    }
    Err(format!("{text}: no state; there are {}", STATES.join(", ").to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::connection;
    use super::*;

    fn parse(words: &str) -> ConnectionFilter {
        let words: Vec<_> = words.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
        ConnectionFilter::parse(&words, false, false)
            .unwrap_or_else(|e| panic!("{words:?}: {}", e.text()))
    }

    #[test]
    fn takes__what_matches_all_of_the_words() {
        // From 1:61000 to 2:7000.
        let connection = connection();
        for words in [
            "",
            "state established",
            "state estab dport = :7000",
            "( sport eq 61000 and dport 7000 )",
            "sport ge 61000 and dport < :7001",
            "sport <= 61000 dport gt 6999 dport != 7001",
            "src = 1 dst eq 2:7000",
            "dst 2 src 1",
            "dst 2:7000",
            "dst :7000",
            "state time-wait state estab",
        ] {
            assert!(parse(words).takes(&connection), "{words}");
        }
        for words in [
            "dport ge 7001",
            "sport lt 61000",
            "dport ne 7000",
            "state time-wait",
            "dport 7001",
            "src 2",
            "dst 2:1",
            "state listening",
        ] {
            assert!(!parse(words).takes(&connection), "{words}");
        }
    }

    #[test]
    fn takes__time_wait_and_listeners_only_if_asked() {
        let ended = Connection { state: "TIME-WAIT".into(), ..connection() };
        let listener = Listener { node: 1, port: 7000, queue: 0, backlog: 1 };
        let with = |all, listening| ConnectionFilter::parse(&[], all, listening).expect("no words");
        let takes =
            |filter: &ConnectionFilter| (filter.takes(&ended), filter.takes_listener(&listener));
        assert_eq!(takes(&with(false, false)), (false, false));
        assert_eq!(takes(&with(true, false)), (true, true));
        assert_eq!(takes(&with(false, true)), (false, true));
        assert_eq!(takes(&parse("state time-wait")), (true, false));
        assert_eq!(takes(&parse("state listening sport 7000")), (false, true));
        assert_eq!(takes(&parse("state listening sport 7001")), (false, false));
    }

    #[test]
    fn parse__says_what_it_expects() {
        for (words, expected) in [
            ("port 80", "expected state, sport"),
            ("nowhere", "expected state, sport"),
            ("dport", "lacks a value, as in `dport 7000`"),
            ("dport http", "a port from 0"),
            ("dport ge", "lacks a value"),
            ("dst ge 2", "only ports are compared"),
            ("state open", "there are listen, conn-wait"),
        ] {
            let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
            let failure = ConnectionFilter::parse(&words, false, false).expect_err("wrong words");
            assert!(failure.text().contains(expected), "{}", failure.text());
        }
    }
}
