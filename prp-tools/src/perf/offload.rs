//! Offloads of a device. Segmentation lets the kernel's TCP hand over 64 KiB at a time where others
//! hand over frames, and on a virtual link a checksum that is offloaded is not computed. TCP
//! without them does what it would do on a card that has none.

use std::io::{self, ErrorKind};
use std::mem;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::first_hop::device_toward;
use prp_sock::{HostsFile, NodeId};

use super::transport::Transport;

/// A feature of a device, by ethtool's long name and by its short one.
type Feature = (&'static str, &'static str);

/// What gathers or cuts frames.
const SEGMENTATION: [Feature; 3] = [
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
];

/// What computes and checks checksums, and what needs that. In this order: the first ones turn the
/// later ones off, and are needed to turn them on.
const CHECKSUMS: [Feature; 3] =
    [("tx-checksumming", "tx"), ("rx-checksumming", "rx"), ("scatter-gather", "sg")];

/// What this process has turned off; it has one leg at a time. Here, since nothing is dropped when
/// a signal ends it.
static DISABLED: Mutex<Option<DisabledOffloads>> = Mutex::new(None);

/// Offloads of a device, which were on.
#[derive(Debug)]
struct DisabledOffloads {
    device: String,
    features: Vec<&'static str>,
}

/// Offloads are off until this is dropped.
#[derive(Debug)]
pub(super) struct OffloadsOff(());

impl OffloadsOff {
    /// Switches those off that `transport` does without, on the device that leads to `node`.
    ///
    /// # Errors
    /// If ethtool is missing or may not do it.
    pub(super) fn of(
        transport: Transport,
        hosts: &HostsFile,
        node: NodeId,
    ) -> io::Result<Option<Self>> {
        match transport {
            Transport::Prp | Transport::Tcp | Transport::Raw => Ok(None),
            Transport::TcpNoSegmentation => Self::toward(hosts, node, &SEGMENTATION).map(Some),
            Transport::TcpNoOffload => {
                Self::toward(hosts, node, &[CHECKSUMS, SEGMENTATION].concat()).map(Some)
            }
        }
    }

    fn toward(hosts: &HostsFile, node: NodeId, unwanted: &[Feature]) -> io::Result<Self> {
        let device = device_toward(hosts, node)?;
        let mut off = lock();
        // Should that have failed before. If the record were lost they would be off for ever.
        switch_on(&mut off)?;
        let features = features_on(&ethtool(&["-k", &device])?, unwanted);
        // From here on dropping it turns on what was turned off, even if that was not all.
        let done = off.insert(DisabledOffloads { device, features }).set("off");
        drop(off);
        let guard = Self(());
        done.map(|()| guard)
    }
}

impl Drop for OffloadsOff {
    fn drop(&mut self) {
        let _ = switch_on(&mut lock());
    }
}

impl DisabledOffloads {
    fn set(&self, to: &str) -> io::Result<()> {
        let mut words = vec!["-K", &self.device];
        words.extend(self.features.iter().flat_map(|feature| [feature, to]));
        if self.features.is_empty() { Ok(()) } else { ethtool(&words).map(drop) }
    }
}

/// Switches on what is off, for good: the process is about to end.
pub(super) fn restore() {
    let mut off = lock();
    let _ = switch_on(&mut off);
    // A thread that would turn them off again waits until the end.
    mem::forget(off);
}

fn lock() -> MutexGuard<'static, Option<DisabledOffloads>> {
    DISABLED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn switch_on(off: &mut Option<DisabledOffloads>) -> io::Result<()> {
    if let Some(these) = off {
        these.set("on")?;
    }
    *off = None;
    Ok(())
}

/// Which of `unwanted` are on and can be turned off, in what `ethtool -k` printed.
fn features_on(text: &str, unwanted: &[Feature]) -> Vec<&'static str> {
    let is_on = |long: &str| {
        let value =
            text.lines().find_map(|line| line.trim().strip_prefix(long)?.strip_prefix(": "));
        value == Some("on")
    };
    unwanted.iter().filter(|(long, _)| is_on(long)).map(|(_, short)| *short).collect()
}

fn ethtool(words: &[&str]) -> io::Result<String> {
    let ran = Command::new("ethtool").args(words).stdin(Stdio::null()).output();
    let output = ran.map_err(|e| match e.kind() {
        ErrorKind::NotFound => io::Error::other(
            "TCP without offloads needs ethtool: apt install ethtool, on both nodes",
        ),
        _ => e,
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ethtool {}: {}", words.join(" "), stderr.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_on__as_ethtool_prints_them() {
        let text = "Features for eth0:\nrx-checksumming: on\n\
                    tcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\n\
                    generic-segmentation-offload: on\ngeneric-receive-offload: off\n";
        assert_eq!(features_on(text, &SEGMENTATION), ["tso", "gso"]);
        assert_eq!(features_on(text, &CHECKSUMS), ["rx"]);
        let fixed = text.replace(
            "generic-segmentation-offload: on",
            "generic-segmentation-offload: on [fixed]",
        );
        assert_eq!(features_on(&fixed, &SEGMENTATION), ["tso"]);
        assert!(features_on("", &SEGMENTATION).is_empty());
    }
}
