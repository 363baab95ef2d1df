//! The help of every command: it has an example that its own arguments take, and `--json` where it
//! prints data, with its type declared.

use super::*;

/// Commands without `--json`: they print what others have sent, what was asked for as a file, or
/// nothing.
const NO_DATA: [&str; 21] = [
    "prp cat",
    "prp generate completions",
    "prp generate man",
    "prp hosts generate chain",
    "prp hosts generate hypercube",
    "prp hosts generate ring",
    "prp hosts generate star",
    "prp hosts generate tree",
    "prp hosts names",
    "prp key drop",
    "prp key new",
    "prp key node drop",
    "prp key node new",
    "prp key use",
    "prp model collective",
    "prp model export",
    "prp perf serve",
    "prp proxy",
    "prp run",
    "prp run disable",
    "prp run enable",
];

/// The types of what commands print as JSON. `tests/tests/json_keys` compares them with that.
const DECLARATIONS: &str = include_str!("../json.d.ts");

/// All commands but `help`, those with commands below them as well, by their whole names.
fn commands() -> Vec<clap::Command> {
    fn below(command: &clap::Command) -> Vec<clap::Command> {
        let inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
        inner.flat_map(|inner| [vec![inner.clone()], below(inner)].concat()).collect()
    }
    let mut all = Arguments::command();
    all.build();
    let mut commands = below(&all);
    for command in &mut commands {
        let name = command.get_bin_name().expect("it is built").to_owned();
        *command = command.clone().display_name(name);
    }
    commands
}

fn name(command: &clap::Command) -> &str {
    command.get_display_name().expect("it was given one")
}

/// The words of an example: up to a comment or what only a shell understands. Quotes hold words
/// together.
fn words(example: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quoted = false;
    for part in example.trim().split("  ").next().unwrap_or_default().split(' ') {
        if !quoted && [">", "<", "|", "2>"].iter().any(|mark| part.starts_with(mark)) {
            break;
        }
        let bare = part.replace('\'', "");
        match words.last_mut().filter(|_| quoted) {
            Some(last) => *last = format!("{last} {bare}"),
            None => words.push(bare),
        }
        quoted ^= part.matches('\'').count() % 2 == 1;
    }
    words
}

#[test]
fn arguments__are_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn help__names_every_command_by_task() {
    for command in commands().iter().filter(|command| name(command).matches(' ').count() == 1) {
        assert!(TASKS.contains(name(command)), "{}", name(command));
    }
}

#[test]
fn help__has_examples_that_the_arguments_take() {
    let mut wrong = Vec::new();
    for mut command in commands() {
        let name = name(&command).to_owned();
        let help = command.render_long_help().to_string();
        let (_, examples) =
            help.split_once("Examples:\n").unwrap_or_else(|| panic!("{name}: none"));
        let (examples, _) = examples.split_once("\n\n").expect("exit codes come after them");
        let own: Vec<_> = examples.lines().filter(|line| line.contains(&name)).collect();
        assert!(!own.is_empty(), "{name}: {examples}");
        // Those that begin otherwise are of a shell that runs it.
        for example in own.iter().filter(|line| line.trim_start().starts_with("prp ")) {
            let words = routed::arguments(words(example).into_iter().map(Into::into));
            match Arguments::try_parse_from(words) {
                Ok(_) => {}
                // `--help` in an example.
                Err(e) if !e.use_stderr() => {}
                Err(e) => wrong.push(format!("{example}: {e}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn json__is_wherever_data_is_printed_and_declared() {
    let leaves = commands().into_iter().filter(|command| !command.has_subcommands());
    let (mut wrong, mut untold) = (Vec::new(), Vec::new());
    for command in leaves {
        let name = name(&command);
        let has_json = command.get_arguments().any(|arg| arg.get_long() == Some("json"));
        if has_json == NO_DATA.contains(&name) {
            wrong.push(name.to_owned());
        }
        if has_json && !DECLARATIONS.contains(&format!("\ntype {} = ", type_name(name))) {
            untold.push(name.to_owned());
        }
    }
    assert!(wrong.is_empty(), "--json, or none: {wrong:?}");
    assert!(untold.is_empty(), "not in json.d.ts: {untold:?}");
}

/// `prp perf stream` as `PrpPerfStream`.
fn type_name(command: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    command.split(' ').map(capital).collect()
}

#[test]
fn words__are_those_of_a_shell() {
    let of = |text| words(text).join("|");
    assert_eq!(of("  prp cat -l 7 -e 'wc -c' >x   a comment"), "prp|cat|-l|7|-e|wc -c");
    assert_eq!(of("prp cat 1 2 < file"), "prp|cat|1|2");
}

/// `prp run` alone is parsed as among all commands.
#[test]
fn parser__of_one_command_says_what_that_of_all_says() {
    for line in ["--help", "-h", "", "--require", "enable", "enable --help", "--network 1 true"] {
        let words = || ["prp", "run"].into_iter().chain(line.split(' ').filter(|w| !w.is_empty()));
        let said = |command: clap::Command| {
            command.try_get_matches_from(words()).expect_err("help or an error").to_string()
        };
        let first = OsString::from("run");
        assert_eq!(said(parser(Some(&first))), said(parser(None)), "{line}");
    }
}
