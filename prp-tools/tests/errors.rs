//! What the program says of wrong input: where it is, and what fixes it. Nothing here needs a
//! privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use nix::unistd::geteuid;
use tempfile::{TempDir, tempdir};

const CLUSTER: &str = "\
self 1
1  udp:127.0.0.1  alpha
2  udp:127.0.0.2  beta
";

/// A folder with files that are right and wrong.
fn folder() -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("room");
    write("hosts", CLUSTER);
    write("junk", "x\n");
    write("empty.json", "{}");
    write("times.csv", "bytes,seconds\n1,soon\n");
    write("secret", CLUSTER);
    let forbid = |name: &str, mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path().join(name), mode).expect("it is ours");
    };
    forbid("secret", 0o000);
    fs::create_dir(folder.path().join("locked")).expect("room");
    forbid("locked", 0o555);
    folder
}

/// Code and standard error of `prp` with these words, in the folder; without capabilities, so that
/// root may not do more than others.
fn run(folder: &TempDir, words: &str) -> (Option<i32>, String) {
    let prp = env!("CARGO_BIN_EXE_prp");
    let mut command = Command::new("timeout");
    command.arg("20");
    if geteuid().is_root() {
        command.args(["setpriv", "--bounding-set=-all", "--inh-caps=-all"]);
    }
    command.arg(prp).args(words.split_whitespace()).current_dir(folder.path());
    command.env("PRP_HOSTS", folder.path().join("hosts")).env_remove("PRP_NODE");
    let output = command.stdin(Stdio::null()).output().expect("there is timeout(1)");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Each of `cases` fails with `code` and says the words behind it.
fn check(code: i32, cases: &[(&str, &[&str])]) {
    let folder = folder();
    for (words, expected) in cases {
        let (ended, text) = run(&folder, words);
        let says_all = expected.iter().all(|word| text.contains(word));
        assert!(ended == Some(code) && says_all, "{words}: {ended:?} {expected:?}: {text}");
    }
}

/// All commands, by the manual pages that there are of them.
fn commands() -> Vec<String> {
    let pages = tempdir().expect("a temporary folder");
    let path = pages.path().to_str().expect("a plain name");
    assert_eq!(run(&pages, &format!("generate man {path}")).0, Some(0));
    let names = fs::read_dir(pages.path()).expect("pages").map(|entry| {
        let name = entry.expect("a page").file_name().into_string().expect("a plain name");
        // Those of the daemon are in section 8.
        let words = name.strip_suffix(".1")?.strip_prefix("prp-")?.replace('-', " ");
        Some(words)
    });
    names.flatten().collect()
}

#[test]
fn flag__that_is_none_leads_to_the_help() {
    let (folder, commands) = (folder(), commands());
    assert!(commands.len() > 40, "{commands:?}");
    for command in &commands {
        let (code, text) = run(&folder, &format!("{command} --bogus"));
        let says = text.contains("'--bogus'") && text.contains("try '--help'");
        assert!(code == Some(2) && says, "{command}: {text}");
    }
}

#[test]
fn node__that_is_none_is_answered_with_those_that_there_are() {
    let fix = "hosts; name 1 (alpha), 2 (beta), or add its line";
    let cases = [
        "cat omega 7",
        "cat -z omega 7",
        "dump --node omega",
        "hosts resolve omega",
        "model collective --rank 0 --addresses 1:7,omega:7 --pattern pairs --processes 2 --bytes 6",
        "model fit --live omega",
        "perf connect omega",
        "perf latency omega",
        "perf stream omega",
        "perf sweep omega",
        "ping omega",
        "ping 77",
        "proxy tcp:127.0.0.1:0 prp:omega:7",
        "stat dst omega",
        "top --once src omega",
        "trace omega",
    ];
    for words in cases {
        let name = if words.ends_with("77") { "77" } else { "omega" };
        check(5, &[(words, &[&format!("no node {name} in /"), fix])]);
    }
    check(
        5,
        &[
            (
                "ping 10.0.0.1",
                &["no node 10.0.0.1", "numbers or names, and no IP addresses: name 1"],
            ),
            ("hosts generate chain 3 --node 9", &["no node 9: there are 1 to 3"]),
        ],
    );
    let number = "expected a node number from 1 to 65534";
    check(
        2,
        &[
            ("stat dst 70000", &["70000: ", number, "or a name in prphosts"]),
            ("dump --node 0", &["0: ", number, "or a name in prphosts"]),
            ("routed status --node omega", &["'omega' for '--node", number]),
        ],
    );
    let folder = folder();
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_prp"));
    doctor.args(["doctor", "omega", "--hosts"]).arg(folder.path().join("hosts"));
    let doctor = doctor.output().expect("it runs");
    let text = String::from_utf8_lossy(&doctor.stdout);
    assert!(text.contains("no node omega in ") && text.contains("\n    fix: name 1 (al"), "{text}");
}

#[test]
fn option__that_is_none_is_no_value() {
    for words in ["ping -x beta", "trace --bogus beta", "cat -y beta 7"] {
        let done = Command::new(env!("CARGO_BIN_EXE_prp")).args(words.split(' ')).output();
        let done = done.expect("it runs");
        let text = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && text.contains("unexpected argument"), "{text}");
        assert!(!text.contains("as a value"), "{text}");
    }
    // A word that is nearly an option is still answered with that.
    let mut done = Command::new(env!("CARGO_BIN_EXE_prp"));
    done.args(["ping", "--cuont", "3", "beta"]);
    let text = String::from_utf8(done.output().expect("it runs").stderr).expect("text");
    assert!(text.contains("'--count'"), "{text}");
}

