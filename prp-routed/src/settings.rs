//! What `prp-routed.toml` and the command line say.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use prp_device::waiting::BUDGET;
use prp_node::HostsFile;
use prp_proto::addr::NodeId;
use serde::{Deserialize, Deserializer};

use crate::kernel::KernelForwarding;
use crate::neighbours::LivenessSettings;

/// Where settings are unless the command line says otherwise. Without this file the defaults hold.
pub const DEFAULT_PATH: &str = "/etc/prp-routed.toml";

/// The longest it may poll: beyond that a core is simply given away.
const MAX_SPIN: Duration = Duration::from_secs(1);

/// What the daemon is to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// prphosts.
    pub hosts: PathBuf,
    /// The node this machine is, if prphosts and hardware addresses do not say.
    pub node: Option<NodeId>,
    /// How long to poll for frames after the last one before sleeping: as long as streams do by
    /// default, so that back-to-back frames find it awake.
    pub spin: Duration,
    /// Whether the kernel is to forward what it can.
    pub kernel_forwarding: KernelForwarding,
    /// How to find out whether neighbours live.
    pub liveness: LivenessSettings,
    /// Where counters are served over HTTP, if they are.
    pub metrics: Option<SocketAddr>,
    /// The user to become once sockets are open, if it is to be another one.
    pub user: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            hosts: HostsFile::default_path(),
            node: None,
            spin: BUDGET,
            kernel_forwarding: KernelForwarding::default(),
            liveness: LivenessSettings::default(),
            metrics: None,
            user: None,
        }
    }
}

/// A mistake in settings. Prints as what follows the name of the file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SettingsError {
    /// Line and column, from 1, where there is a place.
    pub place: Option<(u32, u32)>,
    /// What is wrong there.
    pub what: String,
}

impl SettingsError {
    fn of(text: &str, error: &toml::de::Error) -> Self {
        let place = error.span().and_then(|span| {
            let before = text.get(..span.start)?;
            let line = before.rsplit('\n').next()?;
            Some((before.matches('\n').count() as u32 + 1, line.chars().count() as u32 + 1))
        });
        Self { place, what: error.message().trim().replace('\n', "; ") }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for SettingsError {}

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default, deserialize_with = "hosts")]
    hosts: Option<PathBuf>,
    #[serde(default, deserialize_with = "node")]
    node: Option<NodeId>,
    #[serde(default, deserialize_with = "spin")]
    spin_us: Option<u64>,
    #[serde(default, deserialize_with = "kernel_forwarding")]
    kernel_forwarding: KernelForwarding,
    #[serde(default, deserialize_with = "address")]
    metrics: Option<SocketAddr>,
    #[serde(default, deserialize_with = "user")]
    user: Option<String>,
    #[serde(default)]
    liveness: LivenessText,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: a line [liveness], and its settings below")]
struct LivenessText {
    #[serde(default, deserialize_with = "interval")]
    interval_ms: Option<u64>,
    #[serde(default, deserialize_with = "multiplier")]
    multiplier: Option<u8>,
    #[serde(default, deserialize_with = "hold")]
    hold_ms: Option<u64>,
}

/// Reads the path of prphosts.
fn hosts<'de, D: Deserializer<'de>>(value: D) -> Result<Option<PathBuf>, D::Error> {
    words(value, "a path in quotes, such as \"/etc/prphosts\"").map(|path| Some(path.into()))
}

/// Reads the name of a user.
fn user<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    words(value, "the name of a user in quotes, such as \"prp-routed\"").map(Some)
}

/// Reads a text that is not empty.
fn words<'de, D: Deserializer<'de>>(value: D, expected: &str) -> Result<String, D::Error> {
    match toml::Value::deserialize(value)? {
        toml::Value::String(text) if !text.is_empty() => Ok(text),
        value => Err(unexpected(expected, &value)),
    }
}

/// Reads whether the kernel is to forward.
fn kernel_forwarding<'de, D: Deserializer<'de>>(value: D) -> Result<KernelForwarding, D::Error> {
    let value = toml::Value::deserialize(value)?;
    let wanted = value.as_str().and_then(|text| KernelForwarding::from_str(text, false).ok());
    wanted.ok_or_else(|| unexpected("\"auto\", \"off\" or \"required\"", &value))
}

