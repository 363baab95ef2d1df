//! QEMU's own protocol (QMP), by which the host pauses a machine or pulls its cables.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::failure::{Context, Failure, Outcome};

/// An answer takes as long as QEMU holds its lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a running QEMU.
#[derive(Debug)]
pub(super) struct Qmp {
    reader: BufReader<UnixStream>,
}

impl Qmp {
    /// Connects to the socket at `path`.
    pub(super) fn connect(path: &Path) -> Outcome<Self> {
        let stream = UnixStream::connect(path).context(path.display())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut qmp = Self { reader: BufReader::new(stream) };
        qmp.next()?;
        qmp.execute("qmp_capabilities", &json!({}))?;
        Ok(qmp)
    }

    /// Executes a command to its end.
    pub(super) fn execute(&mut self, command: &str, arguments: &Value) -> Outcome<Value> {
        let line = json!({ "execute": command, "arguments": arguments });
        self.reader.get_ref().write_all(format!("{line}\n").as_bytes()).context("QEMU")?;
        loop {
            let mut answer = self.next()?;
            if let Some(error) = answer.get("error") {
                return Err(Failure::new(format!("QEMU refuses {command}: {}", error["desc"])));
            }
            // The others are events.
            if let Some(value) = answer.get_mut("return") {
                return Ok(value.take());
            }
        }
    }

    fn next(&mut self) -> Outcome<Value> {
        let mut line = String::new();
        if self.reader.read_line(&mut line).context("QEMU")? == 0 {
            return Err(Failure::new("QEMU has ended"));
        }
        Ok(serde_json::from_str(&line)?)
    }
}
