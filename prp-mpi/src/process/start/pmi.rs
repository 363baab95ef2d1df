//! Process managers that other launchers have: PMI-1 (`mpiexec` of MPICH and of Intel, which is
//! Hydra) and PMI-2 (`srun --mpi=pmi2`). Both keep texts under keys, and have all ranks wait for
//! each other.
//!
//! A request and its answer are a line in PMI-1, `cmd=get key=K`; in PMI-2 they are six digits that
//! count the bytes behind them, `cmd=kvs-get;key=K;`.

use std::collections::HashMap;
use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

use crate::sys::descriptors;

/// Longest answer that is read: the longest value is 1024 bytes, with its key and the rest around
/// it.
const LONGEST: usize = 64 << 10;

/// Which of the two is spoken.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Version {
    One,
    Two,
}

/// The connection to a process manager.
#[derive(Debug)]
pub(crate) struct Pmi {
    stream: BufReader<UnixStream>,
    version: Version,
    rank: usize,
    size: usize,
    /// Name of the job's keys in PMI-1, of the job in PMI-2.
    job: String,
    /// Exchanges so far: each has keys of its own.
    exchanges: u32,
    has_finished: bool,
}

impl Pmi {
    /// The manager that the environment names, if it does.
    ///
    /// # Errors
    /// `InvalidInput` if the variables make no sense; those of the connection.
    pub(super) fn from_environment() -> io::Result<Option<Self>> {
        let number = |name: &str| -> io::Result<Option<usize>> {
            let Ok(text) = env::var(name) else { return Ok(None) };
            let wrong = || io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is wrong"));
            text.parse().map(Some).map_err(|_| wrong())
        };
        let (fd, rank, size) = (number("PMI_FD")?, number("PMI_RANK")?, number("PMI_SIZE")?);
        let (Some(fd), Some(rank), Some(size)) = (fd, rank, size) else { return Ok(None) };
        if rank >= size {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "PMI_RANK is wrong"));
        }
        let stream = descriptors::inherited(i32::try_from(fd).unwrap_or(-1)).map_err(|e| {
            let text = format!(
                "PMI_FD={fd}, which a launcher has set, is no open descriptor: {e}; keep it open in the \
                 programs between (Python: subprocess with close_fds=False), or unset PMI_FD"
            );
            io::Error::new(e.kind(), text)
        })?;
        // Only srun names the job.
        let job = env::var("PMI_JOBID").ok();
        let version = if job.is_some() { Version::Two } else { Version::One };
        Self::begin(stream, version, rank, size, job.unwrap_or_default()).map(Some)
    }

    /// Says which ranks are there.
    pub(super) fn begin(
        stream: UnixStream,
        version: Version,
        rank: usize,
        size: usize,
        job: String,
    ) -> io::Result<Self> {
        let stream = BufReader::new(stream);
        let mut pmi = Self {
            stream,
            version: Version::One,
            rank,
            size,
            job,
            exchanges: 0,
            has_finished: false,
        };
        // Both begin with a line.
        let (major, minor) = if version == Version::One { ("1", "1") } else { ("2", "0") };
        pmi.ask("init", &[("pmi_version", major), ("pmi_subversion", minor)])?;
        pmi.version = version;
        if version == Version::One {
            pmi.job = pmi.ask("get_my_kvsname", &[])?.remove("kvsname").unwrap_or_default();
        } else {
            let (job, rank) = (pmi.job.clone(), rank.to_string());
            let fields = [("pmijobid", &*job), ("pmirank", &*rank), ("threaded", "FALSE")];
            pmi.ask("fullinit", &fields)?;
        }
        Ok(pmi)
    }

    pub(super) const fn rank(&self) -> usize {
        self.rank
    }

    /// Gives all ranks each other's texts.
    ///
    /// # Errors
    /// Those of the connection; `InvalidData` if the manager says no.
    pub(super) fn exchange(&mut self, ours: &str) -> io::Result<Vec<String>> {
        self.exchanges += 1;
        let (exchange, job) = (self.exchanges, self.job.clone());
        let key = |rank: usize| format!("prp-{exchange}-{rank}");
        let (ours, our_key) = (escaped(ours), key(self.rank));
        match self.version {
            Version::One => {
                self.ask("put", &[("kvsname", &job), ("key", &our_key), ("value", &ours)])?;
                self.ask("barrier_in", &[])?;
            }
            Version::Two => {
                self.ask("kvs-put", &[("key", &our_key), ("value", &ours)])?;
                self.ask("kvs-fence", &[])?;
            }
        }
        let texts = (0..self.size).map(|rank| {
            let key = key(rank);
            let mut answer = match self.version {
                Version::One => self.ask("get", &[("kvsname", &job), ("key", &key)])?,
                Version::Two => {
                    self.ask("kvs-get", &[("jobid", &job), ("srcid", "-1"), ("key", &key)])?
                }
            };
            let value = answer.remove("value").and_then(|v| unescaped(&v));
            value.ok_or_else(|| invalid(format!("the launcher has no address of rank {rank}")))
        });
        texts.collect()
    }

    /// Says that this rank leaves the job, once: managers know no return. What the manager says
    /// to that is of no use.
    pub(crate) fn finish(&mut self) {
        if !std::mem::replace(&mut self.has_finished, true) {
            let _ = self.ask("finalize", &[]);
        }
    }

    /// Asks for the end of the job. No answer comes.
    pub(crate) fn abort(&mut self, status: i32) {
        let status = status.to_string();
        let _ = match self.version {
            Version::One => self.send("abort", &[("exitcode", &status)]),
            Version::Two => self.send("abort", &[("isworld", "TRUE"), ("msg", &status)]),
        };
    }

    fn ask(
        &mut self,
        command: &str,
        fields: &[(&str, &str)],
    ) -> io::Result<HashMap<String, String>> {
        self.send(command, fields)?;
        let answer = match self.version {
            Version::One => {
                let mut line = String::new();
                (&mut self.stream).take(LONGEST as u64).read_line(&mut line)?;
                parsed(&line, ' ')
            }
            Version::Two => {
                let mut digits = [0; 6];
                self.stream.read_exact(&mut digits)?;
                let len = std::str::from_utf8(&digits).ok().and_then(|d| d.trim().parse().ok());
                let len = len.filter(|len| *len <= LONGEST);
                let len = len.ok_or_else(|| invalid("the launcher's answer has no length"))?;
                let mut content = vec![0; len];
                self.stream.read_exact(&mut content)?;
                parsed(&String::from_utf8_lossy(&content), ';')
            }
        };
        if answer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match answer.get("rc").map(String::as_str) {
            None | Some("0") => Ok(answer),
            Some(code) => Err(invalid(format!("the launcher says {code} to {command}"))),
        }
    }

    fn send(&mut self, command: &str, fields: &[(&str, &str)]) -> io::Result<()> {
        let between = if self.version == Version::One { ' ' } else { ';' };
        let mut text = format!("cmd={command}");
        for (key, value) in fields {
            text.push_str(&format!("{between}{key}={value}"));
        }
        let text = match self.version {
            Version::One => format!("{text}\n"),
            Version::Two => format!("{:6}{text};", text.len() + 1),
        };
        self.stream.get_mut().write_all(text.as_bytes())
    }
}

/// The fields of an answer.
fn parsed(text: &str, between: char) -> HashMap<String, String> {
    let fields = text.trim_end().split(between).filter_map(|field| field.split_once('='));
    fields.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

/// A text without the characters between fields.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_./:[]".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// The text again.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;
