//! Starting the agents of the nodes.

use std::io;
use std::process::{Child, Command, Stdio};

use crate::arguments::Node;

/// Starts the agent of a node: by the command of the template, or right here.
pub(crate) fn agent(node: &Node, template: &str) -> io::Result<Child> {
    let program = std::env::current_exe()?;
    let mut command = match &node.name {
        None => {
            let mut command = Command::new(program);
            command.arg("--agent");
            command
        }
        Some(name) => {
            let agent = format!("{} --agent", quoted(&program.to_string_lossy()));
            let text = template.replace("{node}", &quoted(name)).replace("{command}", &agent);
            let mut command = Command::new("sh");
            command.args(["-c", &format!("exec {text}")]);
            command
        }
    };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
