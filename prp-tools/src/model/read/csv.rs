//! A header that names the columns, and one measurement a line.

use prp_model::fit::{Played, Sample, TimeKind};
use prp_model::graph::PatternKind;
use prp_model::unit::{Bytes, Hops, Seconds};

use super::ReadError;
use crate::model::compare::kind;

/// A column.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum CsvColumn {
    Bytes,
    Seconds,
    Hops,
    Messages,
    Pairs,
    Kind,
    Round,
    Pattern,
    Processes,
}

/// More processes than this are scheduled for longer than anyone waits.
const MOST_PROCESSES: u32 = 4096;

const COLUMNS: &str = "bytes, seconds, hops, messages, pairs, kind, round, pattern, processes";

pub(super) fn samples(text: &str) -> Result<Vec<Sample>, ReadError> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (at, header) = lines.next().ok_or_else(|| ReadError::new("no header"))?;
    let columns = columns(at, header)?;
    lines.map(|(at, line)| sample(at, line, &columns)).collect()
}

fn columns(at: usize, header: &str) -> Result<Vec<CsvColumn>, ReadError> {
    let column = |name: &str| match name.trim() {
        "bytes" => Ok(CsvColumn::Bytes),
        "seconds" => Ok(CsvColumn::Seconds),
        "hops" => Ok(CsvColumn::Hops),
        "messages" => Ok(CsvColumn::Messages),
        "pairs" => Ok(CsvColumn::Pairs),
        "kind" => Ok(CsvColumn::Kind),
        "round" => Ok(CsvColumn::Round),
        "pattern" => Ok(CsvColumn::Pattern),
        "processes" => Ok(CsvColumn::Processes),
        other => Err(ReadError::at(at, format!("no column {other:?}: there are {COLUMNS}"))),
    };
    let columns: Vec<CsvColumn> = header.split(',').map(column).collect::<Result<_, _>>()?;
    for needed in [CsvColumn::Bytes, CsvColumn::Seconds] {
        if !columns.contains(&needed) {
            return Err(ReadError::at(at, "the header needs bytes and seconds"));
        }
    }
    if columns.contains(&CsvColumn::Pattern) != columns.contains(&CsvColumn::Processes) {
        return Err(ReadError::at(at, "pattern and processes belong together"));
    }
    Ok(columns)
}

fn sample(at: usize, line: &str, columns: &[CsvColumn]) -> Result<Sample, ReadError> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        let what = format!("{} cells under {} columns", cells.len(), columns.len());
        return Err(ReadError::at(at, what));
    }
    let no = |cell: &str, what: &str| ReadError::at(at, format!("{cell:?} is no {what}"));
    let number = |cell: &str, what: &str| {
        let parsed = cell.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        parsed.ok_or_else(|| no(cell, what))
    };
    let count = |cell: &str, what: &str| cell.parse::<u32>().map_err(|_| no(cell, what));
    let mut sample = Sample::one_way(Bytes::new(0.0), Seconds::new(0.0));
    let (mut pattern, mut processes) = (None, 0);
    for (column, cell) in columns.iter().zip(cells) {
        match column {
            CsvColumn::Bytes => sample.size = Bytes::new(number(cell, "size in bytes")?),
            CsvColumn::Seconds => sample.time = Seconds::new(number(cell, "time in seconds")?),
            CsvColumn::Hops => sample.hops = Some(Hops::new(number(cell, "number of hops")?)),
            CsvColumn::Messages => sample.messages = count(cell, "number of messages")?,
            CsvColumn::Pairs => sample.pairs = count(cell, "number of pairs")?,
            CsvColumn::Round => sample.round = Some(count(cell, "number of a round")?),
            CsvColumn::Pattern => {
                pattern = Some(kind(cell).ok_or_else(|| no(cell, "pattern"))?);
            }
            CsvColumn::Processes => processes = count(cell, "number of processes")?,
            CsvColumn::Kind => {
                sample.kind = match cell {
                    "one-way" => TimeKind::OneWay,
                    "send" => TimeKind::Send,
                    _ => return Err(no(cell, "kind: one-way or send")),
                }
            }
        }
    }
    if sample.time.number() <= 0.0 {
        return Err(ReadError::at(at, "a time of 0 s"));
    }
    if let Some(kind) = pattern {
        if !(kind.suits(processes) && processes <= MOST_PROCESSES) {
            let what = format!("there is no such pattern among {processes} processes");
            return Err(ReadError::at(at, what));
        }
        // Of the processors the caller knows.
        sample.played = Some(Played { kind, processes, processors: 0 });
        if kind == PatternKind::Pairs {
            sample.pairs = processes / 2;
        }
    }
    Ok(sample)
}
