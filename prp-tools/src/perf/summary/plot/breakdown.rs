//! Where the time of a small message goes: the paper's figure 3. By subtraction: raw frames have no
//! protocol, and a thread that spins does not sleep.

use std::path::Path;

use plotters::prelude::*;

use super::{PlotResult, Runs, canvas};

/// What a message of 64 bytes spends, in microseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct LatencyParts {
    name: &'static str,
    /// System call, virtual wire, receiving ring.
    device: f64,
    /// Protocol and engine; of TCP all of the kernel's work.
    protocol: f64,
    /// Falling asleep and being woken.
    waking: f64,
}

/// What is known.
pub(super) fn parts(runs: &Runs) -> Vec<LatencyParts> {
    let median = |wait: &str, transport: &str| {
        let path = format!("results.{transport}.p50_us.median");
        runs.number(&format!("latency.{wait}.64"), &path)
    };
    let all = || {
        let (raw, prp, tcp) =
            (median("spin", "raw")?, median("spin", "prp")?, median("spin", "tcp")?);
        let (prp_block, tcp_block) = (median("block", "prp")?, median("block", "tcp")?);
        let rest = |a: f64, b: f64| (a - b).max(0.0);
        let (prp_own, prp_sleep) = (rest(prp, raw), rest(prp_block, prp));
        Some(vec![
            LatencyParts { name: "PRP", device: raw, protocol: prp_own, waking: prp_sleep },
            LatencyParts { name: "TCP", device: 0.0, protocol: tcp, waking: rest(tcp_block, tcp) },
        ])
    };
    all().unwrap_or_default()
}

/// Draws it.
pub(super) fn draw(runs: &Runs, path: &Path) -> PlotResult {
    let parts = parts(runs);
    let top = parts.iter().map(|p| p.device + p.protocol + p.waking).fold(0.0, f64::max);
    if top <= 0.0 {
        return Ok(());
    }
    let sheet = canvas::sheet(path)?;
    let mut chart = canvas::bars(
        &sheet,
        "64 bytes one way between sleeping processes",
        parts.len(),
        top,
        "microseconds",
    )?;
    type Part = fn(&LatencyParts) -> f64;
    let kinds: [(&str, RGBColor, Part); 3] = [
        ("packet socket and wire (raw frames, spinning)", RGBColor(0x66, 0x6a, 0x73), |p| p.device),
        ("protocol (spinning, less that)", RGBColor(0x1b, 0x6c, 0xa8), |p| p.protocol),
        ("sleeping and waking (blocking, less spinning)", RGBColor(0xed, 0xae, 0x49), |p| p.waking),
    ];
    let mut bases = vec![0.0; parts.len()];
    for (name, colour, part) in kinds {
        let bars: Vec<_> = parts
            .iter()
            .zip(&mut bases)
            .enumerate()
            .map(|(n, (parts, base))| {
                let (left, low) = (n as f64 + 0.25, *base);
                *base += part(parts);
                Rectangle::new([(left, low), (left + 0.5, *base)], colour.filled())
            })
            .collect();
        chart.draw_series(bars)?.label(name).legend(move |at| canvas::swatch(at, colour));
    }
    let names = parts.iter().zip(&bases).enumerate().map(|(n, (parts, height))| {
        canvas::name((n as f64 + 0.47, height + top * 0.05), parts.name)
    });
    chart.draw_series(names)?;
    canvas::legend(&mut chart)?;
    Ok(sheet.present()?)
}
