//! Segmentation offloads of a device, which let the kernel's TCP hand over 64 KiB at a time where others
//! hand over frames. Turned off for a while they leave TCP with the frames everybody has.

use std::io::{self, ErrorKind};
use std::process::{Command, Stdio};

use prp_sock::raw::FirstHop;
use prp_sock::{HostsFile, NodeId};

/// What gathers or cuts frames, by ethtool's long name and by its short one. Checksum offload stays on:
/// PRP computes none either.
const FEATURES: [(&str, &str); 3] = [
    ("tcp-segmentation-offload", "tso"),
    ("generic-segmentation-offload", "gso"),
    ("generic-receive-offload", "gro"),
];

/// Offloads are off until this is dropped.
#[derive(Debug)]
pub(super) struct OffloadsOff {
    device: String,
    /// Those that were on.
    features: Vec<&'static str>,
}

impl OffloadsOff {
    /// Turns them off on the device that leads to `node`.
    ///
    /// # Errors
    /// If ethtool is missing or may not do it.
    pub(super) fn toward(hosts: &HostsFile, node: NodeId) -> io::Result<Self> {
        let device = FirstHop::toward(hosts, node)?.device;
        let features = features_on(&ethtool(&["-k", &device])?);
        // From here on dropping it mends what was done, even if that was not all.
        let off = Self { device, features };
        off.set("off")?;
        Ok(off)
    }

    fn set(&self, to: &str) -> io::Result<()> {
        let mut words = vec!["-K", &self.device];
        words.extend(self.features.iter().flat_map(|feature| [feature, to]));
        if self.features.is_empty() { Ok(()) } else { ethtool(&words).map(drop) }
    }
}

impl Drop for OffloadsOff {
    fn drop(&mut self) {
        // What could be turned off can be turned on.
        let _ = self.set("on");
    }
}

/// Which of [`FEATURES`] are on and can be turned off, in what `ethtool -k` printed.
fn features_on(text: &str) -> Vec<&'static str> {
    let is_on = |long: &str| {
        let value =
            text.lines().find_map(|line| line.trim().strip_prefix(long)?.strip_prefix(": "));
        value == Some("on")
    };
    FEATURES.into_iter().filter(|(long, _)| is_on(long)).map(|(_, short)| short).collect()
}

fn ethtool(words: &[&str]) -> io::Result<String> {
    let ran = Command::new("ethtool").args(words).stdin(Stdio::null()).output();
    let output = ran.map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            io::Error::other("tcp-no-offload needs ethtool: apt install ethtool, on both nodes")
        }
        _ => e,
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("ethtool {}: {}", words.join(" "), said.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_on__as_ethtool_prints_them() {
        let text = "Features for eth0:\nrx-checksumming: on\n\
                    tcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\n\
                    generic-segmentation-offload: on\ngeneric-receive-offload: off\n";
        assert_eq!(features_on(text), ["tso", "gso"]);
        let fixed = text.replace(
            "generic-segmentation-offload: on",
            "generic-segmentation-offload: on [fixed]",
        );
        assert_eq!(features_on(&fixed), ["tso"]);
        assert!(features_on("").is_empty());
    }
}
