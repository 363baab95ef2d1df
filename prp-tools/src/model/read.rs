//! Measurements from files of programs that measure: each format is told by what is in the file.

mod csv;
mod perf;
mod table;

use std::fmt;

use clap::ValueEnum;
use prp_model::fit::Sample;

/// What a file is.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum Format {
    /// Find out from the text
    #[default]
    Auto,
    /// A header and a measurement a line: bytes, seconds, and if wanted hops, messages, pairs,
    /// kind, round
    Csv,
    /// What `prp perf sweep` or `prp perf latency` wrote with --json
    Perf,
    /// The table of osu_latency
    Osu,
    /// The table of IMB-MPI1 PingPong
    Imb,
    /// NetPIPE's np.out, or what it prints
    Netpipe,
}

/// What is wrong with a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ReadError {
    /// The line, from 1 on, if one of them.
    line: Option<usize>,
    what: String,
}

impl ReadError {
    fn at(line: usize, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into() }
    }

    fn new(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The measurements of a text: those of `transport`, where it has several.
pub(super) fn parse(text: &str, format: Format, transport: &str) -> Result<Vec<Sample>, ReadError> {
    let format = if format == Format::Auto { guess(text) } else { format };
    let samples = match format {
        Format::Perf => perf::samples(text, transport)?,
        Format::Osu => table::osu(text)?,
        Format::Imb => table::imb(text)?,
        Format::Netpipe => table::netpipe(text)?,
        Format::Csv | Format::Auto => csv::samples(text)?,
    };
    if samples.is_empty() {
        return Err(ReadError::new("no measurements in it"));
    }
    Ok(samples)
}

/// The transports that a text has measurements of; one without a name where it does not say.
pub(super) fn transports(text: &str) -> Vec<String> {
    if guess(text) == Format::Perf { perf::transports(text) } else { Vec::new() }
}

/// The format of a text, by its first lines.
fn guess(text: &str) -> Format {
    if text.trim_start().starts_with('{') {
        return Format::Perf;
    }
    if text.contains("#repetitions") {
        return Format::Imb;
    }
    if text.lines().any(|line| line.starts_with('#') && line.contains("OSU")) {
        return Format::Osu;
    }
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let words: Vec<&str> = first.unwrap_or_default().split_whitespace().collect();
    match &words[..] {
        _ if text.contains("-->") && text.contains("usec") => Format::Netpipe,
        [size, rate, time] if [size, rate, time].into_iter().all(|word| is_number(word)) => {
            Format::Netpipe
        }
        [size, time] if is_number(size) && is_number(time) => Format::Osu,
        _ => Format::Csv,
    }
}

#[cfg(test)]
mod tests;