/// Reads a node number.
fn node<'de, D: Deserializer<'de>>(value: D) -> Result<Option<NodeId>, D::Error> {
    let value = toml::Value::deserialize(value)?;
    let number = value.as_integer().and_then(|number| u16::try_from(number).ok());
    let node = number.and_then(NodeId::new);
    node.map(Some).ok_or_else(|| unexpected("a node number, 1 to 65534", &value))
}

/// Reads an address and port.
fn address<'de, D: Deserializer<'de>>(value: D) -> Result<Option<SocketAddr>, D::Error> {
    let value = toml::Value::deserialize(value)?;
    let address = value.as_str().and_then(|text| parse_address(text).ok());
    address.map(Some).ok_or_else(|| unexpected(ADDRESS, &value))
}

/// Reads how long to poll, in microseconds.
fn spin<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    let most = MAX_SPIN.as_micros() as u64;
    whole_number(value, &format!("0 to {most}"), |spin| spin <= most)
}

/// Reads the time from one probe to the next.
fn interval<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    let range = LEAST_INTERVAL..=MOST_INTERVAL;
    let expected = format!("{LEAST_INTERVAL} to {MOST_INTERVAL}, or 0 for no probes");
    whole_number(value, &expected, |ms| ms == 0 || range.contains(&ms))
}

/// Reads how many probes are missed.
fn multiplier<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u8>, D::Error> {
    let number = whole_number(value, "2 to 50", |n| (2..=50).contains(&n))?;
    Ok(number.map(|n| n as u8))
}

/// Reads how long a neighbour has to be there again.
fn hold<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    whole_number(value, &format!("0 to {MOST_INTERVAL}"), |ms| ms <= MOST_INTERVAL)
}

/// Reads a number that `is_right`; `expected` has which ones are.
fn whole_number<'de, D: Deserializer<'de>>(
    value: D,
    expected: &str,
    is_right: impl Fn(u64) -> bool,
) -> Result<Option<u64>, D::Error> {
    let value = toml::Value::deserialize(value)?;
    let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
    let number = number.filter(|number| is_right(*number));
    let error = || unexpected(&format!("a whole number, {expected}"), &value);
    number.map(Some).ok_or_else(error)
}

/// That there is `found` where something else was `expected`.
fn unexpected<E: serde::de::Error>(expected: &str, found: &toml::Value) -> E {
    E::custom(match found {
        toml::Value::String(text) => format!("expected {expected}, found {text:?}"),
        toml::Value::Integer(number) => format!("expected {expected}, found {number}"),
        other => format!("expected {expected}, found a value of type {}", other.type_str()),
    })
}

/// What an address and port look like.
const ADDRESS: &str = "ADDRESS:PORT, such as 127.0.0.1:9470 or [::1]:9470";

/// Reads an address and port of a command line.
///
/// # Errors
/// What is expected.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("expected {ADDRESS}"))
}

impl Settings {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// As reading a file, naming it; `InvalidData` with the place and what was expected.
    pub fn load(path: &Path) -> io::Result<Self> {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
        let text = std::fs::read_to_string(path).map_err(named)?;
        Self::parse(&text).map_err(|e| {
            let message = format!("{}{e}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }

    /// The settings in force where none are named: those of [`DEFAULT_PATH`], or the defaults if
    /// there is no such file.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn system() -> io::Result<Self> {
        match Self::load(Path::new(DEFAULT_PATH)) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            other => other,
        }
    }

    /// The settings that `text` is.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        toml::from_str(text).map(Self::of).map_err(|e| SettingsError::of(text, &e))
    }

    fn of(text: Text) -> Self {
        let mut settings = Self::default();
        if let Some(hosts) = text.hosts {
            settings.hosts = hosts;
        }
        settings.node = text.node;
        if let Some(spin) = text.spin_us {
            settings.spin = Duration::from_micros(spin);
        }
        settings.kernel_forwarding = text.kernel_forwarding;
        settings.liveness = liveness(&text.liveness);
        settings.metrics = text.metrics;
        settings.user = text.user;
        settings
    }
}

/// Probes at least so far apart: three of them make the 50 ms in which a machine that is busy with
/// other things may well say nothing.
const LEAST_INTERVAL: u64 = 10;

/// Probes are at most so far apart.
const MOST_INTERVAL: u64 = 60_000;

fn liveness(text: &LivenessText) -> LivenessSettings {
    let mut liveness = LivenessSettings::default();
    if let Some(ms) = text.hold_ms {
        liveness.hold = Duration::from_millis(ms);
    }
    if text.interval_ms == Some(0) {
        liveness.probes = None;
    }
    if let Some(probes) = &mut liveness.probes {
        probes.interval = text.interval_ms.map_or(probes.interval, Duration::from_millis);
        probes.multiplier = text.multiplier.unwrap_or(probes.multiplier);
    }
    liveness
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__takes_what_is_there_and_leaves_the_rest() {
        assert_eq!(Settings::parse(""), Ok(Settings::default()));
        let text = "hosts = '/x'\nnode = 7\nspin_us = 0\nmetrics = '[::1]:9470'\nuser = 'x'\n";
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.metrics, Some("[::1]:9470".parse().unwrap()));
        assert_eq!(
            (settings.hosts.as_path(), settings.user.as_deref()),
            (Path::new("/x"), Some("x"))
        );
        assert_eq!((settings.node, settings.spin), (NodeId::new(7), Duration::ZERO));
        let text = "[liveness]\ninterval_ms = 17\nmultiplier = 3\nhold_ms = 0\n";
        let liveness = Settings::parse(text).unwrap().liveness;
        let probes = liveness.probes.unwrap();
        assert_eq!(probes.interval * u32::from(probes.multiplier), Duration::from_millis(51));
        assert_eq!(liveness.hold, Duration::ZERO);
        let off = Settings::parse("[liveness]\ninterval_ms = 0\n").unwrap().liveness;
        assert_eq!(off.probes, None);
    }

