//! Processor time that a hypervisor gave to others while this machine wanted it. Where that is
//! much, figures are low and scatter, whatever is measured.

use std::fs;

/// A share of which a reader of figures should know: what two rounds may differ by anyway.
const NOTABLE_SHARE: f64 = 0.05;

/// Ticks since the machine started.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Steal {
    stolen: u64,
    /// Ticks in which a thread wanted a processor, the stolen ones included.
    wanted: u64,
}

impl Steal {
    /// Until now; `None` if the kernel does not say.
    pub(super) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// From the text of /proc/stat (proc(5)).
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks =
            line.split_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
        // What guests of this machine had is in `user` already.
        let [user, nice, system, _idle, _iowait, irq, softirq, stolen] = *ticks.first_chunk()?;
        Some(Self { stolen, wanted: user + nice + system + irq + softirq + stolen })
    }

    /// The part of what was wanted since `earlier` that others had.
    pub(super) fn share_since(self, earlier: Self) -> f64 {
        let wanted = self.wanted.saturating_sub(earlier.wanted);
        if wanted == 0 {
            return 0.0;
        }
        self.stolen.saturating_sub(earlier.stolen) as f64 / wanted as f64
    }
}

/// What to say of a share that was stolen, if it is worth saying.
pub(super) fn warning(share: f64) -> Option<String> {
    let percent = share * 100.0;
    (share > NOTABLE_SHARE).then(|| {
        format!(
            "{percent:.0} % of the processor time this machine wanted went to others on its host: \
             figures are low and scatter"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__the_line_of_all_processors() {
        let text = "cpu  10 1 20 300 5 2 3 40 7 0\ncpu0 5 0 10 150 2 1 1 20 3 0\n";
        assert_eq!(Steal::parse(text), Some(Steal { stolen: 40, wanted: 76 }));
        for text in ["", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3\n", "cpu 1 2 3 4 5 6 7 x\n"] {
            assert_eq!(Steal::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn share__is_of_what_was_wanted() {
        let at = |stolen, wanted| Steal { stolen, wanted };
        assert_eq!(at(50, 300).share_since(at(10, 100)), 0.2);
        assert_eq!(at(10, 100).share_since(at(10, 100)), 0.0);
        assert!(Steal::now().is_some_and(|now| now.share_since(now) == 0.0));
    }

    #[test]
    fn warning__of_much_only() {
        assert_eq!(warning(0.05), None);
        assert!(warning(0.43).is_some_and(|text| text.starts_with("43 % ")));
    }
}
