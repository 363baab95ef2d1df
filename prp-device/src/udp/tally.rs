//! Which probes of a neighbour's GSO test have come (SPEC PRP-UDP-7).

use prp_proto::wire::GsoProbe;

/// Which probes of one test have come by one system call.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Tally {
    test: u32,
    came: u16,
}

impl Tally {
    /// Notes `message` if it is a probe; the report that is due on another test, if there is one.
    pub(super) fn note(&mut self, message: GsoProbe) -> Option<[u8; GsoProbe::LEN]> {
        let GsoProbe::Probe { test, index } = message else { return None };
        let due = if test == self.test { None } else { self.take() };
        self.test = test;
        self.came |= 1 << index;
        due
    }

    /// The report that is due, if there is one.
    pub(super) fn take(&mut self) -> Option<[u8; GsoProbe::LEN]> {
        let came = std::mem::take(&mut self.came);
        (came != 0).then(|| GsoProbe::report(self.test, came))
    }
}
