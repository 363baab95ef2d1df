//! What `netns-scripts/bench --links` has run: links with a rate and a delay, and the bars of
//! those.
//!
//! The name of a run has the link in it: `links.udp.1000.25.stream` is a stream over UDP at 1,000
//! Mbit/s and 25 us. All bars but that of goodput are of links without a delay, since the program
//! that delays takes part of the processors.

use std::collections::BTreeSet;
use std::fmt;

use prp_model::rounds;
use serde_json::{Value, json};

use super::keys::{gbps, insert};
use super::runs::Runs;
use crate::bar::Bar;

/// Bytes of a full frame at MTU 1500, as a rate limit counts them.
const FRAME: f64 = 1514.0;

/// Payload of a full frame, and what the headers of IPv4 and UDP leave of it.
const PAYLOAD: [f64; 2] = [1484.0, 1484.0 - 28.0];

/// The part of what fits from which a link counts as full.
const FULL: f64 = 0.985;

/// What a stream is compared with.
const TRANSPORTS: [&str; 4] = ["prp", "tcp", "tcp_no_segmentation", "raw"];

/// What `prp-bench timer` has printed.
const TIMER: &str = "links.timer";

/// A link.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
struct Link<'a> {
    is_udp: bool,
    /// Mbit/s; `None` without a limit.
    rate: Option<u32>,
    /// Microseconds in each direction.
    delay: u32,
    /// What is in the names of its runs.
    name: &'a str,
}

impl<'a> Link<'a> {
    /// The link, and what was run on it, of the name of a run; `None` if it is another's.
    fn of(run: &'a str) -> Option<(Self, &'a str)> {
        let rest = run.strip_prefix("links.")?;
        let mut words = rest.splitn(4, '.');
        let (underlay, rate, delay, what) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        let name = &rest[..rest.len() - what.len() - 1];
        let is_udp = match underlay {
            "ethernet" => false,
            "udp" => true,
            _ => return None,
        };
        let rate = if rate == "none" { None } else { Some(rate.parse().ok()?) };
        Some((Self { is_udp, rate, delay: delay.parse().ok()?, name }, what))
    }

    /// The name of a run on it.
    fn run(self, what: &str) -> String {
        format!("links.{}.{what}", self.name)
    }

    /// The part of `gbps` in what fits.
    fn filled(self, gbps: f64) -> Option<f64> {
        let payload = PAYLOAD[usize::from(self.is_udp)];
        Some(gbps * 1e3 / (f64::from(self.rate?) * payload / FRAME))
    }

    /// The part of what fits that `transport` gets through.
    fn fullness(self, runs: &Runs, transport: &str) -> Option<f64> {
        self.filled(runs.number(&self.run("stream"), &gbps(transport))?)
    }
}

/// For people.
impl fmt::Display for Link<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let underlay = if self.is_udp { "UDP" } else { "Ethernet" };
        let rate = self.rate.map_or_else(|| "no limit".to_owned(), |rate| format!("{rate} Mbit/s"));
        f.pad(&format!("{underlay}, {rate}, {} us", self.delay))
    }
}

/// Links of these runs, in order.
fn links(runs: &Runs) -> BTreeSet<Link<'_>> {
    runs.names().filter_map(|name| Some(Link::of(name)?.0)).collect()
}

/// Processor time of both ends for a gigabyte or a message, PRP's by that of `other`: the median of
/// the ratios of neighbouring rounds.
fn cpu_ratio(runs: &Runs, run: &str, cost: &str, other: &str) -> Option<f64> {
    rounds::ratio(&cpu(runs, run, cost, "prp"), &cpu(runs, run, cost, other))
}

/// Processor time of both ends in each round.
fn cpu(runs: &Runs, run: &str, cost: &str, transport: &str) -> Vec<f64> {
    let of = |end: &str| cpu_of_end(runs, run, cost, transport, end);
    of("client").into_iter().zip(of("server")).map(|(client, server)| client + server).collect()
}

/// That of one end.
fn cpu_of_end(runs: &Runs, run: &str, cost: &str, transport: &str, end: &str) -> Vec<f64> {
    let path = format!("results.{transport}.{cost}.{end}.cpu_s.rounds");
    let rounds = runs.value(run, &path).and_then(Value::as_array).map(Vec::as_slice);
    rounds.unwrap_or_default().iter().filter_map(Value::as_f64).collect()
}

/// The largest of those that were measured.
fn largest(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().reduce(f64::max)
}

