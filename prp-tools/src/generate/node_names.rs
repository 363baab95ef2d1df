//! Names of nodes in completions. What clap makes knows words that are always the same.

use std::fmt::Write;

use clap_complete::Shell;

/// The completions in `script` with names of nodes behind the commands `takers`, each the words
/// that lead to it.
pub(super) fn complete(shell: Shell, script: &str, takers: &[Vec<String>]) -> String {
    match shell {
        Shell::Zsh => zsh(script),
        Shell::Fish => format!("{script}{}", fish(takers)),
        _ => format!("{script}{}", bash(takers)),
    }
}

fn bash(takers: &[Vec<String>]) -> String {
    let mut cases = String::new();
    for taker in takers {
        // Behind the command itself.
        let (depth, words) = (taker.len(), taker.join(" "));
        let _ = writeln!(cases, "        \"{words} \"*) depth={depth} ;;");
    }
    format!(
        "
_prp_with_nodes() {{
    local word depth current=${{COMP_WORDS[COMP_CWORD]}}
    local -a kept=()
    _prp \"$@\"
    case \"${{COMP_WORDS[*]:1}} \" in
{cases}        *) return ;;
    esac
    [[ $COMP_CWORD -gt $depth && $current != -* ]] || return
    for word in \"${{COMPREPLY[@]}}\"; do
        [[ $word == [\\<[]* ]] || kept+=(\"$word\")
    done
    COMPREPLY=(\"${{kept[@]}}\" $(compgen -W \"$(prp hosts names 2>/dev/null)\" -- \"$current\"))
}}
complete -F _prp_with_nodes -o bashdefault -o default prp
"
    )
}

fn fish(takers: &[Vec<String>]) -> String {
    let mut lines = String::new();
    for taker in takers {
        let seen: Vec<_> =
            taker.iter().map(|word| format!("__fish_seen_subcommand_from {word}")).collect();
        let seen = seen.join("; and ");
        let _ =
            writeln!(lines, "complete -c prp -n '{seen}' -f -a '(prp hosts names 2>/dev/null)'");
    }
    lines
}

/// The positions of nodes are those that are called so.
fn zsh(script: &str) -> String {
    const NAMES: &str = "
_prp_node_names() {
    compadd -- ${(f)\"$(prp hosts names 2>/dev/null)\"}
}
";
    let is_node = |line: &str| {
        let name = line.trim_start_matches(['\'', '"', ':', '*']);
        ["node", "nodes", "name"].iter().any(|word| name.starts_with(&format!("{word} -- ")))
    };
    let lines = script.lines().map(|line| match is_node(line) {
        true => line.replacen(":_default'", ":_prp_node_names'", 1),
        false => line.to_owned(),
    });
    let mut all: Vec<_> = lines.collect();
    // Behind the line that says for which program it is.
    all.insert(1, NAMES.to_owned());
    all.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use clap::CommandFactory;

    use super::*;

    /// What Bash completes these words to, the last of them.
    fn completed(folder: &Path, words: &[&str]) -> Vec<String> {
        let script = r#"
            prp() { printf '%s\n' alpha beta gamma; }
            source "$1/prp.bash"
            shift
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
            _prp_with_nodes prp "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\n' "${COMPREPLY[@]}"
        "#;
        let mut bash = Command::new("bash");
        let output = bash.args(["-c", script, "bash"]).arg(folder).args(words).output();
        let output = output.expect("bash is there");
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn complete__names_of_nodes_in_bash() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = [(crate::Arguments::command(), "1"), (prp_routed::cli::command(), "8")];
        super::super::completions(folder.path(), programs).expect("it can be written");
        let completed = |words: &[&str]| completed(folder.path(), words);
        for words in [
            &["prp", "ping", "b"][..],
            &["prp", "ping", "alpha", "b"],
            &["prp", "perf", "stream", "b"],
            &["prp", "perf", "mesh", "alpha", "b"],
            &["prp", "hosts", "resolve", "b"],
            &["prp", "cat", "b"],
        ] {
            assert_eq!(completed(words), ["beta"], "{words:?}");
        }
        let all = completed(&["prp", "trace", ""]);
        assert!(["alpha", "beta", "gamma"].iter().all(|name| all.iter().any(|it| it == name)));
        for words in [&["prp", "b"][..], &["prp", "stat", "b"], &["prp", "perf", "b"]] {
            assert!(!completed(words).contains(&"beta".to_owned()), "{words:?}");
        }
        let options = completed(&["prp", "ping", "--c"]);
        assert!(options.contains(&"--count".to_owned()), "{options:?}");
    }

    #[test]
    fn complete__names_of_nodes_in_zsh_and_fish() {
        let script =
            "#compdef prp\n'::node -- The node:_default' \\\n':port -- A port:_default' \\\n";
        let zsh = complete(Shell::Zsh, script, &[]);
        assert!(zsh.starts_with("#compdef prp\n") && zsh.contains("prp hosts names"), "{zsh}");
        assert!(zsh.contains("'::node -- The node:_prp_node_names' \\\n"), "{zsh}");
        assert!(zsh.contains("':port -- A port:_default' \\\n"), "{zsh}");
        let takers = [vec!["perf".to_owned(), "stream".to_owned()]];
        let fish = complete(Shell::Fish, "", &takers);
        let seen = "'__fish_seen_subcommand_from perf; and __fish_seen_subcommand_from stream'";
        assert!(fish.contains(&format!("-n {seen} -f -a '(prp hosts names")), "{fish}");
    }
}
