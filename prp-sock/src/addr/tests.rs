use std::fs;
use std::path::PathBuf;

use super::*;

/// A resolver by a prphosts of two nodes, of which this machine is the first.
fn resolver(name: &str) -> (Resolver, PathBuf) {
    let file = format!("prp-addr-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(file);
    let text = "self 1\n1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:02 eth0 beta\n";
    fs::write(&path, text).expect("a temporary file");
    let hosts = HostsFile::load(&path).expect("the text above is well formed");
    fs::remove_file(&path).expect("it was written");
    (Resolver::new(hosts, NodeId::new(1)), path)
}

fn refused(resolver: &Resolver, text: &str) -> String {
    let error = text.to_prp_addrs_with(Some(resolver)).expect_err(text);
    assert_eq!(error.kind(), io::ErrorKind::NotFound, "{text}: {error}");
    error.to_string()
}

#[test]
fn address__what_tcp_programs_listen_at_is_pointed_to_self() {
    let (resolver, _) = resolver("listen");
    for text in ["0.0.0.0:7000", "127.0.0.1:7000", "[::]:7000", "[::1]:7000", "*:7000", ":7000"] {
        let message = refused(&resolver, text);
        assert!(message.contains("\"self:7000\""), "{text}: {message}");
    }
    let here = PrpAddr::new(NodeId::MIN, Port::new(7000));
    for text in ["self:7000", "localhost:7000", "alpha:7000", "1:7000"] {
        let found: Vec<_> = text.to_prp_addrs_with(Some(&resolver)).expect(text).collect();
        assert_eq!(found, [here], "{text}");
    }
}

#[test]
fn address__unknown_nodes_are_reported_as_such() {
    let (resolver, path) = resolver("unknown");
    let path = path.display();
    assert_eq!(resolver.node("9").unwrap_err().to_string(), format!("no node 9 in {path}"));
    let message = refused(&resolver, "gamma:80");
    assert_eq!(message, format!("no node called gamma in {path}"));
    assert!(refused(&resolver, "10.0.0.3:80").contains("an IP address"));
    assert!(refused(&resolver, " beta:80").contains("leave the blank out"));
}

#[test]
fn to_prp_addrs__takes_what_to_socket_addrs_takes() {
    let (resolver, _) = resolver("forms");
    let beta = PrpAddr::new(NodeId::new(2).unwrap(), Port::new(80));
    let all = [
        ("beta", 80).to_prp_addrs_with(Some(&resolver)),
        ("beta".to_owned(), 80).to_prp_addrs_with(Some(&resolver)),
        (2, 80).to_prp_addrs_with(Some(&resolver)),
        (beta.node, 80).to_prp_addrs_with(Some(&resolver)),
        (beta.node, beta.port).to_prp_addrs_with(Some(&resolver)),
        beta.to_prp_addrs_with(Some(&resolver)),
    ];
    for found in all {
        assert!(found.expect("it is beta's").eq([beta]));
    }
}
