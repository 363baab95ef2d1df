//! What would make a message's time less, with how much.

use prp_model::fit::{Fit, Setting};
use prp_model::unit::{Bytes, Hops, with_prefix};

use super::terms::{Term, TermKind};

/// A part that is worth advice: a smaller one is not what dominates.
const WORTH: f64 = 0.25;

/// How many messages might be sent as one.
const TOGETHER: f64 = 10.0;

/// What would help, by the parts of the time.
pub(super) fn of(fit: &Fit, at: &Setting, terms: &[Term]) -> Vec<String> {
    let total: f64 = terms.iter().map(|term| term.seconds).sum();
    let part = |kind: TermKind| {
        let of_kind = terms.iter().filter(|term| term.kind == kind);
        of_kind.map(|term| term.seconds).sum::<f64>() / total
    };
    let time = |size: f64, hops: Hops| {
        let at = Setting { size: Bytes::new(size), hops, ..*at };
        fit.predict(&at).0.number()
    };
    let (size, mut lines) = (at.size.number(), Vec::new());
    let fixed = part(TermKind::Message) + part(TermKind::Padding);
    if fixed >= WORTH && size > 0.0 {
        let one = time(TOGETHER * size, at.hops) / TOGETHER;
        lines.push(format!(
            "larger messages: ten in one take {} each, {:.0} % of now",
            with_prefix(one, "s"),
            one / total * 100.0
        ));
    }
    if part(TermKind::Message) >= WORTH {
        let start = part(TermKind::Message) * total;
        lines.push(format!(
            "spinning: up to a wake-up at each end of the {} at the start; measure with --wait spin",
            with_prefix(start, "s")
        ));
    }
    if part(TermKind::Packet) >= WORTH {
        lines.push("larger packets: a larger MTU makes fewer of them".to_owned());
    }
    if at.hops > Hops::new(0.0) {
        let saved = total - time(size, Hops::new(at.hops.number() - 1.0));
        let percent = saved / total * 100.0;
        lines.push(format!(
            "fewer hops: one less saves {}, {percent:.0} %",
            with_prefix(saved, "s")
        ));
    }
    if part(TermKind::Byte) >= WORTH {
        let bytes = part(TermKind::Byte) * 100.0;
        lines.push(format!(
            "fewer bytes, or another transport: bytes are {bytes:.0} %, and no message is quicker \
             than those; compare MTU, offloads and transports with prp perf"
        ));
    }
    lines
}
