//! What PRP is to come up to: ratios within one run, since a machine's absolute figures change from
//! one minute to the next.

use serde::{Deserialize, Serialize};

/// One figure and what it is to be.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Bar {
    pub(crate) name: String,
    /// `None` if it was not measured.
    pub(crate) value: Option<f64>,
    pub(crate) bar: f64,
    /// What would be better still.
    pub(crate) reach: f64,
    /// Smaller is better.
    pub(crate) at_most: bool,
    met: Option<bool>,
    reached: Option<bool>,
}

impl Bar {
    pub(crate) fn new(
        name: &str,
        value: Option<f64>,
        sign: char,
        (bar, reach): (f64, f64),
    ) -> Self {
        let at_most = sign == '<';
        let holds = |limit: f64| value.map(|v| if at_most { v <= limit } else { v >= limit });
        let (met, reached) = (holds(bar), holds(reach));
        Self { name: name.to_owned(), value, bar, reach, at_most, met, reached }
    }

    /// Returns the figure, or a dash.
    pub(crate) fn figure(&self) -> String {
        self.value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
    }

    /// Returns in a word how it stands.
    pub(crate) fn verdict(&self) -> &'static str {
        match (self.met, self.reached) {
            (None, _) => "not measured",
            (_, Some(true)) => "met, and the reach",
            (Some(true), _) => "met",
            (Some(false), _) => "MISSED",
        }
    }
}
