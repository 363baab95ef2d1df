//! What README.md shows is what compiles and runs.
#![allow(non_snake_case, reason = "tests are named function__case")]

#[test]
fn readme__example_is_the_one_in_the_tree() {
    let readme = include_str!("../../README.md");
    let example = include_str!("../examples/echo.rs");
    let code = example.split_once("\n").map_or(example, |(_, code)| code);
    assert!(readme.contains(code), "README.md shows something else than prp-sock/examples/echo.rs");
}
