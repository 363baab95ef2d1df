//! `prp-sim`
use prp_sim::{recorder::Recorder, scenario, simulation};

fn main() {
    let args: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let mut tally = prp_sim::tally::Tally::default();
    let text = std::env::args().any(|a| a == "-t");
    let start = std::time::Instant::now();
    let mut bad = 0;
    for seed in args[0]..args[1] {
        let plan = scenario::plan(seed);
        let r = if text {
            Recorder::default().with_text(std::io::stdout())
        } else {
            Recorder::default()
        };
        let outcome = simulation::run(&plan, r);
        tally.add(&outcome.tally);
        if let Some(v) = outcome.violation {
            println!("seed {seed}: {v}");
            bad += 1;
        }
    }
    println!("{tally}{bad} bad, {:?}", start.elapsed());
}
