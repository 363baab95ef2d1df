//! Numbers as arguments.

use std::str::FromStr;

use prp_model::hiding::{Fraction, Granularity, Messages};

use crate::exit::{Code, Failure};

/// A granularity, or all from one to another.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) from: Granularity,
    pub(super) to: Granularity,
}

impl Range {
    /// The one granularity that it is.
    pub(super) fn single(self, option: &str) -> Result<Granularity, Failure> {
        if self.from == self.to {
            return Ok(self.from);
        }
        Err(Failure::new(Code::Usage, format!("{option}: FROM..TO needs --machine")))
    }
}

impl FromStr for Range {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse().ok().and_then(Granularity::new);
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        match (number(from), number(to)) {
            (Some(from), Some(to)) if from <= to => Ok(Self { from, to }),
            _ => Err("expected a number above 0, or FROM..TO"),
        }
    }
}

/// How many messages a task sends one after another.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum MessageCount {
    Fixed(f64),
    /// With the number of processors to this power.
    Growing(f64),
}

impl From<MessageCount> for Messages {
    fn from(count: MessageCount) -> Self {
        match count {
            MessageCount::Fixed(number) => Self::fixed(number),
            MessageCount::Growing(power) => Self { factor: 1.0, power },
        }
    }
}

impl FromStr for MessageCount {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "p" => Ok(Self::Growing(1.0)),
            "sqrt(p)" => Ok(Self::Growing(0.5)),
            other => positive(other)
                .map(Self::Fixed)
                .map_err(|_| "expected a number above 0, p or sqrt(p)"),
        }
    }
}

pub(super) fn positive(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or("expected a number above 0")
}

pub(super) fn not_negative(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
    number.ok_or("expected a number from 0 on")
}

/// A part, as a number or as a fraction such as 10/29.
pub(super) fn fraction(text: &str) -> Result<Fraction, &'static str> {
    let number = match text.split_once('/') {
        Some((above, below)) => positive(below).and_then(|b| Ok(not_negative(above)? / b)),
        None => not_negative(text),
    };
    number.ok().and_then(Fraction::new).ok_or("expected a part from 0 to 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers__and_what_is_none() {
        assert_eq!(fraction("10/29").map(|f| f.number()), Ok(10.0 / 29.0));
        assert!(fraction("1.5").is_err() && fraction("1/0").is_err() && fraction("x").is_err());
        assert_eq!("sqrt(p)".parse(), Ok(MessageCount::Growing(0.5)));
        assert_eq!("4".parse(), Ok(MessageCount::Fixed(4.0)));
        assert!("0".parse::<MessageCount>().is_err() && "q".parse::<MessageCount>().is_err());
        let range: Range = "2..10".parse().expect("a range");
        assert_eq!((range.from.number(), range.to.number()), (2.0, 10.0));
        assert!("10..2".parse::<Range>().is_err() && "0".parse::<Range>().is_err());
        assert!(range.single("--software").is_err());
        assert!(not_negative("-1").is_err() && not_negative("inf").is_err());
    }
}
