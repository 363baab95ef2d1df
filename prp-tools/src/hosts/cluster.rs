//! `prp hosts check --all`: the files of all nodes, taken together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prp_proto::cluster::Cluster;
use prp_proto::hosts::Hosts;
use prp_sock::NodeId;

use crate::exit::{Code, Failure};

/// Faults printed: what is wrong with one line of prphosts is wrong between many nodes.
const MAX_PRINTED: usize = 20;

/// Checks the files in `folder`; what to print.
pub(super) fn check(folder: &Path) -> Result<String, Failure> {
    let files = read_all(folder)?;
    let count = files.len();
    let cluster = Cluster::new(files);
    let faults = cluster.faults();
    if !faults.is_empty() {
        let mut lines: Vec<_> = faults.iter().take(MAX_PRINTED).map(ToString::to_string).collect();
        if faults.len() > MAX_PRINTED {
            lines.push(format!("and {} more", faults.len() - MAX_PRINTED));
        }
        return Err(Failure::new(Code::Failed, lines.join("\n")));
    }
    let asymmetric = match cluster.asymmetric().len() {
        0 => String::new(),
        n => format!("; {n} of them by another way back than there"),
    };
    let pairs = count * count.saturating_sub(1) / 2;
    Ok(format!(
        "{}: {}, all {} reach each other{asymmetric}",
        folder.display(),
        super::count(count, "node"),
        super::count(pairs, "pair")
    ))
}

fn read_all(folder: &Path) -> Result<BTreeMap<NodeId, Hosts>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|e| Failure::local(folder.display(), &e))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| Failure::local(folder.display(), &e))?.path();
        let inside = path.join("prphosts");
        if path.is_file() {
            paths.push(path);
        } else if inside.is_file() {
            paths.push(inside);
        }
    }
    paths.sort();
    let mut files = BTreeMap::new();
    for path in paths {
        let bytes = std::fs::read(&path).map_err(|e| Failure::local(path.display(), &e))?;
        let hosts = Hosts::parse(&bytes).map_err(|errors| {
            let text = errors.in_file(&path.display().to_string()).to_string();
            Failure::new(Code::Failed, text)
        })?;
        let node = hosts.self_node().or_else(|| by_name(&path)).ok_or_else(|| {
            let text = "whose is it? call it prphosts.NODE or NODE/prphosts, or write `self NODE`";
            Failure::new(Code::Failed, format!("{}: {text}", path.display()))
        })?;
        if files.insert(node, hosts).is_some() {
            let text = format!("{}: another file is of node {node} too", path.display());
            return Err(Failure::new(Code::Failed, text));
        }
    }
    if files.is_empty() {
        let text = format!("{}: no files prphosts.NODE or NODE/prphosts", folder.display());
        return Err(Failure::new(Code::Failed, text));
    }
    Ok(files)
}

/// `prphosts.7` and `7/prphosts` are of node 7.
fn by_name(path: &Path) -> Option<NodeId> {
    let after_dot = path.extension().and_then(|e| e.to_str()).and_then(|e| e.parse().ok());
    let folder = || path.parent()?.file_name()?.to_str()?.parse().ok();
    after_dot.or_else(folder)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tempfile::tempdir;

    use super::*;
    use crate::hosts::generate::{self, GenerateArgs};

    #[derive(Debug, Parser)]
    struct Words {
        #[command(flatten)]
        generate: GenerateArgs,
    }

    fn generate(words: &[&str]) -> Result<String, Failure> {
        let words = [&["generate"], words].concat();
        generate::run(&Words::parse_from(words).generate)
    }

    #[test]
    fn check__finds_what_was_generated_right() {
        for words in [&["ring", "5"][..], &["hypercube", "3"], &["tree", "2", "2"], &["star", "4"]]
        {
            let folder = tempdir().expect("a temporary folder");
            let out = folder.path().to_str().expect("a plain name");
            let said = generate(&[words, &["--out", out]].concat()).expect("it is written");
            assert!(said.starts_with(out), "{said}");
            let said = check(folder.path()).unwrap_or_else(|f| panic!("{words:?}: {f:?}"));
            assert!(said.contains("reach each other"), "{said}");
        }
    }

    #[test]
    fn check__names_what_is_wrong() {
        let folder = tempdir().expect("a temporary folder");
        generate(&["chain", "3", "--out", folder.path().to_str().expect("a plain name")])
            .expect("it is written");
        let file = folder.path().join("prphosts.3");
        let text = std::fs::read_to_string(&file).expect("it is there");
        std::fs::write(&file, text.replace("1 via 2 node1\n", "")).expect("room");
        let said = format!("{:?}", check(folder.path()).expect_err("a line is missing"));
        assert!(said.contains("from 3 to 1: node 3 has no line for 1"), "{said}");
        std::fs::write(folder.path().join("readme"), "").expect("room");
        let said = format!("{:?}", check(folder.path()).expect_err("whose file is that"));
        assert!(said.contains("whose is it?"), "{said}");
    }

    #[test]
    fn generate__prints_one_or_writes_all() {
        let printed = generate(&["chain", "2", "--node", "1"]).expect("it exists");
        assert!(printed.starts_with("1 02:00:00:00:00:01 eth0 node1\n2 "), "{printed}");
        for wrong in [&["chain", "2"][..], &["chain", "2", "--node", "3"], &["ring", "99"]] {
            generate(wrong).expect_err("it cannot be done");
        }
    }
}
