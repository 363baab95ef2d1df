//! Arguments that several commands take, and what is said where they are wrong.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, stdin};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use clap::builder::{PathBufValueParser, TypedValueParser};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::dup2_stdin;

/// The most seconds, 31 years: the kernel's clock has room for several of them.
const MOST_SECONDS: f64 = 1e9;

/// In the place of a file: standard input, or standard output.
const STANDARD: &str = "-";

/// Takes the name of a file to read, which may be read several times; `-` is standard input.
pub(crate) fn input_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path == Path::new(STANDARD) {
        true => standard_input(),
        false => Ok(path),
    })
}

/// Takes the name of a file that has to be one: a key file has rights, and a picture is no text.
pub(crate) fn named_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path == Path::new(STANDARD) {
        true => Err("name a file, or `./-` for one of that name"),
        false => Ok(path),
    })
}

/// Reads standard input to its end, and has the system's name for it stand for what was read.
fn standard_input() -> io::Result<PathBuf> {
    static WAS_READ: OnceLock<()> = OnceLock::new();
    if WAS_READ.set(()).is_ok() {
        let mut read = File::from(memfd_create(c"stdin", MFdFlags::MFD_CLOEXEC)?);
        io::copy(&mut stdin().lock(), &mut read)?;
        read.seek(SeekFrom::End(0))?;
        dup2_stdin(&read)?;
    }
    Ok("/dev/stdin".into())
}

/// A number of seconds, greater than 0 and bounded.
pub(crate) fn seconds(text: &str) -> Result<Duration, &'static str> {
    let secs = text.parse().ok().filter(|secs| *secs > 0.0 && *secs <= MOST_SECONDS);
    secs.and_then(|secs| Duration::try_from_secs_f64(secs).ok())
        .ok_or("expected a number of seconds greater than 0, such as 0.5, and up to 1000000000")
}

/// Reads a whole number of `range`.
pub(crate) fn number<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            match *most {
                u64::MAX => format!("expected a whole number, {least} or more"),
                _ => format!("expected a whole number from {least} to {most}"),
            }
        })
    }
}

/// Reads a number of bytes, 1 or more: `4096`, `100M`. `K`, `M`, `G` and `T` are powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, &'static str> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[number.len()..] {
        "" => Some(0),
        "k" | "K" => Some(10),
        "m" | "M" => Some(20),
        "g" | "G" => Some(30),
        "t" | "T" => Some(40),
        _ => None,
    };
    let bytes = shift.zip(number.parse::<u64>().ok());
    let bytes = bytes.and_then(|(shift, number)| number.checked_mul(1 << shift));
    bytes.filter(|bytes| *bytes > 0).ok_or("expected a whole number of bytes, such as 4096 or 100M")
}

/// Any whole number that `T` has room for.
pub(crate) fn any<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let most = u64::MAX >> (u64::BITS as usize - 8 * size_of::<T>());
    number(0..=most)(text)
}

/// A port, or 0 for any free one. Says how to write it if it comes after a node.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    if let Some((node, port)) = text.split_once(':') {
        return Err(format!("node and port are two words here: `{node} {port}`"));
    }
    text.parse().map_err(|_| "expected a port from 0 to 65535".into())
}

/// A port to connect to.
pub(crate) fn peer_port(text: &str) -> Result<u16, String> {
    match port(text) {
        Ok(port) if port > 0 => Ok(port),
        Err(error) if text.contains(':') => Err(error),
        Ok(_) | Err(_) => Err("expected a port from 1 to 65535".into()),
    }
}

/// Ports, both ends included.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct PortRange {
    pub(crate) first: u16,
    pub(crate) last: u16,
}

/// A port, or several of them as `FIRST-LAST`.
pub(crate) fn ports(text: &str) -> Result<PortRange, String> {
    let Some((first, last)) = text.split_once('-').filter(|(first, _)| !first.is_empty()) else {
        return port(text).map(|port| PortRange { first: port, last: port });
    };
    let range = PortRange { first: peer_port(first)?, last: peer_port(last)? };
    if range.first > range.last {
        return Err(format!("expected the lower port first: `{last}-{first}`"));
    }
    Ok(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds__takes_fractions_and_nothing_below_them() {
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
        for text in ["0", "-1", "", "soon", "nan", "inf", "1e40", "1e19", "1000000001"] {
            assert!(seconds(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn number__says_which_there_are() {
        assert_eq!((number(1..=10)("10"), number(0..=u64::MAX)("0")), (Ok(10_u8), Ok(0_u64)));
        for text in ["0", "11", "-1", "", "ten", "1.5", "99999999999999999999"] {
            let expected = "expected a whole number from 1 to 10".to_owned();
            assert_eq!(number::<u8>(1..=10)(text), Err(expected), "{text:?}");
        }
        let many = "expected a whole number, 1 or more".to_owned();
        assert_eq!(number::<u64>(1..=u64::MAX)("0"), Err(many));
    }

    #[test]
    fn size__takes_powers_of_1024() {
        assert_eq!((size("4096"), size("3k")), (Ok(4096), Ok(3072)));
        assert_eq!(
            (size("100M"), size("2G"), size("1T")),
            (Ok(100 << 20), Ok(2 << 30), Ok(1 << 40))
        );
        for text in ["", "M", "0", "0G", "-1", "1.5M", "1MB", "1 M", "99999999T"] {
            assert!(size(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn any__up_to_what_the_type_has_room_for() {
        assert_eq!((any("255"), any("18446744073709551615")), (Ok(255_u8), Ok(u64::MAX)));
        assert_eq!(any::<u8>("256"), Err("expected a whole number from 0 to 255".to_owned()));
        assert_eq!(any::<u64>("-1"), Err("expected a whole number, 0 or more".to_owned()));
    }

    #[test]
    fn seconds__can_be_added_to_any_time() {
        let most = seconds("1e9").expect("a number of seconds");
        let now = std::time::Instant::now();
        assert!(now.checked_add(most * 4).is_some());
    }

    #[test]
    fn ports__are_one_or_a_range() {
        assert_eq!(ports("80"), Ok(PortRange { first: 80, last: 80 }));
        assert_eq!(ports("20-22"), Ok(PortRange { first: 20, last: 22 }));
        for text in ["22-20", "0-3", "3-", "-3", "3-65536", "1-2-3"] {
            assert!(ports(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn port__says_what_is_expected() {
        assert_eq!((port("0"), port("65535"), peer_port("1")), (Ok(0), Ok(65535), Ok(1)));
        for text in ["65536", "x", "", "-1"] {
            assert_eq!(port(text), Err("expected a port from 0 to 65535".into()), "{text:?}");
            assert_eq!(peer_port(text), Err("expected a port from 1 to 65535".into()), "{text:?}");
        }
        assert_eq!(peer_port("0"), Err("expected a port from 1 to 65535".into()));
        for port in [port, peer_port] {
            let error = port("2:7000").expect_err("two words");
            assert!(error.contains("`2 7000`"), "{error}");
        }
    }
}