    #[test]
    fn parse__says_what_is_wrong() {
        for (text, word) in [
            ("hots = 'x'", "hots"),
            ("node = 0", "65534"),
            ("node = 65535", "1 to 65534, found 65535"),
            ("node = 'a'", "expected a node number"),
            ("node = -1", "expected a node number"),
            ("\nhosts = 7", ":2:9: expected a path in quotes, such as \"/etc/prphosts\", found 7"),
            ("hosts = ''", ":1:9: expected a path"),
            ("user = true", ":1:8: expected the name of a user"),
            ("kernel_forwarding = 7", ":1:21: expected \"auto\", \"off\" or \"required\", found 7"),
            ("kernel_forwarding = 'of'", "found \"of\""),
            ("liveness = 7", "expected a table: a line [liveness]"),
            ("spin_us = 'x'", ":1:11: expected a whole number, 0 to 1000000, found \"x\""),
            ("spin_us = -1", "0 to 1000000, found -1"),
            ("[liveness]\nmultiplier = 2.5", "expected a whole number, 2 to 50"),
            ("spin_us = 1000001", ":1:11: expected a whole number, 0 to 1000000"),
            ("metrics = '9470'", "expected ADDRESS:PORT"),
            ("metrics = 9470", "expected ADDRESS:PORT"),
            ("[liveness]\ninterval_ms = 5", ":2:15: expected a whole number, 10 to 60000, or 0"),
            ("[liveness]\nmultiplier = 1", ":2:14: expected a whole number, 2 to 50"),
            ("[liveness]\nhold_ms = 60001", ":2:11: expected a whole number, 0 to 60000"),
        ] {
            let message = Settings::parse(text).unwrap_err().to_string();
            assert!(message.contains(word), "{text}: {message}");
        }
    }

    /// The sample has examples, and then what holds without it.
    #[test]
    fn parse__the_sample_shows_the_defaults() {
        let sample = include_str!("../../etc/prp-routed.toml");
        assert_eq!(Settings::parse(sample), Ok(Settings::default()));
        // Settings are commented out without a space, remarks have one.
        let stated = |text: &str| {
            let lines = text.lines().map(|line| {
                line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)
            });
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        let (examples, defaults) = sample.split_once("# What holds without").expect("its heading");
        let defaults = stated(&format!("# What holds without{defaults}"));
        assert_eq!(defaults.matches(" = ").count(), 6, "{defaults}");
        let machine = Settings { hosts: "/etc/prphosts".into(), ..Settings::default() };
        assert_eq!(Settings::parse(&defaults), Ok(machine));
        let examples = Settings::parse(&stated(examples)).expect("right ones");
        assert!(examples.node.is_some() && examples.user.is_some() && examples.metrics.is_some());
        let rest = Settings { node: None, user: None, metrics: None, ..examples };
        assert_eq!(rest, Settings::default());
    }

    #[test]
    fn load__names_the_file() {
        let message = Settings::load(Path::new("/no/such.toml")).unwrap_err().to_string();
        assert!(message.starts_with("/no/such.toml: "), "{message}");
    }
}
