//! The standard library's own tests of `TcpStream` and `TcpListener`, run over PRP. The text is the
//! same, and its names stand for the types of PRP. All ends are on one node.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fmt::Write as _;
use std::process::ExitCode;

use prp_tests::harness::{Load, Test};
use prp_tests::namespace;
use prp_tests::scratch::TempFile;
use prp_tests::topology::Topology;

use prp::TESTS;

include!("../std_tcp_table.rs");

/// The modules that std's tests use under `crate::`.
mod prp {
    #![allow(warnings, clippy::all, clippy::semicolon_if_nothing_returned, reason = "not our text")]
    include!(concat!(env!("OUT_DIR"), "/std_tcp.rs"));
}

#[cfg(std_tests)]
use std::{fmt, sync, thread, time};

/// `std::io` under the name that they use.
#[cfg(std_tests)]
mod io {
    pub(crate) use std::io::{ErrorKind, IoSlice, IoSliceMut, prelude};
}

/// `std::net` with the types of PRP instead of TCP's.
#[cfg(std_tests)]
mod net {
    pub(crate) use prp_sock::PrpStream as TcpStream;
    pub(crate) use prp_sock::{PrpAddr as SocketAddr, PrpListener as TcpListener};
    pub(crate) use std::net::Shutdown;

    pub(crate) mod test {
        use std::sync::atomic::{AtomicU16, Ordering};

        use prp_sock::{NodeId, Port, PrpAddr};

        /// An address of this node that no other test uses.
        pub(crate) fn next_test_ip4() -> PrpAddr {
            static NEXT: AtomicU16 = AtomicU16::new(19_600);
            PrpAddr::new(NodeId::MIN, Port::new(NEXT.fetch_add(1, Ordering::Relaxed)))
        }

        /// Another such address: PRP has one kind of address.
        pub(crate) fn next_test_ip6() -> PrpAddr {
            next_test_ip4()
        }
    }
}

fn main() -> ExitCode {
    if prp::SOURCE.is_empty() {
        println!("SKIPPED: needs std's own tests: apt-get install rust-src (RUST_STD_TCP_TESTS)");
        return ExitCode::SUCCESS;
    }
    println!("from {}", prp::SOURCE);
    for (name, reason) in EXCLUDED {
        println!("left out: {name}: {reason}");
    }
    let mut tests = vec![Test::new("table__names_what_is_there", Load::Light, check_table)];
    tests.extend(TESTS.iter().map(|(name, body)| Test::new(name, Load::Light, *body)));
    namespace::run_on_pair(&tests, give_names)
}

/// An entry that matches nothing shows that std has changed its tests.
fn check_table() {
    for (name, _) in EXCLUDED {
        assert!(prp::NAMES.contains(name), "no test {name} in {}", prp::SOURCE);
    }
    assert_eq!(prp::UNUSED, [""; 0], "words to replace that are not in {}", prp::SOURCE);
    assert_eq!(TESTS.len(), prp::NAMES.len() - EXCLUDED.len());
    assert!(TESTS.len() > 30, "{} tests in {}", TESTS.len(), prp::SOURCE);
}

/// The names of the addresses in std's tests.
fn give_names(topology: &Topology) -> Option<TempFile> {
    let mut hosts = String::new();
    for line in topology.node(1).hosts().lines() {
        let names = match line.split_whitespace().next() {
            Some("1") => " here",
            Some("2") => " there",
            _ => "",
        };
        writeln!(hosts, "{line}{names}").expect("a string takes what it is given");
    }
    Some(TempFile::new(hosts))
}
