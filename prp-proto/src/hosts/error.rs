//! What is wrong with a prphosts file, and where.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::{self, Write};

use super::{MAX_FILE, MAX_HOPS, MAX_NAME, MAX_UNIX_FOLDER, MIN_MTU};
use crate::addr::{NodeId, UDP_PORTS};
use crate::key::MAX_NODE_KEYS;

/// How many mistakes are described; the rest are counted. More than a screenful helps no reader.
const MAX_DESCRIBED: usize = 20;
/// Characters of a word that an error quotes.
const MAX_QUOTED: usize = 40;
/// Nodes of a loop that an error names.
const MAX_LOOP: usize = 8;
/// Characters that readers do not see, and how Unicode calls them: where files are put together, or
/// copied from web pages.
const UNSEEN: [(char, &str); 4] = [
    ('\u{feff}', "a byte order mark"),
    ('\u{a0}', "a no-break space"),
    ('\u{200b}', "a zero width space"),
    ('\u{ad}', "a soft hyphen"),
];

/// A kind of mistake in a prphosts file. To add one, also write what was expected
/// (its `Display`), the fix if there is one, and a line for the test that shows all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HostsErrorKind {
    /// The file is larger than [`MAX_FILE`].
    FileSize,
    /// A line is not UTF-8.
    NotUtf8,
    /// A line begins with neither a node number nor a directive.
    LineStart,
    /// A node number is out of range or none.
    NodeNumber,
    /// A node has a second line.
    NodeAgain {
        /// Its first line.
        first: u32,
    },
    /// A next hop to the node begins with neither an address nor `via`.
    HopStart,
    /// What follows `udp:` is no IP address, or has a port that is none.
    UdpAddress,
    /// A UDP address is that of a group, or of no host.
    UdpHost,
    /// A UDP address means another machine on every link.
    UdpLinkLocal,
    /// A UDP port that leaves no room for those of a node's processes.
    UdpPort,
    /// The UDP ports of two nodes of one IP address overlap.
    UdpOverlap {
        /// The line of the other node.
        first: u32,
    },
    /// The file has more different IP addresses than can be told apart.
    TooManyUdp,
    /// What follows `unix:` is no absolute path, or one that is too long.
    UnixFolder,
    /// Another line has another folder of Unix sockets.
    UnixOther {
        /// The first line that has one.
        first: u32,
    },
    /// A hardware address is all zeros.
    ZeroAddress,
    /// A hardware address is a group's.
    GroupAddress,
    /// No device can have such a name.
    DeviceName,
    /// A metric is out of range or no number.
    Metric,
    /// A VLAN is out of range or no number.
    Vlan,
    /// A priority is out of range or no number.
    Priority,
    /// Another line gives the same VLAN of the same device another priority.
    PriorityOther {
        /// The first line that names both.
        first: u32,
    },
    /// `vlan=` or `priority=` is not behind a device.
    LateTag,
    /// One line lists the same hop twice.
    HopAgain,
    /// A line lists more than [`MAX_HOPS`] hops.
    TooManyHops,
    /// A further hop follows without a comma.
    MissingComma,
    /// A comma is among names and options.
    Comma,
    /// A metric comes after names and options.
    LateMetric,
    /// A name has characters names do not have.
    NameCharacters,
    /// A name would be read as a node number.
    NameNumber,
    /// A name would be read as a command-line option.
    NameHyphen,
    /// A name is longer than [`MAX_NAME`].
    NameLength,
    /// A name is one that always means the local node.
    NameReserved,
    /// A name is taken.
    NameAgain {
        /// The line that has it.
        first: u32,
    },
    /// There is no such option.
    OptionName,
    /// An option is given twice on one line.
    OptionAgain,
    /// `mtu=` is out of range or no number.
    Mtu,
    /// `key=` is no public key.
    NodeKey,
    /// `key=` is given more than twice on one line.
    TooManyKeys,
    /// `key=` is given twice, be it on different lines.
    KeyAgain {
        /// The first line that has it.
        first: u32,
    },
    /// A directive is given twice.
    DirectiveAgain {
        /// Its first line.
        first: u32,
    },
    /// A directive has more words than it takes.
    LineEnd,
    /// `ethertype` has no hexadecimal number.
    Ethertype,
    /// The ethertype is out of range.
    EthertypeRange,
    /// The ethertype belongs to another protocol.
    EthertypeUsed {
        /// Whose it is.
        whose: &'static str,
    },
    /// `via` or `self` names a node without a line.
    NodeUnknown,
    /// `via` names the line's own node.
    ViaItself,
    /// Following `via` leads back to the line.
    ViaLoop,
}

