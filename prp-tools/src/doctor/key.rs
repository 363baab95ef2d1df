//! The cluster's key file, and whether the router of this node goes by it.

use std::io;

use prp_node::KeyWatch;
use prp_node::explained::{ExplainedError, Explanation};
use prp_proto::key::KeyFile;
use serde_json::Value;

use super::finding::{Finding, Kind};

/// The key file in force, if there is one, or what is wrong with it.
pub(super) fn read() -> Result<Option<KeyFile>, Finding> {
    KeyWatch::in_force().read().map_err(|e| of_error(&e))
}

fn of_error(error: &io::Error) -> Finding {
    let (cause, fix) = match ExplainedError::within(error) {
        [Explanation { fix: Some(fix), .. }, ..] => {
            let text = error.to_string();
            let cause = text.strip_suffix(&format!("; {fix}")).unwrap_or(&text).to_owned();
            (cause, fix.clone())
        }
        _ => (error.to_string(), "correct the file, or copy that of another node".to_owned()),
    };
    Finding::fault(Kind::KeyFile, format!("no program uses PRP here: {cause}"), &fix)
}

/// What the status of a router says of the key, where the file in force has the secret `used`.
pub(super) fn of_router(status: &Value, used: u16) -> Option<Finding> {
    match status["key_id"].as_u64() {
        Some(id) if id == u64::from(used) => None,
        Some(id) => {
            let cause = format!(
                "prp-routed signs with the secret {id} of the cluster key, and the key file here \
                 uses {used}"
            );
            let fix = "`prp routed reload`; does PRP_KEY name another file for one of the two?";
            Some(Finding::warning(Kind::RouterKey, cause, fix))
        }
        None => {
            let cause = "prp-routed has no cluster key, so what it says is not believed: a closed \
                         port, a dead process and a broken path take a timeout to be noticed";
            let fix = "let its user read the key file (`chgrp` and `chmod 640`), then \
                       `prp routed reload`";
            Some(Finding::warning(Kind::RouterKey, cause, fix))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_router__whose_secret_is_not_that_of_the_file() {
        let says = |key_id: Value| of_router(&json!({ "key_id": key_id }), 2).map(|it| it.cause);
        assert_eq!(says(json!(2)), None);
        assert!(says(json!(1)).is_some_and(|cause| cause.contains("secret 1")));
        assert!(says(Value::Null).is_some_and(|cause| cause.contains("no cluster key")));
    }
}
