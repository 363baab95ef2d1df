//! Settings of connections and listeners to be made.

use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use prp_sock::{
    Builder, Classic, HostsFile, Keepalive, NodeId, Port, PrpAddr, PrpStream, Reliability,
    ReliabilitySet, Resolver,
};

use crate::error_number::invalid;
use crate::option;
use crate::sys::export as names;

/// What `prp_options` stands for.
pub(crate) type SharedSettings = Mutex<Settings>;

/// Settings of a stream or a listener to be made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    builder: Builder,
    hosts: Option<String>,
    node: Option<NodeId>,
    spin: Option<Duration>,
    local_port: Option<Port>,
    pub(crate) streams: StreamSettings,
}

/// Settings of a stream that can change.
#[derive(Copy, Clone, Debug)]
pub(crate) struct StreamSettings {
    pub(crate) nonblocking: bool,
    pub(crate) read_timeout: Option<Duration>,
    pub(crate) write_timeout: Option<Duration>,
    pub(crate) ttl: Option<u32>,
    pub(crate) linger: Option<Duration>,
    pub(crate) user_timeout: Option<Duration>,
    pub(crate) keepalive: Keepalive,
    pub(crate) has_keepalive: bool,
    /// The largest message that is received as a whole, in bytes.
    pub(crate) max_message: usize,
}

/// As `Builder::max_message`.
const MAX_MESSAGE: usize = 16 << 20;

impl Default for StreamSettings {
    fn default() -> Self {
        Self {
            nonblocking: false,
            read_timeout: None,
            write_timeout: None,
            ttl: None,
            linger: None,
            user_timeout: Some(Duration::from_secs(60)),
            keepalive: Keepalive::default(),
            has_keepalive: true,
            max_message: MAX_MESSAGE,
        }
    }
}

impl StreamSettings {
    /// Probing of an idle peer, if that is wanted.
    pub(crate) fn probes(&self) -> Option<Keepalive> {
        self.has_keepalive.then_some(self.keepalive)
    }

