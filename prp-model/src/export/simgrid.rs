//! A platform file for SimGrid's SMPI, with the options that make its messages take the model's
//! times.

use std::fmt::Write;

use super::head;
use super::pieces::{Piece, pieces};
use crate::fit::Fit;

/// Bytes that SMPI adds to each message; the platform takes them off.
const HEADER: f64 = 16.0;

/// Links of a message: one from its sender and one to its receiver.
const LINKS: f64 = 2.0;

/// A bandwidth for models in which a byte costs nothing.
const ENDLESS: f64 = 1e15;

/// A factor below this is one that SimGrid does not take.
const MIN_FACTOR: f64 = 1e-9;

/// A platform of `hosts` hosts with `processors` each on one switch, between any two of which a
/// message takes the time that `fit` predicts. For SimGrid 3.32 and later; contention on the links
/// is SimGrid's own.
#[must_use]
pub fn simgrid(fit: &Fit, hosts: u32, processors: u32) -> String {
    let pieces: Vec<Piece> = pieces(fit)
        .into_iter()
        .map(|piece| Piece { intercept: piece.intercept - HEADER * piece.slope, ..piece })
        .collect();
    let latency = pieces[0].intercept.max(f64::MIN_POSITIVE);
    let slope = pieces[pieces.len() - 1].slope;
    let bandwidth = if slope > 0.0 { 1.0 / slope } else { ENDLESS };
    let factors = |of: &dyn Fn(&Piece) -> f64| {
        let factor = |piece: &Piece| {
            let from = if piece.above > 0.0 { (piece.above + HEADER).round() } else { 0.0 };
            format!("{from}:{:e}", of(piece).max(MIN_FACTOR))
        };
        pieces.iter().map(factor).collect::<Vec<_>>().join(";")
    };
    let late = factors(&|piece| piece.intercept / latency);
    let wide = factors(&|piece| {
        if piece.slope > 0.0 { 1.0 / (piece.slope * bandwidth) } else { 1.0 }
    });
    let mut about = String::new();
    for line in head(fit) {
        // Writing to a string does not fail.
        let _ = writeln!(about, "  {}", line.replace("--", "- -"));
    }
    let (last, half) = (hosts.max(1) - 1, latency / LINKS);
    format!(
        r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!--
{about}  It does not see what hosts do beside sending: computing costs nothing here, and messages
  of ranks that share a host's cores do not wait for those.
-->
<platform version="4.1">
  <config>
    <prop id="network/model" value="SMPI"/>
    <prop id="smpi/lat-factor" value="{late}"/>
    <prop id="smpi/bw-factor" value="{wide}"/>
    <prop id="network/TCP-gamma" value="0"/>
    <prop id="network/weight-S" value="0"/>
    <prop id="network/crosstraffic" value="no"/>
    <prop id="smpi/os" value="0:0:0"/>
    <prop id="smpi/or" value="0:0:0"/>
    <prop id="smpi/ois" value="0:0:0"/>
    <prop id="smpi/wtime" value="0"/>
    <prop id="smpi/simulate-computation" value="no"/>
  </config>
  <cluster id="nodes" prefix="node" suffix="" radical="0-{last}" speed="1Gf" core="{processors}" bw="{bandwidth:e}Bps" lat="{half:e}s" sharing_policy="SPLITDUPLEX"/>
</platform>
"#
    )
}