/// PRP by TCP of the figure at `path`.
fn by_tcp(runs: &Runs, run: &str, path: &str) -> Option<f64> {
    let of = |transport: &str| runs.number(run, &format!("results.{transport}.{path}"));
    of("tcp").filter(|tcp| *tcp > 0.0).and_then(|tcp| Some(of("prp")? / tcp))
}

/// The least part of what fits at `rate`, over the links that raw frames of the same delay fill.
fn fullness(runs: &Runs, rate: u32) -> Option<f64> {
    let links = links(runs);
    let is_filled = |link: &Link<'_>| {
        let raw = links
            .iter()
            .find(|raw| !raw.is_udp && raw.rate == link.rate && raw.delay == link.delay);
        raw.and_then(|raw| raw.fullness(runs, "raw")).is_some_and(|part| part >= FULL)
    };
    let at_rate = links.iter().filter(|link| link.rate == Some(rate) && is_filled(link));
    at_rate.filter_map(|link| link.fullness(runs, "prp")).reduce(f64::min)
}

/// The bars.
pub(super) fn bars(runs: &Runs) -> Vec<Bar> {
    let stream_cpu = |link: &str, other: &str| {
        cpu_ratio(runs, &format!("links.{link}.stream"), "cost_per_gb", other)
    };
    let tcp = |name: &str, run: &str, sign: char, limits: (f64, f64)| {
        Bar::new(name, runs.number(&format!("links.{run}"), "ratios.tcp"), sign, limits)
    };
    let limited = cpu(runs, "links.ethernet.1000.0.stream", "cost_per_gb", "prp");
    let unlimited = cpu(runs, "links.ethernet.none.0.stream", "cost_per_gb", "prp");
    let sender = |transport: &str| {
        cpu_of_end(runs, "links.ethernet.1000.0.stream", "cost_per_gb", transport, "client")
    };
    let of_own = rounds::median(&limited).zip(rounds::median(&unlimited));
    let slow = ["ethernet.100.0", "udp.100.0"].map(|link| stream_cpu(link, "tcp"));
    let repeats = ["client", "server"].map(|end| {
        let path = format!("results.prp.ends.{end}.retransmitted");
        runs.number("links.ethernet.none.0.mtu65535", &path)
    });
    let bar = Bar::new;
    let mut bars = vec![
        bar(
            "1 Gbit/s over UDP: CPU s/GB, PRP / TCP",
            stream_cpu("udp.1000.0", "tcp"),
            '<',
            (1.5, 1.0),
        ),
        bar(
            "1 Gbit/s over Ethernet: CPU s/GB, PRP / TCP without segmentation",
            stream_cpu("ethernet.1000.0", "tcp_no_segmentation"),
            '<',
            (1.2, 0.8),
        ),
        bar(
            "1 Gbit/s over Ethernet: CPU s/GB of the sender, PRP / raw frames",
            rounds::ratio(&sender("prp"), &sender("raw")),
            '<',
            (1.1, 1.0),
        ),
        bar(
            "1 Gbit/s over Ethernet: CPU s/GB / that of no limit",
            of_own.map(|(limited, unlimited)| limited / unlimited),
            '<',
            (1.3, 1.0),
        ),
        bar(
            "100 Mbit/s: CPU s/GB, PRP / TCP, worse underlay",
            largest(slow.into_iter()),
            '<',
            (1.5, 1.0),
        ),
    ];
    let rates = [
        ("100 Mbit/s: goodput / what fits, worst link", 100),
        ("1 Gbit/s: goodput / what fits, worst link", 1000),
        ("2.5 Gbit/s: goodput / what fits, worst link", 2500),
        ("10 Gbit/s: goodput / what fits, worst link", 10_000),
    ];
    bars.extend(rates.map(|(name, rate)| bar(name, fullness(runs, rate), '>', (FULL, 0.998))));
    bars.extend(of_messages(runs));
    bars.extend([
        tcp("no limit, over UDP: goodput, PRP / TCP", "udp.none.0.stream", '>', (0.9, 1.2)),
        bar(
            "no limit, over UDP: CPU s/GB, PRP / TCP",
            stream_cpu("udp.none.0", "tcp"),
            '<',
            (1.3, 1.0),
        ),
        tcp("udp: 8 KiB, both spinning, PRP / TCP", "udp.none.0.spin.8192", '<', (1.1, 0.8)),
        tcp("udp: 64 KiB, both spinning, PRP / TCP", "udp.none.0.spin.65536", '<', (1.1, 0.8)),
        tcp("goodput MTU 65535, PRP / TCP", "ethernet.none.0.mtu65535", '>', (1.0, 1.5)),
        bar(
            "MTU 65535: segments sent again",
            repeats[0].zip(repeats[1]).map(|(client, server)| client + server),
            '<',
            (0.0, 0.0),
        ),
    ]);
    bars
}

