use clap::Parser;
use clap::error::ErrorKind as Usage;

use prp_sock::Reliability;

use super::*;

#[derive(Debug, Parser)]
struct Wrapper {
    #[command(flatten)]
    cat: CatArgs,
}

/// The arguments of a command line.
pub(super) fn parse(line: &str) -> CatArgs {
    match Wrapper::try_parse_from(line.split(' ')) {
        Ok(wrapper) => wrapper.cat,
        Err(e) => panic!("{line}: {e}"),
    }
}

fn refusal(line: &str) -> Usage {
    match Wrapper::try_parse_from(line.split(' ')) {
        Ok(wrapper) => panic!("{line} was taken for {wrapper:?}"),
        Err(e) => e.kind(),
    }
}

#[test]
fn arguments__node_and_port_connect() {
    let args = parse("cat beta 80");
    assert_eq!((args.node.as_deref(), args.port.first, args.listen), (Some("beta"), 80, false));
    assert_eq!(args.timeout, None);
}

#[test]
fn arguments__node_and_port_in_one_word_are_separated() {
    for (word, expected) in [("2:7000", "`2 7000`"), ("70000", "from 0 to 65535"), ("x", "a port")]
    {
        let error = Wrapper::try_parse_from(["cat", word]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn arguments__with_listen_there_is_only_a_port() {
    for line in ["cat -l 80", "cat --listen 80", "cat 80 -l", "cat -lk 80", "cat -kl 80"] {
        let args = parse(line);
        assert_eq!((args.node.as_deref(), args.port.last, args.listen), (None, 80, true), "{line}");
    }
    assert_eq!(refusal("cat -l beta 80"), Usage::ArgumentConflict);
}

#[test]
fn arguments__without_listen_both_are_needed() {
    assert_eq!(refusal("cat 80"), Usage::MissingRequiredArgument);
    assert_eq!(refusal("cat beta http"), Usage::ValueValidation);
    assert_eq!(refusal("cat beta 65536"), Usage::ValueValidation);
}

#[test]
fn arguments__what_makes_no_sense_together_is_refused() {
    assert_eq!(refusal("cat -k 80"), Usage::MissingRequiredArgument);
    for line in [
        "cat -k beta 80",
        "cat -s -r beta 80",
        "cat -l -k -s 80",
        "cat -z -l 80",
        "cat -z -e true beta 80",
        "cat -s -e true beta 80",
        "cat -qv beta 80",
    ] {
        assert_eq!(refusal(line), Usage::ArgumentConflict, "{line}");
    }
}

#[test]
fn arguments__policies_have_the_names_of_the_protocol() {
    for policy in [Reliability::Detect, Reliability::GoBackN, Reliability::SelectiveRepeat] {
        let args = parse(&format!("cat beta 80 --reliability {policy}"));
        assert_eq!(args.reliability.map(Reliability::from), Some(policy));
    }
    assert_eq!(refusal("cat beta 80 --reliability none"), Usage::InvalidValue);
}

#[test]
fn settle__a_reader_that_is_gone_is_no_failure() {
    let gone = || io::Error::from(ErrorKind::BrokenPipe);
    assert_eq!(settle(CopyError::Output(gone()), "3:80"), Ok(()));
    assert!(settle(CopyError::Output(ErrorKind::StorageFull.into()), "3:80").is_err());
    assert!(settle(CopyError::Stream(gone()), "3:80").is_err());
    assert!(settle(CopyError::Input(gone()), "3:80").is_err());
}
