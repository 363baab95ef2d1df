//! The settings of a wire, as text and as numbers.

use std::str::FromStr;

use super::BothDirections;

/// The probability of a fault: `n` of 2^32.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Chance(u64);

impl Chance {
    /// Whether the fault happens for the random number `dice`, which is uniform over 32 bits.
    pub const fn is_hit(self, dice: u32) -> bool {
        (dice as u64) < self.0
    }
}

/// A percentage: `1%`, `0.01%`; the sign may be missing.
impl FromStr for Chance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
        let percent = number.filter(|n| (0.0..=100.0).contains(n));
        let percent = percent.ok_or_else(|| format!("'{text}': 0% to 100% is possible"))?;
        // 2^32 is exact in an f64. The rounding error is less than one frame in four thousand
        // million.
        Ok(Self((percent / 100.0 * 4_294_967_296.0).round() as u64))
    }
}

/// The probabilities of the faults. Each is decided independently.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Faults {
    /// The frame is lost.
    pub loss: Chance,
    /// The frame is sent twice.
    pub dup: Chance,
    /// The frame arrives after frames that were sent later.
    pub reorder: Chance,
    /// One bit after the Ethernet header is inverted.
    pub corrupt: Chance,
}

/// The text `loss=1% dup=0% reorder=0% corrupt=0% delay=25us jitter=0us seed=7`.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Settings {
    /// The probabilities.
    pub faults: Faults,
    /// The time that every frame takes.
    pub delay: BothDirections,
    /// What it takes more at most, at random.
    pub jitter: BothDirections,
    /// The seed of random numbers.
    pub seed: u64,
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut settings = Self::default();
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let faults = &mut settings.faults;
            match name {
                "loss" => faults.loss = value.parse()?,
                "dup" => faults.dup = value.parse()?,
                "reorder" => faults.reorder = value.parse()?,
                "corrupt" => faults.corrupt = value.parse()?,
                "delay" => settings.delay = value.parse()?,
                "jitter" => settings.jitter = value.parse()?,
                "seed" => {
                    settings.seed = value.parse().map_err(|_| format!("'{value}': no seed"))?;
                }
                _ => {
                    let known = "loss, dup, reorder, corrupt, delay, jitter or seed";
                    return Err(format!("'{word}': expected {known}"));
                }
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance__of_all_none_and_a_part() {
        let chance = |text: &str| text.parse::<Chance>().expect("a percentage");
        assert!(!chance("0%").is_hit(0));
        assert!(chance("100").is_hit(u32::MAX));
        assert!(chance("50%").is_hit((1 << 31) - 1) && !chance("50%").is_hit(1 << 31));
        for text in ["", "%", "-1%", "101%", "one", "nan", "inf"] {
            assert!(text.parse::<Chance>().is_err(), "{text}");
        }
    }

    #[test]
    fn settings__from_text() {
        let settings: Settings = "loss=1% dup=0.1%\nseed=7\n".parse().expect("settings");
        assert_eq!(settings.seed, 7);
        assert_eq!(settings.faults.loss, "1%".parse().expect("a percentage"));
        assert_eq!(settings.faults.reorder, Chance::default());
        assert!("lost=1%".parse::<Settings>().is_err());
        assert!("loss".parse::<Settings>().is_err());
        assert!("seed=x".parse::<Settings>().is_err());
    }
}
