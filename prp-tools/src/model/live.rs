//! Measuring first: `prp perf sweep` to another node, in a process of its own, so that what it
//! prints does not get into the answer. Its progress goes to standard error as ever.

use std::cell::RefCell;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;

use crate::argument::{input_file, peer_port};
use crate::exit::{Code, Failure};

/// How to measure.
#[derive(Clone, Debug, Args)]
pub(super) struct LiveArgs {
    /// Measure first: messages from 0 bytes to 1 MiB to this node, where `prp perf serve` runs
    #[arg(long, value_name = "NODE", conflicts_with = "files")]
    live: Option<String>,

    /// The server's PRP port
    #[arg(long, value_name = "PORT", requires = "live", value_parser = peer_port)]
    port: Option<u16>,

    /// Seconds of measuring for each transport
    #[arg(long, value_name = "SECS", requires = "live")]
    time: Option<f64>,

    /// Measure this beside PRP, as `prp perf sweep --vs` does; may be given several times
    #[arg(long = "vs", value_name = "WHAT", requires = "live")]
    versus: Vec<String>,

    /// How threads of both ends wait for data: block, spin, adaptive
    #[arg(long, value_name = "MODE", requires = "live")]
    wait: Option<String>,

    /// The prphosts to use
    #[arg(long, value_name = "FILE", requires = "live", value_parser = input_file())]
    hosts: Option<PathBuf>,

    /// What was measured: a command may want it twice.
    #[arg(skip)]
    measured: RefCell<Option<String>>,
}

impl LiveArgs {
    pub(super) fn is_wanted(&self) -> bool {
        self.live.is_some()
    }

    /// The arguments of `prp perf` for it.
    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["perf", "sweep", "--json", "-"].map(Into::into).into();
        let mut add = |name: &str, value: Option<OsString>| {
            if let Some(value) = value {
                words.extend([name.into(), value]);
            }
        };
        add("--port", self.port.map(|port| port.to_string().into()));
        add("--time", self.time.map(|time| time.to_string().into()));
        add("--wait", self.wait.clone().map(Into::into));
        add("--hosts", self.hosts.clone().map(Into::into));
        self.versus.iter().for_each(|versus| add("--vs", Some(versus.into())));
        words.push("--".into());
        words.extend(self.live.iter().map(Into::into));
        words
    }
}

/// Measures, unless that was done; what `prp perf sweep` writes.
pub(super) fn measure(args: &LiveArgs) -> Result<String, Failure> {
    if let Some(text) = &*args.measured.borrow() {
        return Ok(text.clone());
    }
    let program = env::current_exe().map_err(|e| Failure::local("this program", &e))?;
    let measuring = Command::new(program).args(args.words()).stderr(Stdio::inherit()).output();
    let output = measuring.map_err(|e| Failure::local("prp perf sweep", &e))?;
    if !output.status.success() {
        // What was wrong it has said itself; how a network fails is worth the same code here.
        let code = match output.status.code() {
            Some(2) => Code::Usage,
            Some(3) => Code::Refused,
            Some(4) => Code::TimedOut,
            Some(5) => Code::Unreachable,
            Some(6) => Code::NotPermitted,
            _ => Code::Failed,
        };
        return Err(Failure::new(code, "nothing was measured: prp perf sweep failed"));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    args.measured.replace(Some(text.clone()));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words__are_those_of_prp_perf() {
        let args = LiveArgs {
            live: Some("beta".into()),
            port: Some(7),
            time: Some(0.5),
            versus: vec!["tcp".into()],
            wait: Some("spin".into()),
            hosts: None,
            measured: RefCell::default(),
        };
        let words = args
            .words()
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(words, "perf sweep --json - --port 7 --time 0.5 --wait spin --vs tcp -- beta");
    }
}