/// What the parser expected to find.
impl fmt::Display for HostsErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FileSize => return write!(f, "at most {} MiB of text", MAX_FILE >> 20),
            Self::NotUtf8 => "UTF-8 text",
            Self::LineStart => "a node number, `self` or `ethertype`",
            Self::NodeNumber => "a node number from 1 to 65534",
            Self::NodeAgain { .. } => "a node that has no line yet",
            Self::HopStart => {
                "a hardware address such as 02:00:00:00:00:01, a UDP address such as udp:10.0.0.2, \
                 unix:FOLDER, or `via`"
            }
            Self::UdpAddress => {
                "a UDP address such as udp:10.0.0.2, udp:[fd00::2] or udp:10.0.0.2:5300"
            }
            Self::UdpHost => "the IP address of one machine",
            Self::UdpLinkLocal => "an IP address that is no link-local one",
            Self::UdpPort => {
                return write!(f, "a UDP port from 1 to {}", u16::MAX - (UDP_PORTS - 1));
            }
            Self::UdpOverlap { .. } => return write!(f, "{UDP_PORTS} UDP ports of the node's own"),
            Self::TooManyUdp => "at most 65535 different IP addresses",
            Self::UnixFolder => {
                return write!(
                    f,
                    "an absolute path of at most {MAX_UNIX_FOLDER} bytes, as in \
                     unix:/run/prp-cluster"
                );
            }
            Self::UnixOther { .. } => "one folder of Unix sockets for all nodes",
            Self::ZeroAddress | Self::GroupAddress => "the hardware address of one station",
            Self::DeviceName => "a device name of 1 to 15 bytes without `/`, `:` and `=`",
            Self::Metric => "a metric from 0 to 65535",
            Self::Vlan => "a VLAN from 1 to 4094",
            Self::Priority => "a priority from 0 to 7",
            Self::PriorityOther { .. } => "one priority for a device, or for a VLAN of it",
            Self::HopAgain => "each next hop once",
            Self::TooManyHops => return write!(f, "at most {MAX_HOPS} next hops"),
            Self::MissingComma | Self::Comma | Self::LateMetric | Self::LateTag => {
                "a name or an option"
            }
            Self::NameCharacters => "a name of ASCII letters, digits, `-`, `_` and `.`",
            Self::NameNumber => "a name that is no number",
            Self::NameHyphen => "a name that does not begin with `-`",
            Self::NameLength => return write!(f, "a name of at most {MAX_NAME} bytes"),
            Self::NameReserved => "a name other than `self` and `localhost`",
            Self::NameAgain { .. } => "a name that is not taken",
            Self::OptionName => "a known option: `mtu=N` or `key=KEY`",
            Self::OptionAgain => "each option once",
            Self::Mtu => return write!(f, "an mtu from {MIN_MTU} to 65535"),
            Self::NodeKey => "a public key of 64 hexadecimal digits",
            Self::TooManyKeys => return write!(f, "at most {MAX_NODE_KEYS} keys of a node"),
            Self::KeyAgain { .. } => "each key once",
            Self::DirectiveAgain { .. } => "each directive once",
            Self::LineEnd => "the end of the line",
            Self::Ethertype => "an ethertype such as 0x88b5",
            Self::EthertypeRange => "an ethertype from 0x0600 to 0xffff",
            Self::EthertypeUsed { .. } => "an ethertype that no other protocol uses",
            Self::NodeUnknown => "a node that has a line",
            Self::ViaItself => "a node other than the line's own",
            Self::ViaLoop => "a route that ends at an address",
        })
    }
}