#[test]
fn number__that_is_none_is_answered_with_the_range() {
    let (whole, port) = ("expected a whole number", "expected a port from ");
    check(
        2,
        &[
            ("cat --spin x beta 7", &["'x' for '--spin", whole]),
            ("cat -p x beta 7", &["'x' for '--source-port", port]),
            ("cat -w soon beta 7", &["'soon' for '--timeout", "expected a number of seconds"]),
            ("cat beta http", &["'http' for '<PORT>'", port]),
            ("dump --count 0", &["'0' for '--count", "whole number, 1 or more"]),
            ("dump --ethertype 0x5ff", &["'0x5ff' for '--ethertype", "0x600 to 0xffff"]),
            ("dump --port 70000", &["'70000' for '--port", port]),
            ("dump --rate x", &["'x' for '--rate", whole]),
            ("dump --snapshot-length 1", &["'1' for '--snapshot-length", "from 96 to 131072"]),
            ("dump --udp-port 0", &["'0' for '--udp-port", port]),
            ("hosts generate chain x", &["'x' for '<NODES>'", "from 0 to 65535"]),
            ("hosts generate chain 1 --plan", &["chain 1: 2 to 17 nodes"]),
            ("perf stream beta -n 10MB", &["'10MB' for '--bytes", whole]),
            ("hosts generate chain 3 --node x", &["'x' for '--node", whole]),
            ("hosts generate chain 3 --udp x", &["'x' for '--udp", "an IP address such as"]),
            ("hosts generate tree 2 x", &["'x' for '<DEPTH>'", whole]),
            ("model compare --hops x junk", &["'x' for '--hops", whole]),
            ("model explain --size x junk", &["'x' for '--size", whole]),
            ("model export --simgrid --nodes 0 junk", &["'0' for '--nodes", "from 1 to 100000"]),
            ("model fit --max-bytes x junk", &["'x' for '--max-bytes", whole]),
            ("model fit --resamples 3 junk", &["'3' for '--resamples", "0, or 19 to 100000"]),
            ("model fit --seed x junk", &["'x' for '--seed", whole]),
            ("model gain --processors 0", &["'0' for '--processors", whole]),
            ("model predict --size x junk", &["'x' for '--size", whole]),
            ("perf connect beta --count 0", &["'0' for '--count", whole]),
            ("perf latency beta --beside x", &["'x' for '--beside", "from 0 to 4096"]),
            ("perf latency beta --rounds 0", &["'0' for '--rounds", "from 1 to 1000"]),
            ("perf latency beta --think 5", &["'5' for '--think", "such as 20us or 1ms"]),
            ("perf latency beta --size x", &["'x' for '--size", "from 1 to 1048576"]),
            ("perf serve --port x", &["'x' for '--port", port]),
            ("perf stream beta --bytes 0", &["'0' for '--bytes", whole]),
            ("perf stream beta --streams x", &["'x' for '--streams", "from 1 to 4096"]),
            ("trace -w -1 beta", &["'-1' for '--wait", "seconds greater than 0"]),
            ("ping -c -1 beta", &["'-1' for '--count", whole]),
            ("perf sweep beta --time x", &["'x' for '--time", "expected a number of seconds"]),
            ("ping -c 0 beta", &["'0' for '--count", "from 1 to 4294967295"]),
            ("ping -s 99999 beta", &["'99999' for '--size", "from 0 to 60000"]),
            ("ping --routers 16 beta", &["'16' for '--routers", "from 0 to 15"]),
            ("proxy prp:80 tcp:127.0.0.1:http", &["'tcp:127.0.0.1:http' for '<TO>'", port]),
            ("proxy tcp:127.0.0.1:http prp:2:80", &["'tcp:127.0.0.1:http' for '<FROM>'", port]),
            ("routed --watch=0 status", &["'0' for '--watch", "expected a number of seconds"]),
            ("stat -w 0", &["'0' for '--watch", "expected a number of seconds"]),
            ("stat sport x", &["x: expected a port"]),
            ("top -n 0", &["'0' for '--count", "whole number, 1 or more"]),
            ("trace -q 0 beta", &["'0' for '--queries", "from 1 to 10"]),
        ],
    );
    check(
        2,
        &[(
            "model collective --rank x --addresses 1:7 --pattern pairs --processes 2 --bytes 6",
            &["'x' for '--rank", whole],
        )],
    );
}

