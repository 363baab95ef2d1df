// How std's tests of TCP are adapted to PRP. Included by build.rs and by tests/std_tcp.rs.

/// Tests that are omitted, and the reason.
pub const EXCLUDED: &[(&str, &str)] = &[(
    "debug",
    "compares {:?} with \"TcpListener { addr, fd: N }\" word for word; PRP prints its own type names, and \
     has no descriptor until one is asked for",
)];

/// Words that are replaced, and the reason.
pub const REPLACED: &[(&str, &str, &str)] = &[
    ("|| e.kind() == ErrorKind::Uncategorized", "", "an unstable name; AddrInUse stays allowed"),
    ("SocketAddr::V4(..) =>", "_ =>", "there is one kind of address"),
    ("SocketAddr::V6(..) => \"::1\",", "", "there is one kind of address"),
    ("\"127.0.0.1", "\"here", "nodes have names in prphosts, and IP addresses are none"),
    ("\"0.0.0.0", "\"here", "as 127.0.0.1"),
    ("\"1.1.1.1", "\"there", "as 127.0.0.1; it is another node"),
];
