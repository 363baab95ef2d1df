//! Values of options.

use std::io;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::error_number::invalid;

/// No option `name`.
pub(crate) fn unknown(name: i32, why: &str) -> io::Error {
    invalid(format!("option {name}: {why}"))
}

/// A value that the option `name` does not have.
pub(crate) fn refused(name: i32, value: i64) -> io::Error {
    invalid(format!("option {name}: it cannot be {value}"))
}

/// A value within `range`.
pub(crate) fn within<T: TryFrom<i64>>(
    name: i32,
    value: i64,
    range: RangeInclusive<i64>,
) -> io::Result<T> {
    let inside = range.contains(&value).then_some(value);
    inside.and_then(|v| T::try_from(v).ok()).ok_or_else(|| refused(name, value))
}

/// Whether something holds.
pub(crate) fn flag(name: i32, value: i64) -> io::Result<bool> {
    within::<u8>(name, value, 0..=1).map(|v| v == 1)
}

/// A time; -1 for none.
pub(crate) fn span(name: i32, value: i64) -> io::Result<Option<Duration>> {
    match value {
        -1 => Ok(None),
        _ => within(name, value, 0..=i64::MAX).map(|n| Some(Duration::from_nanos(n))),
    }
}

/// A time that is not zero; -1 for none.
pub(crate) fn timeout(name: i32, value: i64) -> io::Result<Option<Duration>> {
    match span(name, value)? {
        Some(Duration::ZERO) => Err(refused(name, value)),
        other => Ok(other),
    }
}

/// A time as an option's value.
pub(crate) fn nanos(span: Option<Duration>) -> i64 {
    span.map_or(-1, |span| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout__none_zero_and_less() {
        assert_eq!(timeout(1, -1).unwrap(), None);
        assert_eq!(timeout(1, 5).unwrap(), Some(Duration::from_nanos(5)));
        assert_eq!(nanos(timeout(1, i64::MAX).unwrap()), i64::MAX);
        timeout(1, 0).unwrap_err();
        timeout(1, -2).unwrap_err();
        assert_eq!(span(1, 0).unwrap(), Some(Duration::ZERO));
        span(1, -2).unwrap_err();
    }

    #[test]
    fn flag__zero_or_one() {
        assert!(!flag(1, 0).unwrap());
        assert!(flag(1, 1).unwrap());
        flag(1, 2).unwrap_err();
        flag(1, -1).unwrap_err();
    }
}