    /// Sets what a stream has; whether it has `name`.
    pub(crate) fn set(&mut self, name: i32, value: i64) -> io::Result<bool> {
        match name {
            names::PRP_OPT_NONBLOCKING => self.nonblocking = option::flag(name, value)?,
            names::PRP_OPT_READ_TIMEOUT => self.read_timeout = option::timeout(name, value)?,
            names::PRP_OPT_WRITE_TIMEOUT => self.write_timeout = option::timeout(name, value)?,
            names::PRP_OPT_TTL => self.ttl = Some(option::within(name, value, 1..=255)?),
            names::PRP_OPT_LINGER => self.linger = option::span(name, value)?,
            names::PRP_OPT_USER_TIMEOUT => self.user_timeout = option::timeout(name, value)?,
            names::PRP_OPT_KEEPALIVE_IDLE => {
                let idle = option::timeout(name, value)?;
                self.has_keepalive = idle.is_some();
                self.keepalive.idle = idle.unwrap_or(self.keepalive.idle);
            }
            names::PRP_OPT_KEEPALIVE_INTERVAL => {
                let interval = option::timeout(name, value)?;
                self.keepalive.interval = interval.ok_or_else(|| option::refused(name, value))?;
            }
            names::PRP_OPT_KEEPALIVE_PROBES => {
                self.keepalive.probes = option::within(name, value, 1..=255)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What a stream has, by its name.
    pub(crate) fn value(&self, name: i32) -> Option<i64> {
        Some(match name {
            names::PRP_OPT_NONBLOCKING => self.nonblocking.into(),
            names::PRP_OPT_READ_TIMEOUT => option::nanos(self.read_timeout),
            names::PRP_OPT_WRITE_TIMEOUT => option::nanos(self.write_timeout),
            names::PRP_OPT_LINGER => option::nanos(self.linger),
            names::PRP_OPT_USER_TIMEOUT => option::nanos(self.user_timeout),
            names::PRP_OPT_KEEPALIVE_IDLE => option::nanos(self.probes().map(|k| k.idle)),
            names::PRP_OPT_KEEPALIVE_INTERVAL => option::nanos(Some(self.keepalive.interval)),
            names::PRP_OPT_KEEPALIVE_PROBES => self.keepalive.probes.into(),
            _ => return None,
        })
    }

    /// Gives a stream that was just made what its builder could not.
    pub(crate) fn apply(&self, stream: &PrpStream) -> io::Result<()> {
        let Self {
            nonblocking,
            read_timeout,
            write_timeout,
            ttl,
            linger,
            // Builders have these.
            user_timeout: _,
            keepalive: _,
            has_keepalive: _,
            // No stream has it: it is this library's.
            max_message: _,
        } = *self;
        stream.set_nonblocking(nonblocking)?;
        stream.set_read_timeout(read_timeout)?;
        stream.set_write_timeout(write_timeout)?;
        stream.set_linger(linger)?;
        ttl.map_or(Ok(()), |ttl| stream.set_ttl(ttl))
    }

    /// Whether it is [`Self::apply`] that gives a stream what the option `name` says: then a
    /// listener has it for the streams that it accepts.
    pub(crate) const fn applies(name: i32) -> bool {
        matches!(
            name,
            names::PRP_OPT_NONBLOCKING
                | names::PRP_OPT_READ_TIMEOUT
                | names::PRP_OPT_WRITE_TIMEOUT
                | names::PRP_OPT_LINGER
                | names::PRP_OPT_TTL
        )
    }
}

impl Settings {
    /// Sets an option that is a number.
    pub(crate) fn set(&mut self, name: i32, value: i64) -> io::Result<()> {
        if self.streams.set(name, value)? {
            let StreamSettings { user_timeout, .. } = self.streams;
            let keepalive = self.streams.probes();
            self.build(|b| b.user_timeout(user_timeout).keepalive(keepalive));
            return Ok(());
        }
        let bytes = || option::within::<usize>(name, value, 1..=i64::MAX);
        match name {
            names::PRP_OPT_CONNECT_TIMEOUT => {
                let timeout = option::timeout(name, value)?;
                let timeout = timeout.ok_or_else(|| option::refused(name, value))?;
                self.build(|b| b.connect_timeout(timeout));
            }
            names::PRP_OPT_SEND_BUFFER => {
                let bytes = bytes()?;
                self.build(|b| b.send_buffer(bytes));
            }
            names::PRP_OPT_SEND_BUFFER_MAX => {
                let bytes = bytes()?;
                self.build(|b| b.send_buffer_max(bytes));
            }
            names::PRP_OPT_RECV_BUFFER => {
                let bytes = bytes()?;
                self.build(|b| b.recv_buffer(bytes));
            }
            names::PRP_OPT_SPIN => self.spin = option::span(name, value)?,
            names::PRP_OPT_BACKLOG => {
                let connections = bytes()?;
                self.build(|b| b.backlog(connections));
            }
            names::PRP_OPT_MAX_MESSAGE => {
                self.streams.max_message = bytes()?;
            }
            names::PRP_OPT_MAX_SEGMENT => {
                let bytes = option::within(name, value, 1..=u16::MAX.into())?;
                self.build(|b| b.max_segment(bytes));
            }
            names::PRP_OPT_CRC => {
                let crc = option::flag(name, value)?;
                self.build(|b| b.crc(crc));
            }
            names::PRP_OPT_RELIABILITY => {
                let policies = policies(name, value)?;
                self.build(|b| b.reliability_any(policies));
            }
            names::PRP_OPT_CLASSIC => {
                let classic = match value {
                    0 => Classic::Refuse,
                    1 => Classic::Allow,
                    2 => Classic::Only,
                    _ => return Err(option::refused(name, value)),
                };
                self.build(|b| b.classic(classic));
            }
            names::PRP_OPT_NODE => {
                let node = option::within(name, value, 1..=65_534)?;
                let node = NodeId::new(node).ok_or_else(|| option::refused(name, value))?;
                self.node = Some(node);
                self.build(|b| b.node(node));
            }
            names::PRP_OPT_LOCAL_PORT => {
                let port = option::within(name, value, 0..=u16::MAX.into())?;
                self.local_port = (port > 0).then_some(Port::new(port));
            }
            _ => return Err(option::unknown(name, "prp_options_set has no such option")),
        }
        Ok(())
    }

    /// Sets an option that is a text.
    pub(crate) fn set_text(&mut self, name: i32, value: &str) -> io::Result<()> {
        match name {
            names::PRP_OPT_HOSTS => {
                self.hosts = Some(value.to_owned());
                self.build(|b| b.hosts(value));
            }
            names::PRP_OPT_DEVICE => self.build(|b| b.device(value)),
            names::PRP_OPT_CONGESTION => {
                let controller = value.parse().map_err(|e| invalid(format!("{value:?}: {e}")))?;
                self.build(|b| b.congestion(controller));
            }
            _ => return Err(option::unknown(name, "prp_options_set_text has no such option")),
        }
        Ok(())
    }

    /// What makes streams and listeners with these settings.
    pub(crate) fn builder(&self) -> Builder {
        let mut builder = self.builder.clone();
        if let Some(budget) = self.spin {
            builder = builder.spin(budget);
        }
        match self.local_port {
            Some(port) => builder.local_port(port),
            None => builder,
        }
    }

    /// The address that `text` stands for.
    pub(crate) fn resolve(&self, text: &str) -> io::Result<PrpAddr> {
        if let Ok(address) = text.parse() {
            return Ok(address);
        }
        let path = self.hosts.as_ref().map_or_else(HostsFile::default_path, Into::into);
        let file = HostsFile::cached(&path)?;
        if let Some(node) = self.node
            && let Some((name, port)) = text.rsplit_once(':')
            && matches!(name, "self" | "localhost")
        {
            let port = port.parse().map_err(|_| invalid(format!("{text:?}: expected a port")))?;
            return Ok(PrpAddr::new(node, port));
        }
        Resolver::by(file)?.address(text)
    }

    fn build(&mut self, f: impl FnOnce(Builder) -> Builder) {
        self.builder = f(std::mem::take(&mut self.builder));
    }
}

fn policies(name: i32, value: i64) -> io::Result<ReliabilitySet> {
    let bits = [
        (names::PRP_DETECT, Reliability::Detect),
        (names::PRP_GO_BACK_N, Reliability::GoBackN),
        (names::PRP_SELECTIVE_REPEAT, Reliability::SelectiveRepeat),
    ];
    let all: i64 = bits.iter().map(|(bit, _)| i64::from(*bit)).sum();
    if value <= 0 || value & !all != 0 {
        return Err(option::refused(name, value));
    }
    let chosen = bits.into_iter().filter(|(bit, _)| value & i64::from(*bit) != 0);
    let mut chosen = chosen.map(|(_, policy)| policy);
    let first = chosen.next().map(ReliabilitySet::only);
    let set = chosen.fold(first, |set, policy| set.map(|set| set.with(policy)));
    set.ok_or_else(|| option::refused(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// But for the TTL, which the stream itself tells.
    #[test]
    fn value__of_each_option_that_a_stream_can_set() {
        for name in (0..100).filter(|name| *name != names::PRP_OPT_TTL) {
            let mut settings = StreamSettings::default();
            if settings.set(name, 1).unwrap_or(false) {
                assert_eq!(settings.value(name), Some(1), "option {name}");
            }
        }
    }
}
