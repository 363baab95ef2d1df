use std::format;
use std::string::ToString;

use super::*;

#[test]
fn secret__is_read_as_it_is_written() {
    let secret = Secret::new(core::array::from_fn(|i| (i * 7) as u8));
    let text = secret.reveal();
    assert_eq!(text.parse::<Secret>().unwrap().bytes(), secret.bytes());
    assert_eq!(text.to_uppercase().parse::<Secret>().unwrap().bytes(), secret.bytes());
}

#[test]
fn secret__debug_and_errors_do_not_show_it() {
    let digits = "a1b2".repeat(16);
    let secret: Secret = digits.parse().unwrap();
    let debug = format!("{secret:?}");
    assert!(!debug.contains("a1b2") && !debug.contains("161, 178"), "{debug}");
    for (text, expected) in [
        (&digits[1..], "expected a secret of 64 hexadecimal digits, found 63 characters"),
        (
            &digits.replacen("b2a1", "b2xy", 1),
            "expected a secret of 64 hexadecimal digits, found another character as number 5",
        ),
    ] {
        assert_eq!(text.parse::<Secret>().unwrap_err().to_string(), expected);
    }
    // A character of several bytes is none of two digits.
    assert_eq!("é".repeat(32).parse::<Secret>().unwrap_err(), SecretError::Digit(0));
}
