//! Measurements sorted by what was measured: a model only sees sums over those of one setting.

use super::sample::{Sample, Setting, TimeKind};
use crate::unit::Hops;

/// All measurements of a fit.
#[derive(Clone, Debug)]
pub(crate) struct Design {
    /// What was measured, by size.
    pub(crate) settings: Vec<Setting>,
    /// The measurements.
    pub(crate) rows: Vec<Row>,
    /// Groups of measurements that are independent of each other.
    pub(crate) groups: usize,
    /// Whether messages passed routers.
    pub(crate) has_hops: bool,
    /// Whether they passed different numbers of them.
    pub(crate) hops_differ: bool,
}

/// A measurement.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Row {
    /// Which setting.
    pub(crate) setting: usize,
    /// Which of the independent groups: its round, or itself.
    pub(crate) group: usize,
    /// In seconds.
    pub(crate) time: f64,
}

/// The weights of a setting's measurements and what they add up to.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Sums {
    /// Of weights.
    pub(crate) weight: f64,
    /// Of weights times times.
    pub(crate) time: f64,
    /// Of weights times squares of times.
    pub(crate) square: f64,
}

impl Sums {
    pub(crate) fn add(&mut self, weight: f64, time: f64) {
        self.weight += weight;
        self.time += weight * time;
        self.square += weight * time * time;
    }
}

impl Design {
    /// Of these measurements.
    pub(crate) fn of(samples: &[Sample]) -> Self {
        let mut settings: Vec<Setting> = samples.iter().map(Setting::from).collect();
        let key = |at: &Setting| {
            (at.kind as u8, at.played, at.pairs, at.messages, at.hops.number(), at.size.number())
        };
        settings.sort_by(|l, r| key(l).partial_cmp(&key(r)).unwrap_or(std::cmp::Ordering::Equal));
        settings.dedup_by(|l, r| key(l) == key(r));
        let mut rounds: Vec<u32> = samples.iter().filter_map(|sample| sample.round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        // All in one round would be no rounds at all.
        if rounds.len() < 2 {
            rounds.clear();
        }
        let mut groups = rounds.len();
        let rows = samples
            .iter()
            .map(|sample| {
                let wanted = key(&Setting::from(sample));
                let at = settings.partition_point(|setting| key(setting) < wanted);
                let round = sample.round.and_then(|round| rounds.binary_search(&round).ok());
                let group = round.unwrap_or_else(|| {
                    groups += 1;
                    groups - 1
                });
                Row { setting: at, group, time: sample.time.number() }
            })
            .collect();
        let has_hops = samples.iter().any(|sample| sample.hops.is_some_and(|h| h > Hops::new(0.0)));
        let differs = |pair: &[Setting]| pair[0].hops != pair[1].hops;
        let one_way: Vec<Setting> =
            settings.iter().filter(|at| at.kind == TimeKind::OneWay).copied().collect();
        let hops_differ = one_way.windows(2).any(differs);
        Self { settings, rows, groups, has_hops, hops_differ }
    }

    /// The measured times.
    pub(crate) fn times(&self) -> Vec<f64> {
        self.rows.iter().map(|row| row.time).collect()
    }

    /// The times of each setting.
    pub(crate) fn by_setting(&self) -> Vec<Vec<f64>> {
        let mut all = vec![Vec::new(); self.settings.len()];
        for row in &self.rows {
            all[row.setting].push(row.time);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{Bytes, Seconds};

    fn sample(bytes: f64, time: f64, round: Option<u32>) -> Sample {
        Sample { round, ..Sample::one_way(Bytes::new(bytes), Seconds::new(time)) }
    }

    #[test]
    fn of__sorts_by_setting_and_keeps_every_measurement() {
        let samples = [sample(8.0, 3.0, None), sample(0.0, 1.0, None), sample(8.0, 4.0, None)];
        let design = Design::of(&samples);
        assert_eq!(design.settings.len(), 2);
        assert_eq!(design.by_setting(), [vec![1.0], vec![3.0, 4.0]]);
        assert_eq!((design.times(), design.groups), (vec![3.0, 1.0, 4.0], 3));
    }

    #[test]
    fn of__measurements_of_a_round_are_one_group() {
        let rounds = [Some(7), Some(9), Some(7), None];
        let samples: Vec<_> = rounds.iter().map(|round| sample(1.0, 1.0, *round)).collect();
        let design = Design::of(&samples);
        let groups: Vec<_> = design.rows.iter().map(|row| row.group).collect();
        assert_eq!((groups, design.groups), (vec![0, 1, 0, 2], 3));
        // One round is none: its measurements are all there is to tell how they differ.
        let design = Design::of(&[sample(1.0, 1.0, Some(1)), sample(1.0, 2.0, Some(1))]);
        assert_eq!(design.groups, 2);
    }
}
