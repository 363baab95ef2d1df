//! What is made from a header.
#![allow(non_snake_case, reason = "tests are named function__case")]
#![allow(dead_code, unreachable_pub, reason = "build.rs uses the rest")]

#[path = "../generate"]
mod generate {
    pub(crate) mod fortran;
    pub(crate) mod header;
    pub(crate) mod manual;
    pub(crate) mod symbols;
}

use generate::header::Header;

/// A function of a later version than the other one.
const HEADER: &str = "\
#define PRP_ABI_VERSION 0 /**< number */
#define PRP_FIND 3 /**< has the name of a function, for Fortran */
enum {
    PRP_READ = 1, /**< bytes to receive */
    PRP_SHUT_RD = 0 /**< nothing more is received */
};
/** An entry. */
typedef struct prp_wait {
    prp_stream *stream; /**< the stream, or NULL */
    int events; /**< PRP_READ */
} prp_wait;
/** An address. */
typedef struct prp_address {
    uint16_t node; /**< number of the node */
} prp_address;
/**
 * Waits for any of several.
 *
 * @param waits the entries
 * @return how many
 * @constants PRP_READ
 * @example wait.c
 */
int prp_wait_any(prp_wait *waits);
/**
 * Finds an address.
 *
 * @param address is set
 * @since 0.2
 * @example address.c
 */
int prp_find(prp_address *address);
";

fn header() -> Header {
    Header::parse(HEADER)
}

#[test]
fn version_script__a_later_function_has_a_version_of_its_own() {
    let script = generate::symbols::version_script(&header());
    let versions = "PRP_0.1 {\n  global:\n    prp_wait_any;\n  local: *;\n};\n\
                    PRP_0.2 {\n  global:\n    prp_find;\n} PRP_0.1;\n";
    assert_eq!(script, versions);
}

#[test]
fn pages__show_structs_and_constants() {
    let pages = generate::manual::pages(&header(), "0.2", |_| String::new());
    let page = |name: &str| {
        let found = pages.iter().find(|(page, _)| page == name);
        found.map(|(_, text)| text.as_str()).expect("a page")
    };
    let wait = page("prp_wait_any.3");
    for part in [
        ".B typedef struct prp_wait {\n.B \\ \\ \\ \\ prp_stream *stream;\n",
        ".B \\ \\ \\ \\ int events;\n.B } prp_wait;\n",
        ".TP\n.B PRP_READ\nbytes to receive\n",
        ".SS Fields of prp_wait\n.TP\n.I stream\nthe stream, or NULL\n",
    ] {
        assert!(wait.contains(part), "{part:?} is not in {wait}");
    }
    assert!(!wait.contains("PRP_SHUT_RD") && !wait.contains("prp_address"), "{wait}");
    assert!(page("prp_find.3").contains("uint16_t node;"));
}

#[test]
fn module__has_what_is_defined() {
    let module = generate::fortran::module(&header());
    assert!(module.contains("  integer(c_int), parameter :: PRP_ABI_VERSION = 0\n"), "{module}");
    assert!(!module.contains("PRP_FIND"), "{module}");
    assert!(module.contains("    integer(c_int16_t) :: node\n"), "{module}");
}
