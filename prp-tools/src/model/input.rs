//! Where measurements come from: files, or a measurement made now.

use std::path::PathBuf;

use clap::Args;
use prp_model::fit::{Played, Sample};
use prp_model::unit::Hops;
use prp_node::printable_path;

use super::live::{self, LiveArgs};
use super::read::{self, Format};
use crate::argument::{any, input_file, number};
use crate::exit::{Code, Failure};

/// More processors than this no node has.
const MOST_PROCESSORS: u64 = 65_536;

/// Measurements to fit models to.
#[derive(Clone, Debug, Args)]
pub(super) struct MeasurementArgs {
    /// Files with measurements: CSV with the columns bytes and seconds (one way), what
    /// `prp perf sweep` or `prp perf latency` wrote with --json, or tables of osu_latency, IMB
    /// PingPong or NetPIPE
    #[arg(value_name = "FILE", required_unless_present = "live", value_parser = input_file())]
    files: Vec<PathBuf>,

    /// What the files are, if they cannot be told from their text
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,

    /// Of which transport, where a file has several: prp, tcp, raw, ...
    #[arg(long, value_name = "NAME", default_value = "prp")]
    transport: String,

    /// Routers that all messages passed, where the files do not say
    #[arg(long, value_name = "N", value_parser = any::<u32>)]
    hops: Option<u32>,

    /// Leave larger messages out
    #[arg(long, value_name = "BYTES", value_parser = any::<u64>)]
    max_bytes: Option<u64>,

    /// Leave smaller messages out
    #[arg(long, value_name = "BYTES", value_parser = any::<u64>)]
    min_bytes: Option<u64>,

    /// Processors of a node: that whose processes played the patterns of a file, those of a
    /// graph, or the hosts of a platform
    #[arg(long, value_name = "N", value_parser = processors())]
    pub(super) processors: Option<u32>,

    #[command(flatten)]
    live: LiveArgs,
}

/// Takes a number of processors.
fn processors() -> impl Fn(&str) -> Result<u32, String> + Clone {
    number(1..=MOST_PROCESSORS)
}

impl MeasurementArgs {
    /// The measurements.
    pub(super) fn samples(&self) -> Result<Vec<Sample>, Failure> {
        let mut all = Vec::new();
        for text in self.texts()? {
            all.extend(text.samples(self.format, &self.transport)?);
        }
        let all = self.kept(all);
        if self.processors.is_none() && all.iter().any(|sample| sample.played.is_some()) {
            let text = "how many processors the processes of the patterns shared is not said: \
                        --processors N";
            return Err(Failure::new(Code::Usage, text));
        }
        Ok(all)
    }

    /// The graph, where the file is one.
    pub(super) fn graph(&self) -> Option<PathBuf> {
        let is_graph = |path: &&PathBuf| path.extension().is_some_and(|end| end == "toml");
        self.files.iter().find(is_graph).cloned()
    }

    /// The measurements of the other transports that the same files have.
    pub(super) fn others(&self) -> Result<Vec<(String, Vec<Sample>)>, Failure> {
        let texts = self.texts()?;
        let names = texts.iter().flat_map(|text| read::transports(&text.text));
        let mut others: Vec<(String, Vec<Sample>)> = Vec::new();
        for name in names.filter(|name| *name != self.transport) {
            if others.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let mut all = Vec::new();
            for text in texts.iter().filter(|text| read::transports(&text.text).contains(&name)) {
                all.extend(text.samples(self.format, &name)?);
            }
            others.push((name, self.kept(all)));
        }
        Ok(others)
    }

    /// Every file, or what is measured now: once, however often it is asked for.
    fn texts(&self) -> Result<Vec<Text>, Failure> {
        if self.live.is_wanted() {
            return Ok(vec![Text {
                name: "the measurement".into(),
                text: live::measure(&self.live)?,
            }]);
        }
        self.files.iter().map(Text::read).collect()
    }

    fn kept(&self, samples: Vec<Sample>) -> Vec<Sample> {
        let from = self.min_bytes.map_or(0.0, |bytes| bytes as f64);
        let to = self.max_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        let mut kept = samples;
        kept.retain(|sample| (from..=to).contains(&sample.size.number()));
        if let Some(processors) = self.processors {
            for sample in &mut kept {
                sample.played = sample.played.map(|played| Played { processors, ..played });
            }
        }
        if let Some(hops) = self.hops {
            for sample in &mut kept {
                sample.hops = sample.hops.or_else(|| Some(Hops::new(f64::from(hops))));
            }
        }
        kept
    }
}

/// What a file says.
struct Text {
    name: String,
    text: String,
}

impl Text {
    fn read(path: &PathBuf) -> Result<Self, Failure> {
        let name = printable_path(path);
        let text = std::fs::read_to_string(path).map_err(|e| Failure::reading(path, &e))?;
        Ok(Self { name, text })
    }

    fn samples(&self, format: Format, transport: &str) -> Result<Vec<Sample>, Failure> {
        read::parse(&self.text, format, transport)
            .map_err(|mistake| Failure::new(Code::Failed, format!("{}: {mistake}", self.name)))
    }
}
