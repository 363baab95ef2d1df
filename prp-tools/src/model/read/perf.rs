//! What `prp perf sweep --json` and `prp perf latency --json` write: a median for each round of
//! each size.

use prp_model::fit::Sample;
use prp_model::unit::{Bytes, Seconds};
use serde_json::Value;

use super::ReadError;

pub(super) fn samples(text: &str, transport: &str) -> Result<Vec<Sample>, ReadError> {
    let report = report(text)?;
    let results = &report["results"][transport];
    if results.is_null() {
        let known = names(&report).join(", ");
        let text = match known.as_str() {
            "" => "no results in it: expected what `prp perf sweep --json` writes".to_owned(),
            known => format!("nothing of {transport} in it: there is {known}"),
        };
        return Err(ReadError::new(text));
    }
    match report["command"].as_str() {
        Some("sweep") => {
            let points = results.as_array().ok_or_else(|| no("a list of sizes"))?;
            let each = points.iter().map(|point| rounds(point, &point["size"]));
            Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Some("latency") => rounds(results, &report["settings"]["size"]),
        Some(other) => {
            let what =
                format!("prp perf {other} measures no times of messages: take sweep or latency");
            Err(ReadError::new(what))
        }
        None => Err(no("what was measured (`command`)")),
    }
}

/// The transports in it.
pub(super) fn transports(text: &str) -> Vec<String> {
    report(text).map(|report| names(&report)).unwrap_or_default()
}

fn report(text: &str) -> Result<Value, ReadError> {
    serde_json::from_str(text).map_err(|e| ReadError::at(e.line(), format!("no JSON: {e}")))
}

fn names(report: &Value) -> Vec<String> {
    let names = report["results"].as_object().map(|all| all.keys().cloned().collect());
    names.unwrap_or_default()
}

fn no(what: &str) -> ReadError {
    ReadError::new(format!("it does not say {what}"))
}

/// Each round's median is a measurement.
fn rounds(latency: &Value, size: &Value) -> Result<Vec<Sample>, ReadError> {
    let size = size.as_f64().ok_or_else(|| no("the size of messages"))?;
    let rounds = latency["p50_us"]["rounds"].as_array();
    let rounds = rounds.ok_or_else(|| no("the rounds' medians (`p50_us`)"))?;
    let sample = |round: &Value| {
        let micros = round.as_f64().filter(|micros| *micros > 0.0);
        let micros = micros.ok_or_else(|| no("how long a round's messages took"))?;
        Ok(Sample::one_way(Bytes::new(size), Seconds::from_micros(micros)))
    };
    rounds.iter().map(sample).collect()
}
