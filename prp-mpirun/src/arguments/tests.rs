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
fn hostfile__what_others_stumble_over() {
    let text = "# nodes\nalpha\n\n  beta-2   3 # two blanks\ngamma slots=2";
    let parsed = parse_hostfile(text).unwrap();
    let expected = [("alpha", 0), ("beta-2", 3), ("gamma", 2)];
    assert_eq!(parsed, expected.map(|(name, n)| (name.to_owned(), n)));
    assert!(parse_hostfile("alpha many").is_err());
}
