//! Every fuzz target over its checked-in corpus and over seeded random inputs, on stable Rust.
//!
//! `PRP_FUZZ_SEED` replays a run, `PRP_FUZZ_INPUTS` makes it longer.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::Path;

use prp_check::fuzz::{self, Inputs};

/// The variable's value as a number, or `default`.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The checked-in inputs of `target`, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).expect("fuzz/corpus/TARGET is checked in");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a corpus entry can be read")).collect()
}

fn smoke(target: &str, inputs: u64, run: fn(&[u8])) {
    let seed = setting("PRP_FUZZ_SEED", 1);
    let inputs = setting("PRP_FUZZ_INPUTS", inputs);
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "fuzz/corpus/{target} is empty");
    let known = corpus.clone().into_iter().enumerate();
    let known = known.map(|(i, bytes)| (format!("entry {i} of fuzz/corpus/{target}"), bytes));
    let made = Inputs::new(seed, corpus).take(inputs as usize).enumerate();
    let made = made.map(|(i, bytes)| (format!("input {i} of PRP_FUZZ_SEED={seed}"), bytes));
    for (name, bytes) in known.chain(made) {
        if std::panic::catch_unwind(|| run(&bytes)).is_err() {
            panic!("{name}: {} bytes {bytes:02x?}", bytes.len());
        }
    }
}

#[test]
fn wire__corpus_and_random_inputs() {
    smoke("wire", 50_000, fuzz::wire);
}

#[test]
fn hosts__corpus_and_random_inputs() {
    smoke("hosts", 20_000, fuzz::hosts);
}

#[test]
fn endpoint__corpus_and_random_inputs() {
    smoke("endpoint", 5_000, fuzz::endpoint);
}

/// SPEC PRP-KEY-9 to 17: with the cluster's key, a stranger that hears all changes nothing.
#[test]
fn keyed__corpus_and_random_inputs() {
    smoke("keyed", 1_000, fuzz::keyed);
}
