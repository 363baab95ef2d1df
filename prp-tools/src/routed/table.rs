//! JSON for people: lists of objects become tables, all else `name  value` lines.

use serde_json::{Map, Value};

/// The text of `value`.
pub(super) fn render(value: &Value) -> String {
    match value {
        Value::Object(map) => object(map, ""),
        Value::Array(rows) => table(rows),
        other => word(other),
    }
}

/// Plain fields first, then what has a heading of its own.
fn object(map: &Map<String, Value>, under: &str) -> String {
    let plain =
        map.iter().filter(|(_, value)| !matches!(value, Value::Object(_) | Value::Array(_)));
    let plain: Vec<_> = plain.collect();
    let width = plain.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (key, value) in plain {
        text.push_str(&format!("{under}{key:width$}  {}\n", word(value)));
    }
    for (key, value) in map {
        match value {
            Value::Object(inner) => text.push_str(&format!("{key}\n{}", object(inner, "  "))),
            Value::Array(rows) if !rows.is_empty() => {
                text.push_str(&format!("\n{key}\n{}", table(rows)));
            }
            _ => {}
        }
    }
    text
}

fn table(rows: &[Value]) -> String {
    let Some(Value::Object(first)) = rows.first() else {
        return rows.iter().map(|row| word(row) + "\n").collect();
    };
    let keys: Vec<&String> = first.keys().collect();
    let mut lines = vec![keys.iter().map(|key| key.replace('_', " ")).collect::<Vec<_>>()];
    lines.extend(rows.iter().map(|row| keys.iter().map(|key| word(&row[*key])).collect()));
    let width = |column: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|w| w.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..keys.len()).map(width).collect();
    let line = |words: &Vec<String>| {
        let padded = words.iter().zip(&widths).map(|(word, width)| format!("{word:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn render__fields_and_tables() {
        let value = json!({
            "node": 7, "name": null, "drops": {"bad": 3},
            "devices": [{"device": "eth0", "sent": 10}, {"device": "e1", "sent": 2}],
        });
        let expected = "node  7\nname  -\ndrops\n  bad  3\n\ndevices\ndevice  sent\neth0    10\n\
                        e1      2\n";
        assert_eq!(render(&value), expected);
        assert_eq!(render(&json!("text\n")), "text\n");
        assert_eq!(render(&json!([])), "");
    }
}
