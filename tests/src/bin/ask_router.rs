//! Asks the prp-routed of node `ARGV[1]` the question `ARGV[2]`, in JSON, and prints the answer.

use std::io;

use prp_node::RunDir;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, node, question] = &words[..] else {
        return Err(io::Error::other("usage: ask_router NODE QUESTION"));
    };
    let node = node.parse().map_err(io::Error::other)?;
    println!(
        "{}",
        prp_routed::control::ask(&RunDir::in_force(), node, &serde_json::from_str(question)?)?
    );
    Ok(())
}
