//! Numbers in a few characters.

/// Prefixes of the SI, from 10^3 on.
const PREFIXES: [&str; 6] = ["k", "M", "G", "T", "P", "E"];

/// Three digits and a prefix of the SI: `999`, `1.23k`, `12.3M`; `-` if it is not known.
pub(super) fn short(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".into() };
    let (mut value, mut prefix) = (value.max(0.0), "");
    for next in PREFIXES {
        // 999.5 would be printed as 1000.
        if value < 999.5 {
            break;
        }
        (value, prefix) = (value / 1000.0, next);
    }
    let places = match value {
        // Whole numbers stay what they are.
        _ if prefix.is_empty() && (value.fract() == 0.0 || value >= 99.95) => 0,
        _ if value < 9.995 && !prefix.is_empty() => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$}{prefix}")
}

/// A round-trip time in milliseconds.
pub(super) fn rtt(seconds: Option<f64>) -> String {
    seconds.map_or_else(
        || "-".into(),
        |seconds| {
            let milliseconds = seconds * 1e3;
            let places =
                if milliseconds < 99.95 { 3 - usize::from(milliseconds >= 9.9995) } else { 0 };
            format!("{milliseconds:.places$}")
        },
    )
}

/// A part of a hundred.
pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.2} %"))
}

/// The time of day, the given number of seconds after the beginning of 1970.
pub(super) fn time(seconds: f64) -> String {
    let seconds = seconds as u64 % 86_400;
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short__has_three_digits_and_a_prefix() {
        for (value, expected) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (7.0, "7"),
            (12.34, "12.3"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (1234.0, "1.23k"),
            (12_345.0, "12.3k"),
            (123_456.0, "123k"),
            (999_600.0, "1.00M"),
            (9.87e9, "9.87G"),
        ] {
            assert_eq!(short(Some(value)), expected, "{value}");
        }
        assert_eq!(short(None), "-");
        assert!(short(Some(f64::MAX)).len() > 6 && short(Some(1e20)).len() <= 6);
    }

    #[test]
    fn rtt__fits_into_six_characters() {
        for (seconds, expected) in [
            (0.000_012_3, "0.012"),
            (0.009_999_4, "9.999"),
            (0.012_345, "12.35"),
            (0.5, "500"),
            (99.0, "99000"),
        ] {
            assert_eq!(rtt(Some(seconds)), expected, "{seconds}");
        }
        assert_eq!(rtt(None), "-");
    }

    #[test]
    fn time__is_of_the_day() {
        assert_eq!(time(3.0 * 86_400.0 + 4.0 * 3600.0 + 5.0 * 60.0 + 6.9), "04:05:06 UTC");
    }
}
