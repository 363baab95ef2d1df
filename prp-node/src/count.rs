//! Numbers of things in words.

/// `count` of what `noun` names, as in "1 packet" and "2 entries".
pub fn counted(count: impl TryInto<u64>, noun: &str) -> String {
    // No count of memory or of frames is larger.
    let count = count.try_into().unwrap_or(u64::MAX);
    let ends_with = |ends: &[&str]| ends.iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        _ if count == 1 => format!("1 {noun}"),
        Some(stem) if !ends_with(&["ay", "ey", "oy"]) => format!("{count} {stem}ies"),
        _ if ends_with(&["s", "x", "ch", "sh"]) => format!("{count} {noun}es"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted__one_is_no_plural() {
        for (count, noun, expected) in [
            (0, "fault", "0 faults"),
            (1, "fault", "1 fault"),
            (2, "process", "2 processes"),
            (1, "process", "1 process"),
            (2, "entry", "2 entries"),
            (3, "key", "3 keys"),
        ] {
            assert_eq!(counted(count, noun), expected);
        }
    }
}
