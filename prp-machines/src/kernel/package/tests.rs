use super::*;

const NAMES: [&str; 12] = [
    "linux-image-6.12-amd64",
    "linux-image-6.12-rt-amd64",
    "linux-image-6.12.100+deb12-amd64",
    "linux-image-6.12.100+deb12-cloud-amd64",
    "linux-image-6.12.100+deb12-rt-amd64",
    "linux-image-6.12.9+deb12-amd64",
    "linux-image-6.12.9+deb12-amd64-unsigned",
    "linux-image-6.12.101+deb12-cloud-amd64",
    "linux-image-6.1.0-9-amd64",
    "linux-image-6.1.0-10-amd64",
    "linux-image-6.1.0-10-rt-amd64",
    "linux-image-6.1.0-10-amd64-dbg",
];

fn newest(word: &str) -> Option<String> {
    Wanted::parse(word).unwrap().newest(NAMES.iter().map(|name| (*name).to_owned()))
}

#[test]
fn newest__is_by_numbers_and_of_the_kind() {
    assert_eq!(newest("6.12").unwrap(), "linux-image-6.12.100+deb12-amd64");
    assert_eq!(newest("6.12-rt").unwrap(), "linux-image-6.12.100+deb12-rt-amd64");
    assert_eq!(newest("6.1").unwrap(), "linux-image-6.1.0-10-amd64");
    assert_eq!(newest("6.1-rt").unwrap(), "linux-image-6.1.0-10-rt-amd64");
    assert_eq!(newest("6.1.0-9").unwrap(), "linux-image-6.1.0-9-amd64");
    assert_eq!(newest("6"), Some("linux-image-6.12.100+deb12-amd64".to_owned()));
    assert_eq!(newest("5.10"), None);
}

#[test]
fn parse__refuses_what_is_no_version() {
    for word in ["", "linux", "../6.1", "6.1/.."] {
        Wanted::parse(word).unwrap_err();
    }
}