impl HostsErrorKind {
    /// Writes how to fix it, where that is not plain from what was expected.
    fn write_fix(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUtf8 => "; save the file as UTF-8",
            Self::NodeAgain { first } => return write!(f, "; it has line {first}"),
            Self::ZeroAddress => "; all zeros is the loopback device's",
            Self::GroupAddress => "; an odd first octet makes it a group's",
            Self::UdpLinkLocal => "; it means another machine on every link",
            Self::UdpPort => {
                return write!(f, "; the {UDP_PORTS} ports from there on are the node's");
            }
            Self::UdpOverlap { first } => {
                return write!(
                    f,
                    "; line {first} has the same IP address and a port less than {UDP_PORTS} away"
                );
            }
            Self::UnixOther { first } => return write!(f, "; line {first} has another one"),
            Self::MissingComma => "; a comma goes before a further next hop",
            Self::Comma => "; commas stand between next hops only",
            Self::LateMetric => "; a metric goes right behind its next hop",
            Self::LateTag => "; `vlan=` and `priority=` go right behind their device",
            Self::PriorityOther { first } => {
                return write!(f, "; line {first} gives it another one, or none");
            }
            Self::NameNumber => "; it would be read as a node number",
            Self::NameHyphen => "; commands would read it as an option",
            Self::NameReserved => "; both always mean the local node",
            Self::NameAgain { first } => return write!(f, "; line {first} has it"),
            Self::KeyAgain { first } => {
                return write!(f, "; line {first} has it, and a key is one node's");
            }
            Self::DirectiveAgain { first } => return write!(f, "; the first is on line {first}"),
            Self::EthertypeUsed { whose } => return write!(f, "; it is {whose}"),
            Self::ViaLoop => "; give one of them an address of its own",
            _ => "",
        })
    }
}

/// One mistake in a prphosts file. Prints as `line:column: expected …, found …`; the caller, who
/// knows the file's name, prints that before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostsError {
    line: u32,
    column: u32,
    kind: HostsErrorKind,
    found: String,
}

impl HostsError {
    pub(super) fn new(line: u32, column: u32, kind: HostsErrorKind, found: FoundText<'_>) -> Self {
        Self { line, column, kind, found: found.to_string() }
    }

    /// The line, from 1.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// The column, from 1, in characters.
    pub fn column(&self) -> u32 {
        self.column
    }

    /// What kind of mistake it is.
    pub fn kind(&self) -> &HostsErrorKind {
        &self.kind
    }

    /// What was expected and what was found, and how to fix it, without the place.
    pub fn what(&self) -> impl fmt::Display {
        fmt::from_fn(|f| {
            write!(f, "expected {}, found {}", self.kind, self.found)?;
            self.kind.write_fix(f)
        })
    }

    /// What was found: quoted, escaped and cut to a length fit for a terminal.
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl fmt::Display for HostsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what())
    }
}

impl core::error::Error for HostsError {}

