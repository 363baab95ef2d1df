//! `prp-sim incast` and `prp-sim loss`: tables of controllers against what the network does.

use core::time::Duration;

use clap::Args;
use prp_proto::congestion::Controller;
use prp_proto::wire::Reliability;
use prp_sim::experiment::Experiment;
use prp_sim::link::QueueLimit;

use super::print_line;

/// Measure many senders to one receiver over a switch, in virtual time
#[derive(Debug, Args)]
pub(crate) struct IncastArgs {
    /// Numbers of senders
    #[arg(long, value_delimiter = ',', default_values_t = [2, 8, 32, 128])]
    senders: Vec<usize>,
    /// KiB that the switch queues for the receiver's cable
    #[arg(long, value_delimiter = ',', default_values_t = [32, 64, 128, 512])]
    queue: Vec<usize>,
    #[command(flatten)]
    common: Common,
}

/// Measure a link that loses frames at random, in virtual time
#[derive(Debug, Args)]
pub(crate) struct LossArgs {
    /// Percent of frames lost, in each direction
    #[arg(long, value_delimiter = ',', default_values_t = [0.0, 0.1, 1.0, 5.0])]
    percent: Vec<f64>,
    /// Round trip of the link, in microseconds
    #[arg(long, default_value_t = 100)]
    rtt: u64,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, Args)]
struct Common {
    /// Controllers
    #[arg(long, value_delimiter = ',', default_values_t = Controller::ALL)]
    controller: Vec<Controller>,
    /// Rate of every cable, in Mbit/s
    #[arg(long, default_value_t = 1000)]
    rate: u64,
    /// Seconds that count
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// What random numbers come from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Common {
    fn experiment(&self, controller: Controller) -> Experiment {
        Experiment {
            seed: self.seed,
            controller,
            rate: self.rate.max(1) * 1_000_000,
            span: Duration::from_secs_f64(self.seconds.clamp(0.001, 3600.0)),
            ..Experiment::default()
        }
    }
}

pub(crate) fn incast(args: &IncastArgs) -> Result<bool, String> {
    print_line("| senders | queue KiB | controller | goodput | fairness | slowest | repeats |");
    print_line("| --- | --- | --- | --- | --- | --- | --- |");
    for senders in &args.senders {
        for queue in &args.queue {
            for controller in &args.common.controller {
                let experiment = Experiment {
                    senders: *senders,
                    queue: QueueLimit::Bytes(queue * 1024),
                    ..args.common.experiment(*controller)
                };
                let found = experiment.run().map_err(|e| e.to_string())?;
                print_line(format_args!(
                    "| {senders} | {queue} | {controller} | {:.1} % | {:.3} | {:.2} | {:.1} % |",
                    100.0 * found.share,
                    found.fairness,
                    found.slowest,
                    100.0 * found.repeats
                ));
            }
        }
    }
    Ok(true)
}

pub(crate) fn loss(args: &LossArgs) -> Result<bool, String> {
    print_line("| loss | policy | controller | goodput | of the link | repeats |");
    print_line("| --- | --- | --- | --- | --- | --- |");
    for percent in &args.percent {
        for reliability in [Reliability::SelectiveRepeat, Reliability::GoBackN] {
            for controller in &args.common.controller {
                let experiment = Experiment {
                    reliability,
                    delay: Duration::from_micros(args.rtt) / 2,
                    loss: (percent * 10_000.0).clamp(0.0, 1e6) as u32,
                    ..args.common.experiment(*controller)
                };
                let found = experiment.run().map_err(|e| e.to_string())?;
                print_line(format_args!(
                    "| {percent} % | {reliability} | {controller} | {:.0} Mbit/s | {:.1} % | {:.1} % |",
                    found.goodput / 1e6,
                    100.0 * found.share,
                    100.0 * found.repeats
                ));
            }
        }
    }
    Ok(true)
}
