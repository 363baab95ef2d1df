//! Why a fit does not tell a parameter, and what one stands for that it cannot tell from others.

use super::algebra::{Vector, vector};
use super::covariance::columns;
use super::estimate::Fit;
use super::family::{HOPS, Model};
use super::quantity::Quantity;

/// Why a workstation's time for a byte is not determined.
const NETWORK_ALWAYS: &str =
    "the network is the bottleneck at every number of pairs: no more than b_c";

/// What a time of a byte stands for beside another one.
const LARGER: &str = "the larger of b_c and b";

/// Why the change of a processor is not determined.
const NOT_SHARED: &str =
    "no process waits for a processor: measure more processes than there are processors";

impl Fit {
    /// Whether a parameter changes nothing at any setting, where the fit has come to.
    pub(super) fn is_idle(&self, parameter: usize) -> bool {
        let columns = columns(&self.solver, &self.settled.theta, &self.settled.curve);
        self.settled.theta[parameter] > 0.0 && columns.iter().all(|row| row[parameter] == 0.0)
    }

    /// Whether nothing is told of a parameter.
    fn is_silent(&self, parameter: usize) -> bool {
        !self.determined[parameter] || self.is_idle(parameter)
    }

    pub(super) fn why_idle(&self, parameter: usize) -> String {
        match (self.model, parameter) {
            (Model::Blocks, 1) => NETWORK_ALWAYS.into(),
            (Model::Blocks, 3) => "the network is the bottleneck at no number of pairs".into(),
            (Model::Shared, 0 | 1) => "the network is the bottleneck in every pattern".into(),
            (Model::Shared, 2 | 3) => "the network is the bottleneck in no pattern".into(),
            (Model::Shared, 5) => "no process waits for a message with its processor idle".into(),
            (Model::Shared, _) => NOT_SHARED.into(),
            _ => "it changes nothing at the sizes measured".into(),
        }
    }

    /// Checks that a parameter which only shows where it is larger than another one is larger.
    pub(super) fn ensure_significant(&self, quantity: &Quantity) -> Result<(), String> {
        type Of = fn(&Vector) -> (f64, Vector);
        let (more, why): (Of, _) = match (self.model, quantity.name) {
            (Model::Blocks, "b") if !self.is_idle(3) => {
                (|t| (t[1] - t[3], vector([0.0, 1.0, 0.0, -1.0])), NETWORK_ALWAYS)
            }
            (Model::LogP | Model::LogGp, "g") if self.determined[1] => (
                |t| (t[2] - t[1], vector([0.0, -1.0, 1.0])),
                "messages follow each other as fast as the processor makes them: no more than o",
            ),
            _ => return Ok(()),
        };
        let is_more = self.interval(more).is_none_or(|interval| interval.low > 0.0);
        if is_more { Ok(()) } else { Err(why.into()) }
    }

    /// Why a parameter is not determined.
    pub(super) fn why_not(&self, parameter: usize) -> String {
        match (self.model, parameter) {
            (Model::Linear, 2) if self.design.has_hops => {
                "all messages passed as many routers".into()
            }
            (Model::Linear, 2) => "no message passed a router".into(),
            (Model::LogP | Model::LogGp, 1) => {
                "a ping-pong only tells L + 2 o: measure how long the call to send takes".into()
            }
            (Model::LogP | Model::LogGp, 2) => {
                "a ping-pong has one message at a time: measure several in a row".into()
            }
            (Model::Shared, 6) => NOT_SHARED.into(),
            (Model::Shared, _) => "the patterns measured cannot tell it from the others".into(),
            (_, HOPS) => "the sizes that passed more routers are others".into(),
            _ => "the sizes measured cannot tell it from the others".into(),
        }
    }

    /// What a parameter stands for, if that is more than its name says.
    pub(super) fn means(&self, name: &str) -> Option<String> {
        let mask = &self.determined;
        match (self.model, name) {
            (Model::Linear, "alpha") if !mask[2] && self.design.has_hops => {
                let hops = self.design.settings.first()?.hops.number();
                Some(format!("alpha + {hops} gamma"))
            }
            // What is the slower one in every pattern takes up the other.
            (Model::Shared, "b") if self.is_silent(3) => Some(LARGER.into()),
            (Model::Shared, "b_c") if self.is_silent(1) => Some(LARGER.into()),
            (Model::LogP | Model::LogGp, "L") if !mask[1] => Some("L + 2 o".into()),
            (Model::LogP | Model::LogGp, "g") if !mask[1] => Some("max(g, o)".into()),
            _ => None,
        }
    }
}