/// What is in the place of something expected.
#[derive(Copy, Clone)]
pub(super) enum FoundText<'a> {
    /// This word, or the end of the line if it is empty.
    Word(&'a str),
    /// This node's number.
    Node(NodeId),
    /// Bytes that are not UTF-8.
    Bytes(&'a [u8]),
    /// A size in bytes.
    Size(usize),
    /// A node's own UDP port.
    UdpPort(u16),
    /// A chain of nodes, each reached via the next.
    Chain(&'a [NodeId]),
}

impl fmt::Display for FoundText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word("") => f.write_str("the end of the line"),
            Self::Word(word) => {
                quote(word, f)?;
                let is_shown = |unseen: char| word.chars().take(MAX_QUOTED).any(|c| c == unseen);
                let unseen = UNSEEN.iter().find(|(unseen, _)| is_shown(*unseen));
                unseen.map_or(Ok(()), |(unseen, name)| {
                    let number = u32::from(*unseen);
                    write!(f, " with {name} (U+{number:04X}), which editors do not show")
                })
            }
            Self::Node(node) => write!(f, "\"{node}\""),
            // Four bytes hold any one character of any encoding. What is not UTF-8 is not ASCII.
            Self::Bytes(bytes) => {
                f.write_str("the bytes")?;
                let mut strange = bytes.iter().take(4).take_while(|b| !b.is_ascii());
                strange.try_for_each(|b| write!(f, " {b:02x}"))
            }
            Self::Size(bytes) => write!(f, "{bytes} bytes"),
            Self::UdpPort(port) => write!(f, "those from {port} on"),
            Self::Chain(nodes) => chain(nodes, f),
        }
    }
}

fn quote(word: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    let mut chars = word.chars();
    chars
        .by_ref()
        .take(MAX_QUOTED)
        .flat_map(char::escape_debug)
        .try_for_each(|c| f.write_char(c))?;
    f.write_str(if chars.next().is_some() { "…\"" } else { "\"" })
}

fn chain(nodes: &[NodeId], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("the loop ")?;
    for node in nodes.iter().take(MAX_LOOP) {
        write!(f, "{node} via ")?;
    }
    if nodes.len() > MAX_LOOP {
        f.write_str("… via ")?;
    }
    nodes.first().map_or(Ok(()), |node| write!(f, "{node}"))
}

/// All mistakes of a prphosts file, in file order: the first twenty, and how many there are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostsErrors {
    described: Vec<HostsError>,
    total: usize,
}

impl HostsErrors {
    /// Those that are described.
    pub fn iter(&self) -> core::slice::Iter<'_, HostsError> {
        self.described.iter()
    }

    /// How many there are, described or not.
    pub fn total(&self) -> usize {
        self.total
    }

    /// How many are not described, in words; none if all are.
    pub fn undescribed(&self) -> Option<String> {
        match self.total - self.described.len() {
            0 => None,
            1 => Some("and 1 more mistake".into()),
            more => Some(format!("and {more} more mistakes")),
        }
    }

    /// All of them as lines that begin with the name of the file.
    pub fn in_file(&self, file: &str) -> impl fmt::Display {
        let prefix = format!("{file}:");
        fmt::from_fn(move |f| self.write_lines(f, &prefix))
    }

    /// Counts a mistake, and describes it if it is among the first. Finding its place costs a walk
    /// along its line, which is why that waits until here.
    pub(super) fn add(&mut self, describe: impl FnOnce() -> HostsError) {
        self.total += 1;
        if self.described.len() < MAX_DESCRIBED {
            self.described.push(describe());
        }
    }

    /// Takes over the mistakes that a later pass found.
    pub(super) fn merge(&mut self, other: Self) {
        self.total += other.total;
        self.described.extend(other.described);
        self.described.sort_by_key(|error| (error.line, error.column));
        self.described.truncate(MAX_DESCRIBED);
    }

    fn write_lines(&self, f: &mut fmt::Formatter<'_>, prefix: &str) -> fmt::Result {
        for (i, error) in self.described.iter().enumerate() {
            write!(f, "{}{prefix}{error}", if i == 0 { "" } else { "\n" })?;
        }
        self.undescribed().map_or(Ok(()), |more| write!(f, "\n{more}"))
    }
}

impl fmt::Display for HostsErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_lines(f, "")
    }
}

impl core::error::Error for HostsErrors {}

impl<'a> IntoIterator for &'a HostsErrors {
    type Item = &'a HostsError;
    type IntoIter = core::slice::Iter<'a, HostsError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
