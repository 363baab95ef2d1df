//! `prp cat -z`: on which ports of a node does a program listen?

use std::path::Path;

use prp_sock::{Builder, NodeId, Port};

use super::{CatArgs, UNANSWERED};
use crate::exit::{Code, Failure, words};
use crate::print::notice;

/// Connects to each port, one after another. Fails as the last port did where none is open.
pub(super) fn run(
    args: &CatArgs,
    builder: &Builder,
    node: NodeId,
    hosts: &Path,
) -> Result<(), Failure> {
    let name = args.node.as_deref().unwrap_or_default();
    let (mut is_open, mut last) = (false, None);
    for port in args.port.first..=args.port.last {
        match builder.connect((node, Port::new(port))) {
            Ok(_) => {
                is_open = true;
                if args.verbose {
                    notice(format_args!("{name}:{port}: open"));
                }
            }
            Err(e) => {
                let failure =
                    Failure::connecting(format_args!("{name}:{port}"), &e, hosts, UNANSWERED);
                let may_go_on = matches!(failure.code(), REFUSED | TIMED_OUT);
                // Of a single port the failure says as much.
                let is_only = args.port.first == args.port.last;
                if args.verbose && may_go_on && !is_only {
                    notice(format_args!("{name}:{port}: {}", words(&e)));
                }
                last = Some(failure);
                if !may_go_on {
                    // It is the same with every port.
                    break;
                }
            }
        }
    }
    match last {
        Some(failure) if !is_open => Err(failure),
        _ => Ok(()),
    }
}

const REFUSED: u8 = Code::Refused as u8;
const TIMED_OUT: u8 = Code::TimedOut as u8;
