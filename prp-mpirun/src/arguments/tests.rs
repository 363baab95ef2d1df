use super::*;

fn nodes(arguments: &[&str]) -> io::Result<Vec<usize>> {
    let all = ["prp-mpirun"].iter().chain(arguments).chain(&["true"]);
    let parsed = Arguments::try_parse_from(all).unwrap();
    Ok(parsed.nodes()?.into_iter().map(|n| n.ranks).collect())
}

#[test]
fn nodes__ranks_are_in_blocks() {
    assert_eq!(nodes(&["-n", "4"]).unwrap(), [4]);
    assert_eq!(nodes(&["-n", "5", "--node", "1,2"]).unwrap(), [3, 2]);
    assert_eq!(nodes(&["--node", "a,b,c"]).unwrap(), [1, 1, 1]);
    assert!(nodes(&["-n", "1", "--node", "1,2"]).is_err());
}

#[test]
fn nodes__absurd_numbers_are_errors() {
    assert!(nodes(&["-n", "0"]).is_err());
    assert_eq!(nodes(&["-n", "65536"]).unwrap(), [65536]);
    assert!(nodes(&["-n", "65537"]).is_err());
    assert!(nodes(&["-n", "99999999999", "--node", "a,b"]).is_err());
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    for text in ["", "# none\n", "a 99999999999\n", "a 18446744073709551615\nb 2\n"] {
        fs::write(path, text).unwrap();
        assert!(nodes(&["--hostfile", path]).is_err(), "{text}");
    }
    fs::write(path, "a 2\n").unwrap();
    assert_eq!(nodes(&["--hostfile", path]).unwrap(), [2]);
}

/// The words as they are parsed; nothing if they are refused.
fn parsed(text: &str) -> Option<(Option<usize>, Vec<OsString>)> {
    let all = text.split_whitespace().map(OsString::from).collect();
    let parsed = Arguments::try_parse_from(words(all).ok()?).ok()?;
    Some((parsed.ranks, parsed.program))
}

#[test]
fn words__those_of_other_launchers_are_taken_or_refused() {
    let program = |text: &str| text.split_whitespace().map(OsString::from).collect::<Vec<_>>();
    assert_eq!(parsed("prp-mpirun -np 2 a -np 3"), Some((Some(2), program("a -np 3"))));
    assert_eq!(parsed("prp-mpirun --np 2 a"), Some((Some(2), program("a"))));
    assert_eq!(parsed("prp-mpirun -n2 a -x"), Some((Some(2), program("a -x"))));
    assert_eq!(parsed("prp-mpirun -bind-to core a"), None);
    assert_eq!(parsed("prp-mpirun -unknown a"), None);
    assert_eq!(parsed("prp-mpirun -n"), None);
    assert_eq!(parsed("prp-mpirun --oversubscribe -q -n 3 a"), Some((Some(3), program("a"))));
    assert_eq!(parsed("prp-mpirun --bind-to none --map-by slot a"), Some((None, program("a"))));
    assert_eq!(parsed("prp-mpirun --np=2 --label a"), Some((Some(2), program("a"))));
    assert_eq!(parsed("prp-mpirun -n 1 a : -n 1 b"), None);
    assert_eq!(parsed("prp-mpirun -n 1 -- a : b"), Some((Some(1), program("a : b"))));
}

#[test]
fn words__each_launcher_s_options_are_ours() {
    let read = |text: &str| {
        let all = text.split(' ').map(OsString::from).collect();
        Arguments::try_parse_from(words(all).unwrap()).unwrap()
    };
    let mpich = read("x -l -hosts a,b -ppn 2 -genv A 1 -env B -2 -f file -- prog");
    let open_mpi = read("x --tag-output -host a,b -N 2 -x A=1 -x B=-2 --machinefile=file prog");
    for parsed in [mpich, open_mpi] {
        assert_eq!((parsed.label, parsed.per_node), (true, Some(2)), "{parsed:?}");
        assert_eq!(
            (parsed.node, parsed.hostfile),
            (vec!["a".into(), "b".into()], Some("file".into()))
        );
        assert_eq!(
            (parsed.variables, parsed.program),
            (vec!["A=1".into(), "B=-2".into()], vec!["prog".into()])
        );
    }
    assert_eq!(read("x --timeout 1.5 a").timeout, Some(Duration::from_millis(1500)));
    let all = ["x", "-wdir", "/tmp", "a"].map(OsString::from).into();
    assert!(words(all).unwrap_err().to_string().contains("cd DIR"));
}

#[test]
fn nodes__of_a_number_on_each() {
    assert_eq!(nodes(&["--per-node", "2", "--node", "a,b"]).unwrap(), [2, 2]);
    assert_eq!(nodes(&["-n", "3", "--per-node", "2", "--node", "a,b,c"]).unwrap(), [2, 1]);
    assert_eq!(nodes(&["--per-node", "2", "--node", "a:3,b"]).unwrap(), [3, 2]);
    assert_eq!(nodes(&["--node", "a:3,b"]).unwrap(), [3, 1]);
    assert_eq!(nodes(&["--per-node", "4"]).unwrap(), [4]);
    assert!(nodes(&["-n", "5", "--per-node", "2", "--node", "a,b"]).is_err());
    assert!(nodes(&["--per-node", "0", "--node", "a,b"]).is_err());
}

#[test]
fn hostfile__what_others_stumble_over() {
    let text = "# nodes\nalpha\n\n  beta-2   3 # two blanks\ngamma slots=2";
    let parsed = parse_hostfile(text).unwrap();
    let expected = [("alpha", 0), ("beta-2", 3), ("gamma", 2)];
    assert_eq!(parsed, expected.map(|(name, n)| (name.to_owned(), n)));
    assert!(parse_hostfile("alpha many").is_err());
}
