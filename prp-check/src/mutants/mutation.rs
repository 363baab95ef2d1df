//! One mutation, and what is to catch it.

/// The check that is to find a mutation.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Catcher {
    /// The tests of prp-proto.
    Unit,
    /// The tests of prp-key.
    Key,
    /// The exhaustive check, the scenes of CI.
    Explore,
    /// The fuzz targets over corpora and seeded inputs.
    Fuzz,
    /// Some hundred simulated networks.
    Simulation,
}

impl Catcher {
    /// What cargo is told to run.
    pub(super) const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Unit => &["test", "--quiet", "-p", "prp-proto", "--lib"],
            Self::Key => &["test", "--quiet", "-p", "prp-key", "--lib"],
            Self::Explore => {
                &["run", "--quiet", "--profile", "checked", "-p", "prp-check", "--", "explore"]
            }
            Self::Fuzz => &["test", "--quiet", "-p", "prp-check", "--test", "fuzz_smoke"],
            Self::Simulation => &["test", "--quiet", "-p", "prp-sim", "--lib", "grid::"],
        }
    }

    /// What it is called in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unit => "unit tests",
            Self::Key => "unit tests of the key",
            Self::Explore => "exhaustive check",
            Self::Fuzz => "fuzz smoke",
            Self::Simulation => "simulation",
        }
    }
}

/// One planted mistake.
#[derive(Copy, Clone, Debug)]
pub struct Mutation {
    /// What is wrong, in a few words.
    pub name: &'static str,
    /// The part of the core it is in.
    pub what: &'static str,
    /// The file, from the root of the checkout.
    pub file: &'static str,
    /// The text to be replaced, which occurs once.
    pub old: &'static str,
    /// What it becomes.
    pub new: &'static str,
    /// What is to catch it.
    pub catcher: Catcher,
}

pub(super) const fn mutation(
    catcher: Catcher,
    name: &'static str,
    what: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
) -> Mutation {
    Mutation { name, what, file, old, new, catcher }
}
