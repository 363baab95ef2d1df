//! What is to be said of the settings of a network card, as its driver tells them.

use prp_device::{CardSettings, Moderation};

use super::finding::{Finding, Kind};

/// The findings of the card called `name`. Where `latency` matters, what delays a message is a
/// warning, and a note otherwise.
pub(super) fn findings(name: &str, settings: &CardSettings, latency: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(settings.moderation.and_then(|it| of_moderation(name, it, latency)));
    if settings.eee == Some(true) {
        let cause = format!(
            "{name} uses energy-efficient Ethernet: the link sleeps between frames, and with some \
             cards and switches it is gone for seconds"
        );
        let fix = format!("`ethtool --set-eee {name} eee off`, at both ends");
        found.push(Finding::warning(Kind::Eee, cause, &fix));
    }
    if settings.pause == Some(true) {
        let cause =
            format!("{name} takes part in pause frames: a slow receiver delays what is for others");
        let fix = format!("`ethtool -A {name} autoneg off rx off tx off`, if that is not meant");
        found.push(Finding::note(Kind::PauseFrames, cause, &fix));
    }
    found
}

fn of_moderation(name: &str, moderation: Moderation, latency: bool) -> Option<Finding> {
    let Moderation { rx_usecs, tx_usecs, adaptive_rx } = moderation;
    let how = match (adaptive_rx, rx_usecs) {
        (true, _) => "as its driver thinks fit".to_owned(),
        (false, 0) => return None,
        (false, usecs) => format!("for {usecs} us"),
    };
    let cause = format!(
        "{name} gathers received frames {how} before it interrupts: a message may be late by that"
    );
    let adaptive = if adaptive_rx { "adaptive-rx off " } else { "" };
    let tx = if tx_usecs > 0 { " tx-usecs 0" } else { "" };
    let fix = format!(
        "`ethtool -C {name} {adaptive}rx-usecs 0{tx}`, where latency matters; it costs an interrupt \
         a frame"
    );
    let finding = if latency { Finding::warning } else { Finding::note };
    Some(finding(Kind::InterruptModeration, cause, &fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    fn only(settings: &CardSettings, latency: bool) -> Finding {
        let mut found = findings("eth0", settings, latency);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[test]
    fn findings__interrupts_that_are_moderated() {
        let moderated = |rx_usecs, tx_usecs, adaptive_rx| CardSettings {
            moderation: Some(Moderation { rx_usecs, tx_usecs, adaptive_rx }),
            ..CardSettings::default()
        };
        assert_eq!(findings("eth0", &moderated(0, 64, false), true), []);
        let found = only(&moderated(3, 0, false), false);
        assert_eq!((found.kind, found.severity), (Kind::InterruptModeration, Severity::Note));
        assert!(found.cause.contains("eth0 gathers received frames for 3 us"), "{found}");
        let fix = found.fix.expect("a fix");
        assert!(fix.starts_with("`ethtool -C eth0 rx-usecs 0`"), "{fix}");
        let found = only(&moderated(0, 9, true), true);
        assert_eq!(found.severity, Severity::Warning);
        let fix = found.fix.expect("a fix");
        assert!(
            fix.starts_with("`ethtool -C eth0 adaptive-rx off rx-usecs 0 tx-usecs 0`"),
            "{fix}"
        );
    }

    #[test]
    fn findings__energy_efficient_ethernet_and_pause_frames() {
        let eee = |eee| CardSettings { eee, ..CardSettings::default() };
        assert_eq!(findings("eth0", &eee(None), true), []);
        assert_eq!(findings("eth0", &eee(Some(false)), true), []);
        let found = only(&eee(Some(true)), false);
        assert_eq!((found.kind, found.severity), (Kind::Eee, Severity::Warning));
        assert!(found.fix.is_some_and(|fix| fix.contains("ethtool --set-eee eth0 eee off")));
        let pause = |pause| CardSettings { pause, ..CardSettings::default() };
        assert_eq!(findings("eth0", &pause(Some(false)), true), []);
        let found = only(&pause(Some(true)), false);
        assert_eq!((found.kind, found.severity), (Kind::PauseFrames, Severity::Note));
    }
}
