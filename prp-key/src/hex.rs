//! Keys as hexadecimal digits.

use crate::secret::SecretError;

/// Reads as many bytes as `bytes` has room for.
///
/// # Errors
/// `text` has more or fewer digits, or something else than digits.
pub(crate) fn read(text: &str, bytes: &mut [u8; 32]) -> Result<(), SecretError> {
    let digits = text.as_bytes();
    if digits.len() != 2 * bytes.len() {
        return Err(SecretError::Length(text.chars().count()));
    }
    for (index, (byte, pair)) in bytes.iter_mut().zip(digits.chunks_exact(2)).enumerate() {
        for (digit, &c) in pair.iter().enumerate() {
            let value = char::from(c).to_digit(16).ok_or(SecretError::Digit(2 * index + digit))?;
            *byte = *byte << 4 | u8::try_from(value).unwrap_or_default();
        }
    }
    Ok(())
}