/// Those of messages, with and without time to think.
fn of_messages(runs: &Runs) -> [Bar; 4] {
    // Without a delay.
    let all = || runs.names().filter_map(Link::of).filter(|(link, _)| link.delay == 0);
    let thinking = || {
        all().filter_map(|(link, what)| {
            let (time, _) = what.strip_prefix("think.")?.split_once('.')?;
            Some((time.parse::<u32>().ok()?, link.run(what)))
        })
    };
    let worst = |path: &str| {
        let runs_of = thinking().filter(|(time, _)| *time >= 20);
        largest(runs_of.map(|(_, run)| by_tcp(runs, &run, path)))
    };
    let at_a_millisecond = thinking().filter(|(time, _)| *time == 1000);
    let cpu = at_a_millisecond.map(|(_, run)| cpu_ratio(runs, &run, "cost_per_message", "tcp"));
    let large = all().filter(|(link, what)| {
        let size = what.strip_prefix("message.").and_then(|size| size.parse::<u32>().ok());
        matches!(link.rate, Some(1000 | 10_000)) && size.is_some_and(|size| size >= 8192)
    });
    let large = large.map(|(link, what)| runs.number(&link.run(what), "ratios.tcp"));
    let bar = Bar::new;
    [
        bar(
            "64 B, 1 KiB, thinking 20 us to 10 ms: p50, PRP / TCP, worst",
            worst("p50_us.median"),
            '<',
            (0.85, 0.5),
        ),
        bar(
            "64 B, 1 KiB, thinking 20 us to 10 ms: p99, PRP / TCP, worst",
            worst("p99_us"),
            '<',
            (0.85, 0.5),
        ),
        bar("thinking 1 ms: CPU by message, PRP / TCP, worst", largest(cpu), '<', (1.2, 1.0)),
        bar(
            "8 KiB to 1 MiB at 1 and 10 Gbit/s, PRP / TCP, worst",
            largest(large),
            '<',
            (1.05, 0.9),
        ),
    ]
}

/// A line for each link with a stream: goodput and processor time of PRP beside TCP and raw frames,
/// and what the program that delays has used; and a line with the processor time of each end.
pub(super) fn table(runs: &Runs) -> Vec<String> {
    let links: Vec<_> = links(runs)
        .into_iter()
        .filter(|link| runs.value(&link.run("stream"), "results.prp").is_some())
        .collect();
    if links.is_empty() {
        return Vec::new();
    }
    let show = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
    let head = format!(
        "{:32}{:>9}{:>9}{:>9}{:>9}{:>12}{:>9}{:>10}",
        "one stream: Gbit/s; CPU s/GB",
        "PRP",
        "TCP",
        "PRP",
        "TCP",
        "TCP no seg.",
        "raw",
        "delaying"
    );
    let rows = links.iter().map(|link| {
        let run = link.run("stream");
        let of = |transport: &str| show(runs.number(&run, &gbps(transport)));
        let cpu =
            |transport: &str| show(runs.number(&run, &format!("results.{transport}.cpu_s_per_gb")));
        format!(
            "{:32}{:>9}{:>9}{:>9}{:>9}{:>12}{:>9}{:>10}",
            link.to_string(),
            of("prp"),
            of("tcp"),
            cpu("prp"),
            cpu("tcp"),
            cpu("tcp_no_segmentation"),
            cpu("raw"),
            show(wire_cpu(runs, *link)),
        )
    });
    let row_of_ends = |first: &str, cells: &[String]| {
        let cells = cells.iter().map(|cell| format!("{cell:>9}"));
        format!("{first:32}{}", cells.collect::<String>())
    };
    let shown = ["PRP", "TCP", "raw"].map(str::to_owned);
    let head_of_ends = row_of_ends("CPU s/GB of sender; receiver", &[&shown[..], &shown].concat());
    let ends = links.iter().map(|link| {
        let cells = ["client", "server"].into_iter().flat_map(|end| {
            ["prp", "tcp", "raw"].map(|transport| {
                let path = format!("results.{transport}.cost_per_gb.{end}.cpu_s.median");
                show(runs.number(&link.run("stream"), &path))
            })
        });
        row_of_ends(&link.to_string(), &cells.collect::<Vec<_>>())
    });
    let ends = std::iter::once(head_of_ends).chain(ends);
    let added = links.iter().filter_map(|link| {
        let us = wire_us(runs, *link)?;
        Some(format!("the program that delays adds {us:.1} us to a message of 64 bytes, {link}"))
    });
    let note =
        "CPU is of the two programs: that of the program that delays is not in it".to_owned();
    let timer = runs.number(TIMER, "timer_us");
    let timer = timer.map(|us| format!("to arm a timer takes a processor {us:.1} us"));
    let lines = std::iter::once(head).chain(rows).chain(ends).chain(added).chain([note]);
    lines.chain(timer).chain([String::new()]).collect()
}

