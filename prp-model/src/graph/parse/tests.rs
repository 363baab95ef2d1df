use super::*;
use crate::graph::NOTHING;

const BLOCKS: &str = "\
[[block]]
name = \"W\"
a = 1e-3
b = 1e-6
copies = 3
[[block]]
name = \"C\"
a = 2e-3
b = 2e-6
";

fn message(name: &str, ends: (&str, &str), rest: &str) -> String {
    let (from, to) = ends;
    format!("[[message]]\nname = {name:?}\nfrom = {from:?}\nto = {to:?}\n{rest}\n")
}

/// Every sample of the book is read.
#[test]
fn parse__the_papers_graphs() {
    let samples = [
        (include_str!("../../../graphs/figure-1.toml"), 3, 4),
        (include_str!("../../../graphs/figure-7.toml"), 5, 3),
        (include_str!("../../../graphs/figure-9.toml"), 2, 1),
        (include_str!("../../../graphs/figure-10.toml"), 11, 10),
        (include_str!("../../../graphs/figure-13.toml"), 11, 20),
    ];
    for (text, processes, messages) in samples {
        let graph = Graph::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!((graph.processes().len(), graph.messages.len()), (processes, messages));
    }
}

/// A broadcast written message by message is the pattern.
#[test]
fn parse__messages_with_an_order_are_the_pattern() {
    let via = |from: u32, to: u32| format!("via = [\"W{from}\", \"C\", \"W{to}\"]\n");
    let mut text = BLOCKS.replace("copies = 3", "copies = 5");
    for to in 1..5_u32 {
        let from = (to - 1) / 2;
        let after = if from == 0 { String::new() } else { format!("after = [\"m{from}\"]") };
        let ends = (&*from.to_string(), &*to.to_string());
        text += &message(&format!("m{to}"), ends, &format!("{}{after}", via(from, to)));
    }
    let written = Graph::parse(&text).expect("a graph").reduce();
    let pattern = format!("{BLOCKS}[pattern]\nkind = \"tree-broadcast\"\nprocesses = 5\n");
    let pattern = Graph::parse(&pattern).expect("a graph").reduce();
    assert_eq!(written.whole, pattern.whole);
    assert_ne!(written.whole, NOTHING);
}

#[test]
fn parse__a_machine_s_times() {
    let machine = "[machine]\nprocesses = 3\nspin = 1e-6\nwake = 2e-6\nswitch = 3e-6\n";
    let text = format!("{BLOCKS}[pattern]\nkind = \"pairs\"\nprocesses = 4\n{machine}");
    let machine = Graph::parse(&text).expect("a graph").machine(2);
    assert_eq!((machine.processors, machine.processes), (2, Some(3)));
    let times = [machine.spin, machine.wake, machine.switch].map(crate::unit::Seconds::number);
    assert_eq!(times, [1e-6, 2e-6, 3e-6]);
    let without = format!("{BLOCKS}[pattern]\nkind = \"pairs\"\nprocesses = 4\n");
    let machine = Graph::parse(&without).expect("a graph").machine(2);
    assert_eq!(machine, crate::graph::Machine::new(2));
}

/// Each mistake: its line, and words of what is wrong and of the fix.
#[test]
fn parse__mistakes_have_their_line_and_fix() {
    let path = "via = [\"W0\", \"C\", \"W1\"]";
    let with = |rest: &str| format!("{BLOCKS}{rest}");
    let pattern = |rest: &str| format!("{BLOCKS}[pattern]\n{rest}");
    let one = message("m", ("1", "2"), path);
    let mistakes = [
        ("x = 1".to_owned(), 1, "unknown field", "docs/models.md"),
        ("[[block]]\nname = \"a\"\na = \n".to_owned(), 3, "", "docs/models.md"),
        (BLOCKS.replace("a = 2e-3", "a = -2e-3"), 8, "no time", "from 0 on"),
        (BLOCKS.replace("b = 2e-6", "b = nan"), 9, "no time", "from 0 on"),
        (BLOCKS.replace("copies = 3", "copies = 0"), 5, "0 copies", "1 to"),
        (
            BLOCKS.replace("copies = 3", "copies = 2\nprocessor = \"x\""),
            5,
            "one processor",
            "leave",
        ),
        (BLOCKS.replace("\"C\"", "\"W1\""), 7, "second block \"W1\"", "another name"),
        (with(""), 9, "no messages", "[[message]]"),
        (with(&message("m", ("1", "2"), "via = [\"W0\", \"K\"]")), 14, "\"K\"", "W0, W1, W2, C"),
        (with(&message("m", ("1", "2"), "via = []")), 14, "no block", "at least one"),
        (with(&message("m", ("1", "2"), "via = [[]]")), 14, "without any", "at least one"),
        (with(&message("m", ("1", "1"), path)), 13, "to itself", "another process"),
        (with(&message("m", ("1", "2"), &format!("{path}\nsize = 0.0"))), 15, "size 0", "above 0"),
        (with(&format!("{one}{one}")), 16, "second message", "another name"),
        (
            with(&message("m", ("1", "2"), &format!("{path}\nafter = [\"k\"]"))),
            15,
            "not before it",
            "first",
        ),
        (
            with(&format!(
                "{one}{}",
                message("k", ("1", "3"), &format!("{path}\nafter = [\"m\"]"))
            )),
            20,
            "1 does not get",
            "a message to 1",
        ),
        (pattern("kind = \"ring\"\nprocesses = 4"), 11, "\"ring\"", "tree-broadcast"),
        (pattern("kind = \"reduction\"\nprocesses = 1"), 12, "1 processes", "2 to"),
        (pattern("kind = \"neighbours\"\nprocesses = 4"), 11, "how many", "neighbours = 2"),
        (
            pattern("kind = \"neighbours\"\nprocesses = 4\nneighbours = 4"),
            13,
            "4 neighbours",
            "1 to 3",
        ),
        (
            pattern("kind = \"reduction\"\nprocesses = 4").replace("\"C\"", "\"K\""),
            10,
            "no block \"C\"",
            "W and C",
        ),
        (pattern(&format!("kind = \"pairs\"\nprocesses = 4\n{one}")), 13, "already", "remove"),
        (with(&format!("{one}[machine]\nwake = -1.0")), 16, "wake = -1", "from 0 on"),
        (with(&format!("{one}[machine]\nspin = inf")), 16, "spin = inf", "from 0 on"),
        (with(&format!("{one}[machine]\nprocesses = 0")), 16, "without processes", "leave it out"),
        (with(&format!("{one}[machine]\ncores = 2")), 16, "unknown field", "docs/models.md"),
    ];
    for (text, line, what, fix) in mistakes {
        let error = Graph::parse(&text).map(|_| ()).expect_err(&text);
        let is_right = error.line == line && error.what.contains(what) && error.fix.contains(fix);
        assert!(is_right, "{error:?} for line {line}, {what}, {fix}:\n{text}");
    }
}
