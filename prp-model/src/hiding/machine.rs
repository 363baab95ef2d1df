//! Which machine for a program, and which program for a machine.

use super::overlap::{Fraction, Granularity, Overlap};

/// A parallel machine: its hardware granularity, instructions in the time of a byte, and the
/// overhead of hiding latency on it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Machine {
    /// gamma_h.
    pub hardware: Granularity,
    /// Omega.
    pub overhead: f64,
}

/// How a program communicates.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Program {
    /// f, the part of a task's calculation that communication can go on behind.
    pub fraction: Fraction,
    /// q, messages one after another.
    pub messages: f64,
}

impl Default for Program {
    /// All of the calculation, behind which one message goes.
    fn default() -> Self {
        Self { fraction: Fraction::ALL, messages: 1.0 }
    }
}

impl Program {
    /// This program on a machine, with tasks of this software granularity: instructions for a byte
    /// that is communicated, gamma_s.
    ///
    /// ```
    /// use prp_model::hiding::{Granularity, Machine, Program};
    ///
    /// // Example 1: of three machines the second one has the best gain.
    /// let granularity = |number| Granularity::new(number).expect("above 0");
    /// let gain = |hardware, overhead| {
    ///     let machine = Machine { hardware: granularity(hardware), overhead };
    ///     Program::default().on(machine, granularity(5.0)).gain()
    /// };
    /// assert!((gain(1.0, 1.0) - 3.0 / 5.0).abs() < 1e-12);
    /// assert!((gain(5.0, 0.2) - 5.0 / 3.0).abs() < 1e-12);
    /// assert!((gain(10.0, 0.0) - 3.0 / 2.0).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn on(&self, machine: Machine, software: Granularity) -> Overlap {
        let ratio = self.messages * machine.hardware.number() / software.number();
        Overlap { ratio, fraction: self.fraction, overhead: machine.overhead }
    }

    /// The software granularity with the largest gain on a machine: the smallest at which
    /// everything is hidden. `None` where nothing is (f and Omega are 0).
    #[must_use]
    pub fn best_software(&self, machine: Machine) -> Option<Granularity> {
        let part = self.fraction.number() + machine.overhead;
        Granularity::new(self.messages * machine.hardware.number() / part)
    }

    /// The hardware granularity with the largest gain for tasks of this software granularity, where
    /// hiding costs `overhead`. `None` likewise.
    #[must_use]
    pub fn best_hardware(&self, software: Granularity, overhead: f64) -> Option<Granularity> {
        let part = self.fraction.number() + overhead;
        Granularity::new(part * software.number() / self.messages)
    }

    /// The least gain on a machine for tasks of every granularity from one to another: example 2
    /// asks where it is no loss. Between both ends a gain only has a largest value, so the least is
    /// at one of them.
    ///
    /// ```
    /// use prp_model::hiding::{Granularity, Machine, Program};
    ///
    /// let granularity = |number| Granularity::new(number).expect("above 0");
    /// let least = |hardware, overhead| {
    ///     let machine = Machine { hardware: granularity(hardware), overhead };
    ///     Program::default().least_gain(machine, granularity(2.0), granularity(10.0))
    /// };
    /// // Example 2: the first and the third, and not the second.
    /// assert!(least(5.0, 0.0) >= 1.0 && least(10.0, 1.0) >= 1.0);
    /// assert!(least(1.0, 0.2) < 1.0);
    /// ```
    #[must_use]
    pub fn least_gain(&self, machine: Machine, from: Granularity, to: Granularity) -> f64 {
        self.on(machine, from).gain().min(self.on(machine, to).gain())
    }
}