/// Processor time of the program that delays, for a gigabyte of a stream.
fn wire_cpu(runs: &Runs, link: Link<'_>) -> Option<f64> {
    let run = link.run("stream");
    let received = TRANSPORTS.iter().flat_map(|transport| {
        ["client", "server"].map(|end| {
            runs.number(&run, &format!("results.{transport}.ends.{end}.received")).unwrap_or(0.0)
        })
    });
    let gigabytes = received.sum::<f64>() / 1e9;
    let cpu = runs.number(&format!("{run}.wire"), "cpu_s")?;
    (gigabytes > 0.0).then(|| cpu / gigabytes)
}

/// Microseconds that it adds to a small message beyond its delay.
fn wire_us(runs: &Runs, link: Link<'_>) -> Option<f64> {
    let raw = |delay: u32| {
        let run = format!("links.ethernet.none.{delay}.raw");
        runs.number(&run, "results.raw.p50_us.median")
    };
    let is_first = !link.is_udp && link.delay > 0;
    is_first.then(|| Some(raw(link.delay)? - raw(0)? - f64::from(link.delay)))?
}

/// All figures, as nested objects by underlay, rate and delay.
pub(super) fn keys(runs: &Runs) -> Value {
    let mut keys = serde_json::Map::new();
    if let Some(us) = runs.number(TIMER, "timer_us") {
        insert(&mut keys, "timer_us", json!(us));
    }
    for (link, what) in runs.names().filter_map(Link::of) {
        let run = link.run(what);
        let place = link.name.to_owned();
        let mut put = |path: String, value: Option<f64>| {
            if let Some(value) = value {
                insert(&mut keys, &format!("{place}.{path}"), json!(value));
            }
        };
        // Of a node that computes besides: under a key of its own.
        let (within, what) = what.strip_prefix("busy.").map_or(("", what), |what| ("busy.", what));
        for transport in TRANSPORTS {
            let number = |path: &str| runs.number(&run, &format!("results.{transport}.{path}"));
            if what == "stream" {
                put(format!("{within}goodput_gbps.{transport}"), number("gbps.median"));
                put(format!("{within}cpu_s_per_gb.{transport}"), number("cpu_s_per_gb"));
                for end in ["client", "server"] {
                    for (name, path) in [
                        ("cpu_s_per_gb", "cpu_s.median"),
                        ("wake_ups_per_gb", "wake_ups"),
                        ("frames_per_wake_up", "frames_per_wake_up"),
                    ] {
                        let value = number(&format!("cost_per_gb.{end}.{path}"));
                        put(format!("{within}{end}.{name}.{transport}"), value);
                    }
                }
            } else if let Some(size) = what.strip_prefix("message.") {
                put(format!("{within}message_us.{size}.{transport}"), number("p50_us.median"));
            } else if let Some(think) = what.strip_prefix("think.") {
                let cpu = rounds::median(&cpu(runs, &run, "cost_per_message", transport));
                let figures = [
                    ("p50_us", number("p50_us.median")),
                    ("p99_us", number("p99_us")),
                    ("cpu_us_per_message", cpu.map(|seconds| seconds * 1e6)),
                ];
                for (name, value) in figures {
                    put(format!("think.{think}.{name}.{transport}"), value);
                }
            }
        }
        if what == "stream" && within.is_empty() {
            put("wire.cpu_s_per_gb".to_owned(), wire_cpu(runs, link));
            put("wire.us".to_owned(), wire_us(runs, link));
        }
    }
    Value::Object(keys)
}

#[cfg(test)]
mod tests;