#[test]
fn file__that_is_not_there_or_is_none_is_named_with_the_fix() {
    let there = "No such file or directory (os error 2); name one that is there";
    let folder_first = "(os error 2); make its folder first";
    let write_one = "/no: No such file or directory (os error 2); write one (see etc/prphosts)";
    check(
        1,
        &[
            ("cat --hosts /no beta 7", &[write_one]),
            ("dump -r /no", &["/no: ", there]),
            ("dump -r .", &[".: ", "; name a file"]),
            ("dump -r junk", &["junk: expected pcap or pcapng, as `prp dump -w` writes"]),
            ("dump -w /no/file", &["/no/file: ", folder_first]),
            ("generate completions /proc/no", &["/proc/no: ", folder_first]),
            ("generate man junk", &["junk: ", "; name a folder"]),
            ("hosts check /no", &[write_one]),
            ("hosts check --all /no", &["/no: ", "; name a folder that is there"]),
            ("hosts generate chain 3 --out /proc/no", &["/proc/no: ", folder_first]),
            ("hosts resolve alpha --hosts /no", &[write_one]),
            ("model compare /no", &["/no: ", there]),
            ("model explain /no", &["/no: ", there]),
            ("model export --simgrid /no", &["/no: ", there]),
            ("model fit /no", &["/no: ", there]),
            ("model fit empty.json", &["empty.json: no results", "expected what `prp perf sweep"]),
            ("model fit junk", &["junk: line 1: ", "there are bytes, seconds"]),
            ("model fit times.csv", &["times.csv: line 2: \"soon\" is no time in seconds"]),
            ("model predict --size 1 /no", &["/no: ", there]),
            ("model reduce /no", &["/no: ", there]),
            ("model reduce junk", &["junk: line 1: ", "; see docs/models.md"]),
            ("perf latency --hosts /no beta", &[write_one]),
            ("perf serve --hosts /no", &[write_one]),
            ("perf stream beta --json /no/file", &["/no/file: ", folder_first]),
            ("ping --hosts /no beta", &[write_one]),
            ("proxy --hosts /no tcp:127.0.0.1:0 prp:2:7", &[write_one]),
            ("routed --hosts /no status", &[write_one]),
            ("trace --hosts /no beta", &[write_one]),
        ],
    );
}

#[test]
fn permission__that_lacks_is_named_with_the_fix() {
    let read = "Permission denied (os error 13); let this user read it";
    let write = "Permission denied (os error 13); name a place where this user may write";
    check(
        1,
        &[
            ("cat --hosts secret beta 7", &["secret: ", read]),
            ("dump -r secret", &["secret: ", read]),
            ("dump -w locked/file", &["locked/file: ", write]),
            ("hosts check secret", &["secret: Permission denied"]),
            ("model fit secret", &["secret: ", read]),
            ("model reduce secret", &["secret: ", read]),
            ("perf latency beta --json locked/file", &["locked/file: ", write]),
            ("ping --hosts secret beta", &["secret: ", read]),
        ],
    );
    // What a folder without the right of writing keeps root from without capabilities as well.
    let locked = ["generate man locked", "generate completions locked"];
    for words in locked.into_iter().chain(["hosts generate chain 3 --out locked"]) {
        check(1, &[(words, &["locked", write])]);
    }
    check(6, &[("dump", &["needs CAP_NET_RAW: `sudo prp dump` (-r reads a file)"])]);
    // In some containers low ports are for all.
    let first = fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start");
    if first.is_ok_and(|first| first.trim() == "1024") {
        let words = "proxy tcp:127.0.0.1:1 prp:2:7";
        check(6, &[(words, &["tcp:127.0.0.1:1", "CAP_NET_BIND_SERVICE"])]);
    }
}
