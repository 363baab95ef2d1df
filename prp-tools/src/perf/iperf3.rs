//! Options that users of iperf3 type out of habit, and that are none here: what there is instead.

use std::convert::Infallible;

use clap::Args;

/// Of `prp perf stream`.
#[derive(Debug, Args)]
pub(super) struct OtherStreamOptions {
    #[arg(short = 'O', long, hide = true, value_name = "SECS", value_parser = refused(OMIT))]
    omit: Option<Infallible>,

    #[arg(short = 'l', long = "length", hide = true, value_name = "N")]
    #[arg(value_parser = refused(LENGTH))]
    len: Option<Infallible>,

    #[arg(short = 'w', long, hide = true, value_name = "N", value_parser = refused(WINDOW))]
    window: Option<Infallible>,

    #[arg(short = 'f', long, hide = true, value_name = "LETTER", value_parser = refused(FORMAT))]
    format: Option<Infallible>,

    #[arg(short = 'b', long, hide = true, value_name = "RATE", value_parser = refused(BITRATE))]
    bitrate: Option<Infallible>,
}

/// Of `prp perf connect`.
#[derive(Debug, Args)]
pub(super) struct OtherConnectOptions {
    #[arg(short = 't', long, hide = true, value_name = "SECS", value_parser = refused(TIME))]
    time: Option<Infallible>,
}

const OMIT: &str = "no seconds are left out: the figure is the median of --rounds, each with a \
                    connection of its own";
const LENGTH: &str = "a write has 128 KiB; `prp perf latency --size` has messages of a given size";
const WINDOW: &str = "buffers grow with the path by themselves; `prp stat -i` shows them";
const FORMAT: &str = "figures are Gbit/s; --json has bytes and seconds";
const BITRATE: &str = "no rate can be set; --bytes N sends a number of bytes, as fast as they go";
const TIME: &str = "it makes a number of connections, not for a time: --count N";

/// Refuses any value with `why`.
fn refused(why: &'static str) -> impl Fn(&str) -> Result<Infallible, &'static str> + Clone {
    move |_| Err(why)
}

#[cfg(test)]
mod tests {
    #[test]
    fn refused__says_what_there_is_instead() {
        for (line, instead) in [
            ("stream 2 -O 3", "--rounds"),
            ("stream 2 --omit 3", "--rounds"),
            ("stream 2 -l 4K", "latency --size"),
            ("stream 2 --length 4K", "latency --size"),
            ("stream 2 -w 1M", "prp stat -i"),
            ("stream 2 -f m", "--json"),
            ("stream 2 -b 10M", "--bytes"),
            ("connect 2 -t 10", "--count"),
        ] {
            let words = format!("prp perf {line}");
            let words = words.split(' ').map(Into::into).collect();
            let error = crate::parse(words).expect_err("it is refused").to_string();
            assert!(error.contains(instead), "{line}: {error}");
        }
        let words = "prp perf stream 2 -C delay".split(' ').map(Into::into).collect();
        assert!(crate::parse(words).is_ok());
    }
}
