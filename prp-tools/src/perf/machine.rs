//! The machine an end runs on: figures are only worth comparing where it is the same.

use std::fs;

use serde::{Deserialize, Serialize};

/// What a reader of figures wants to know of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor's name.
    pub(crate) cpu: String,
    /// Processors of the machine; this process may be confined to a part of them.
    pub(crate) cores: usize,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// The version of this program.
    pub(crate) version: String,
}

impl Machine {
    /// This one.
    pub(crate) fn here() -> Self {
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cpu: cpu_name(&info).unwrap_or(std::env::consts::ARCH).to_owned(),
            cores: processors(&info),
            kernel: release.trim().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The name of the first processor in the text of /proc/cpuinfo; some architectures have none.
fn cpu_name(info: &str) -> Option<&str> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim())
}

/// Processors in the text of /proc/cpuinfo.
fn processors(info: &str) -> usize {
    info.lines().filter(|line| line.starts_with("processor")).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_name__of_the_first() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Other\n";
        assert_eq!(cpu_name(text), Some("Some CPU @ 2 GHz"));
        assert_eq!(cpu_name("processor : 0\n"), None);
    }

    #[test]
    fn processors__of_the_machine() {
        assert_eq!(processors("processor\t: 0\nmodel name: X\n\nprocessor\t: 1\n"), 2);
        assert_eq!(processors(""), 1);
    }

    #[test]
    fn here__tells_something() {
        let machine = Machine::here();
        assert!(machine.cores > 0 && !machine.cpu.is_empty() && !machine.kernel.is_empty());
    }
}
