//! libFuzzer's entry to `prp_check::fuzz::keyed`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prp_check::fuzz::keyed(data));
