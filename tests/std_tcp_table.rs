// How std's tests of TCP are made tests of PRP. Included by build.rs and by tests/std_tcp.rs.

/// Tests left out, and why.
pub const EXCLUDED: &[(&str, &str)] = &[(
    "debug",
    "compares {:?} with \"TcpListener { addr, fd: N }\" word for word; PRP prints its own type names, and \
     has no descriptor until one is asked for",
)];

/// Words replaced, and why.
pub const REPLACED: &[(&str, &str, &str)] = &[
    ("|| e.kind() == ErrorKind::Uncategorized", "", "an unstable name; AddrInUse stays allowed"),
    ("SocketAddr::V4(..) =>", "_ =>", "there is one kind of address"),
    ("SocketAddr::V6(..) => \"::1\",", "", "there is one kind of address"),
    ("\"127.0.0.1", "\"here", "nodes have names in prphosts, and IP addresses are none"),
    ("\"0.0.0.0", "\"here", "as 127.0.0.1"),
    ("\"1.1.1.1", "\"there", "as 127.0.0.1; it is another node"),
];
