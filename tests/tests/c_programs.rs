//! Programs in C, C++ and Fortran with libprp.so.0, installed as a user installs it. They run
//! without privileges, on nodes of the loopback device.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_tests::harness::skip;
use prp_tests::loopback::Loopback;
use prp_tests::program::{self, finish};
use prp_tests::scratch::TempFile;
use prp_tests::wait;

prp_tests::main! {
    first: build;
    light:
        archive__is_linked_as_the_book_says,
        c__bad_use_has_a_defined_error,
        c__scenes_of_std,
        c__process_that_leaves_delivers,
        cmake__finds_the_package,
        cplusplus__includes_the_header,
        examples__answer_over_two_nodes,
        examples__of_one_node,
        examples__show_the_functions_that_name_them,
        fortran__uses_the_module,
        library__has_the_functions_of_the_header,
        library__is_in_step_with_its_header,
        library__refuses_a_program_of_a_later_one_by_name,
        manual__has_a_page_for_each_function,
        memory__nothing_is_lost_or_misused,
        memory__of_cplusplus,
        memory__of_examples,
        memory__of_fortran,
        memory__of_servers;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");

/// What every C program is compiled with.
const C_FLAGS: [&str; 7] =
    ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-g", "-pthread"];

/// Checks of the compiler's own while a program runs.
const SANITIZERS: &str = "-fsanitize=address,undefined";

/// Examples that need no peer.
const ALONE: [&str; 8] =
    ["address", "errors", "nonblocking", "options", "stats", "vectors", "version", "wait_any"];

/// Examples with a server.
const SERVERS: [&str; 3] = ["echo", "epoll", "messages"];

/// The scenes of std's tests of TCP.
const STD_TCP: [&str; 2] = ["std_tcp", "std_tcp_threads"];

/// std's tests of TCP; none without their text.
const STD_TESTS: &[&str] = include!(concat!(env!("OUT_DIR"), "/std_tcp_names.rs"));

/// Tests without a scene in C, and the reason. Not all of them are in every
/// version of std.
const NOT_IN_C: [(&str, &str); 2] = [
    ("nodelay", "there is no such option in C: PRP holds no small write back"),
    ("read_buf", "its buffer is a type of Rust"),
];

/// Where the library is installed, beside the programs that are built with it.
static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
    let programs = program::build_all(&["prp-capi", "prp-run-preload"], SIBLING);
    let prefix = programs.join("c-programs");
    let mut install = Command::new(programs.join("prp-capi-install"));
    let status = install.arg("--prefix").arg(&prefix).status().expect("prp-capi-install runs");
    assert!(status.success(), "{install:?}: {status}");
    prefix
});

static BUILT: LazyLock<()> = LazyLock::new(|| {
    let programs = ["leaver", "misuse", "std_tcp", "std_tcp_threads", "taker"];
    let programs = programs.map(|name| (name, source(&format!("{name}.c"))));
    let examples = ALONE.into_iter().chain(SERVERS).map(|name| (name, example(name)));
    for (name, source) in examples.chain(programs) {
        compile("cc", &source, &program_of(name), &[&C_FLAGS[..], &[SANITIZERS]].concat());
        compile("cc", &source, &plain(name), &C_FLAGS);
    }
});

fn build() {
    LazyLock::force(&BUILT);
}

fn crate_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../prp-capi")
}

fn example(name: &str) -> PathBuf {
    crate_folder().join("examples").join(name).with_extension("c")
}

fn source(name: &str) -> PathBuf {
    crate_folder().join("tests/programs").join(name)
}

fn program_of(name: &str) -> PathBuf {
    PREFIX.join(name)
}

/// The program without the sanitizers, which do not go together with valgrind.
fn plain(name: &str) -> PathBuf {
    program_of(&format!("{name}-plain"))
}

/// What pkg-config says of the library.
fn pkg_config(words: &[&str]) -> Vec<String> {
    let mut command = Command::new("pkg-config");
    command.env("PKG_CONFIG_PATH", PREFIX.join("lib/pkgconfig")).args(words).arg("prp");
    let (code, out, err) = finish(command);
    assert_eq!(code, Some(0), "pkg-config: {err}");
    out.split_whitespace().map(str::to_owned).collect()
}

/// Compiles and links a program as its documentation says.
fn compile(compiler: &str, source: &Path, program: &Path, flags: &[&str]) {
    let mut command = Command::new(compiler);
    command.args(flags).arg("-o").arg(program).arg(source);
    command.args(pkg_config(&["--cflags", "--libs"]));
    command.arg(format!("-Wl,-rpath,{}", PREFIX.join("lib").display()));
    let status = command.status().unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// Skips the test if there is no `tool`, which Debian's package of the name `package` has.
fn require(tool: &str, package: &str) {
    if !Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip(format!("{tool} (apt-get install {package})"));
    }
}

/// Two nodes, and a third one in prphosts, called `silent`, that no process is on.
struct Nodes {
    nodes: Loopback,
    hosts: TempFile,
}

impl Nodes {
    fn new() -> Self {
        let nodes = Loopback::new();
        let text = std::fs::read_to_string(nodes.hosts()).expect("it was just written");
        let hosts = TempFile::new(format!("{text}200 udp:{} silent\n", nodes.other_ip()));
        Self { nodes, hosts }
    }

    fn command(&self, node: u8, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("PRP_HOSTS", self.hosts.path()).env("PRP_NODE", node.to_string());
        command
    }

    /// A program on the server's node, which prphosts calls `beta`.
    fn server(&self, program: impl AsRef<OsStr>) -> Command {
        self.command(self.nodes.server, program)
    }

    /// A program on the client's node, which prphosts calls `alpha`.
    fn client(&self, program: impl AsRef<OsStr>) -> Command {
        self.command(self.nodes.client, program)
    }
}

/// A server. It is killed when this is dropped.
struct Server(Child);

impl Server {
    /// Ends it in a way that valgrind sees.
    fn terminate(&mut self) {
        let pid = Pid::from_raw(self.0.id().cast_signed());
        kill(pid, Signal::SIGTERM).expect("it is there");
        self.0.wait().expect("it was not waited for");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.kill().expect("the server has not been waited for");
        self.0.wait().expect("the server has not been waited for");
    }
}

/// Runs a program that prints `done` at its end.
/// Runs `command`, which prints the name of each scene; what it has printed.
fn run_to_its_end(command: Command) -> String {
    let (code, out, err) = finish(command);
    assert!(code == Some(0) && out.ends_with("done\n"), "{code:?}: {out}\n{err}");
    out
}

/// A scene that std adds is missed.
fn c__scenes_of_std() {
    let out = STD_TCP.map(|name| run_to_its_end(Nodes::new().server(program_of(name)))).concat();
    let is_left_out = |name: &str| NOT_IN_C.iter().any(|(of, _)| *of == name);
    let has = |name: &str| out.lines().any(|line| line == name);
    let missing: Vec<_> =
        STD_TESTS.iter().filter(|name| !is_left_out(name) && !has(name)).collect();
    assert!(missing.is_empty(), "no scene for {missing:?} in {out}");
}

fn c__bad_use_has_a_defined_error() {
    run_to_its_end(Nodes::new().server(program_of("misuse")));
}

/// A process that returns from `main` with an open stream: its peer has everything.
fn leave_and_count(nodes: &Nodes, taker: Command, leaver: Command) {
    let mut taker = taker;
    let mut taking = taker.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdout = BufReader::new(taking.stdout.take().expect("it is a pipe"));
    let mut address = String::new();
    stdout.read_line(&mut address).expect("it speaks");
    let mut leaver = leaver;
    let left = leaver.arg(address.trim()).output().expect("it starts");
    let hosts = nodes.hosts.path().display();
    assert!(left.status.success(), "{hosts}: {left:?}");
    let mut count = String::new();
    stdout.read_to_string(&mut count).expect("it speaks");
    assert_eq!(count, "2097152\n");
    assert!(taking.wait().expect("it was not waited for").success());
}

fn c__process_that_leaves_delivers() {
    let nodes = Nodes::new();
    let (taker, leaver) = (program_of("taker"), program_of("leaver"));
    leave_and_count(&nodes, nodes.server(taker), nodes.client(leaver));
}

/// What valgrind writes around an error.
const ERROR: &str = "ERROR OF MEMORY";

/// The plain program `name` under valgrind, which ends with 99 where memory is lost or misused.
fn checked(nodes: &Nodes, node: u8, name: &str) -> Command {
    let mut command = nodes.command(node, "valgrind");
    command.args(["--quiet", "--leak-check=full", "--show-leak-kinds=definite,indirect"]);
    command.args(["--errors-for-leak-kinds=definite,indirect", "--error-exitcode=99"]);
    // A call of the kernel's that it does not know it reports, and lets pass.
    command.arg("--fair-sched=yes").arg(format!("--error-markers={ERROR},{ERROR}"));
    command.arg(plain(name));
    command
}

fn memory__nothing_is_lost_or_misused() {
    require("valgrind", "valgrind");
    let nodes = Nodes::new();
    let Loopback { client, server, .. } = nodes.nodes;
    for name in STD_TCP.into_iter().chain(["misuse"]) {
        run_to_its_end(checked(&nodes, server, name));
    }
    let taker = checked(&nodes, server, "taker");
    leave_and_count(&nodes, taker, checked(&nodes, client, "leaver"));
}

fn memory__of_examples() {
    require("valgrind", "valgrind");
    for name in ALONE {
        let nodes = Nodes::new();
        let (code, out, err) = finish(checked(&nodes, nodes.nodes.server, name));
        assert_eq!(code, Some(0), "{name}: {out}{err}");
    }
}

/// Servers end by a signal, so what valgrind says is in their errors alone.
fn memory__of_servers() {
    require("valgrind", "valgrind");
    let nodes = Nodes::new();
    let mut servers = SERVERS.map(|name| {
        let mut command = checked(&nodes, nodes.nodes.server, name);
        Server(command.stderr(Stdio::piped()).spawn().expect("it starts"))
    });
    exchange(&nodes, |name| checked(&nodes, nodes.nodes.client, name));
    for (server, name) in servers.iter_mut().zip(SERVERS) {
        server.terminate();
        let mut errors = String::new();
        let mut pipe = server.0.stderr.take().expect("it is a pipe");
        pipe.read_to_string(&mut errors).expect("text");
        assert!(!errors.contains(ERROR), "{name}: {errors}");
    }
}

fn memory__of_cplusplus() {
    require("valgrind", "valgrind");
    compile_cplusplus(&plain("cplusplus"), &[]);
    let nodes = Nodes::new();
    run_to_its_end(checked(&nodes, nodes.nodes.server, "cplusplus"));
}

fn memory__of_fortran() {
    require("valgrind", "valgrind");
    compile_fortran(&plain("fortran"), &[]);
    let nodes = Nodes::new();
    run_to_its_end(checked(&nodes, nodes.nodes.server, "fortran"));
}

fn examples__of_one_node() {
    for name in ALONE {
        let nodes = Nodes::new();
        let (code, out, err) = finish(nodes.server(program_of(name)));
        assert_eq!(code, Some(0), "{name}: {out}{err}");
    }
}

/// Runs `client` with `words` once its server listens; returns its output.
fn ask(client: impl Fn() -> Command, words: &[&str]) -> String {
    wait::until("an answer of the server", || {
        let Output { status, stdout, stderr } = client().args(words).output().expect("it starts");
        let errors = String::from_utf8_lossy(&stderr);
        assert!(!errors.contains(ERROR), "{errors}");
        status.success().then(|| String::from_utf8(stdout).expect("text"))
    })
}

fn examples__answer_over_two_nodes() {
    let nodes = Nodes::new();
    let [_echo, _epoll, _messages] =
        SERVERS.map(|name| Server(nodes.server(program_of(name)).spawn().expect("it starts")));
    exchange(&nodes, |name| nodes.client(program_of(name)));
}

/// Asks each of the servers. `client` is an example on the client's node.
fn exchange(nodes: &Nodes, client: impl Fn(&str) -> Command) {
    let text = "x".repeat(5000);
    assert_eq!(ask(|| client("echo"), &["beta", &text]).trim_end(), text);
    let answered = ask(|| client("messages"), &["beta", "one", "three", ""]);
    assert_eq!(answered, "one: 3 bytes\nthree: 5 bytes\n: 0 bytes\n");
    let mut cat = nodes.client(program::prp(SIBLING));
    let script = format!("printf hello | {} cat beta 7003", cat.get_program().display());
    cat = nodes.client("sh");
    let answered = wait::until("an answer of the server on epoll", || {
        let output = cat.args(["-c", &script]).output().expect("sh runs");
        output.status.success().then_some(output.stdout)
    });
    assert_eq!(answered, b"hello");
}

/// Names of functions, with the rest of their lines, in a text of C.
fn called(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("prp_") {
        let name = &text[at..];
        let len = name.find(|c: char| c != '_' && !c.is_ascii_lowercase());
        let (name, rest) = name.split_at(len.unwrap_or(name.len()));
        if rest.starts_with('(') {
            found.insert(name);
        }
    }
    found
}

/// The functions that the header declares, each with its example.
fn declared(header: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    let mut example = "";
    for line in header.lines() {
        if let Some(name) = line.strip_prefix(" * @example ") {
            example = name;
        }
        if line.ends_with(");") && !line.starts_with([' ', '#']) {
            let (head, _) = line.split_once('(').expect("a declaration");
            all.push((head.rsplit([' ', '*']).next().expect("a name"), example));
            example = "";
        }
    }
    all
}

fn header() -> String {
    std::fs::read_to_string(crate_folder().join("include/prp.h")).expect("the header is there")
}

fn examples__show_the_functions_that_name_them() {
    let header = header();
    let run: BTreeSet<_> = ALONE.into_iter().chain(SERVERS).collect();
    for (function, file) in declared(&header) {
        let name = file.trim_end_matches(".c");
        assert!(run.contains(name), "{function}: no test runs {file:?}");
        let text = std::fs::read_to_string(example(name)).expect("the example is there");
        assert!(called(&text).contains(function), "{file} does not call {function}");
    }
}

/// Symbols of the library, with their versions.
fn symbols() -> BTreeSet<String> {
    let mut nm = Command::new("nm");
    nm.args(["--dynamic", "--defined-only"]).arg(PREFIX.join("lib/libprp.so"));
    let (code, out, err) = finish(nm);
    assert_eq!(code, Some(0), "nm: {err}");
    let names = out.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.filter(|name| name.contains('@')).map(str::to_owned).collect()
}

fn library__has_the_functions_of_the_header() {
    let header = header();
    let expected: BTreeSet<_> =
        declared(&header).iter().map(|(name, _)| format!("{name}@@PRP_0.1")).collect();
    assert!(expected.len() > 40, "{expected:?}");
    assert_eq!(symbols(), expected);
}

/// What readelf says of how `file` is to be loaded.
fn dynamic_section(file: &Path) -> String {
    let mut readelf = Command::new("readelf");
    readelf.arg("-d").arg(file);
    let (code, out, err) = finish(readelf);
    assert_eq!(code, Some(0), "readelf: {err}");
    out
}

fn library_soname() -> String {
    let section = dynamic_section(&PREFIX.join("lib/libprp.so"));
    let name = section.split_once("soname: [").and_then(|(_, rest)| rest.split_once(']'));
    name.unwrap_or_else(|| panic!("no soname: {section}")).0.to_owned()
}

/// Soname, versions of the header, and the versions that pkg-config and the functions report.
fn library__is_in_step_with_its_header() {
    let header = header();
    let value = |name: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
        line.and_then(|line| line.split_whitespace().next()).expect("a value").trim_matches('"')
    };
    assert_eq!(library_soname(), format!("libprp.so.{}", value("PRP_ABI_VERSION")));
    assert_eq!(pkg_config(&["--modversion"]), [value("PRP_VERSION")]);
    let (code, out, _) = finish(Nodes::new().server(program_of("version")));
    let version = value("PRP_VERSION");
    assert_eq!((code, out), (Some(0), format!("libprp {version}, compiled with {version}\n")));
}

/// A library of the same soname with one function more, in C alone, stands for the later one.
fn library__refuses_a_program_of_a_later_one_by_name() {
    let folder = PREFIX.join("later-library");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("the folder can be written");
        path
    };
    let versions = "PRP_0.1 { global: prp_version; local: *; };\n\
                    PRP_0.2 { global: prp_later; } PRP_0.1;\n";
    let functions = "int prp_version(void) { return 0; }\nint prp_later(void) { return 0; }\n";
    let main = "int prp_later(void);\nint main(void) { return prp_later(); }\n";
    let soname = library_soname();
    let later = folder.join("libprp.so");
    let mut library = Command::new("cc");
    library.args(["-shared", "-fPIC", "-o"]).arg(&later).arg(format!("-Wl,-soname,{soname}"));
    library.arg(format!("-Wl,--version-script={}", file("later.map", versions).display()));
    library.arg(file("later.c", functions));
    let program = folder.join("program");
    let mut link = Command::new("cc");
    link.arg("-o").arg(&program).arg(file("program.c", main)).arg(&later);
    for mut command in [library, link] {
        let status = command.status().expect("cc runs");
        assert!(status.success(), "{command:?}: {status}");
    }
    std::fs::rename(&later, folder.join(&soname)).expect("the folder can be written");
    let run_with = |libraries: PathBuf| {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", libraries);
        finish(command)
    };
    let (code, _, err) = run_with(folder.clone());
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run_with(PREFIX.join("lib"));
    assert!(code != Some(0) && err.contains("version `PRP_0.2' not found"), "{code:?}: {err}");
}

/// The program has no libprp.so to load.
fn archive__is_linked_as_the_book_says() {
    let program = program_of("stats-archive");
    let mut cc = Command::new("cc");
    cc.args(C_FLAGS).arg("-o").arg(&program).arg(example("stats"));
    let words = pkg_config(&["--static", "--cflags", "--libs"]);
    cc.args(words.iter().map(|word| word.replace("-lprp", "-l:libprp.a")));
    let status = cc.status().expect("cc runs");
    assert!(status.success(), "{cc:?}: {status}");
    assert!(!dynamic_section(&program).contains("libprp"), "{cc:?}: libprp.so is needed");
    let (code, out, err) = finish(Nodes::new().server(program));
    assert_eq!(code, Some(0), "{out}{err}");
}

fn manual__has_a_page_for_each_function() {
    let header = header();
    let folder = PREFIX.join("share/man/man3");
    for (function, _) in declared(&header) {
        let page = folder.join(format!("{function}.3"));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{function}: {e}"));
        for part in ["SYNOPSIS", "DESCRIPTION", "ATTRIBUTES", "EXAMPLES"] {
            assert!(text.contains(&format!(".SH {part}\n")), "{function}: no {part}");
        }
    }
    require("groff", "groff-base");
    for page in std::fs::read_dir(folder).expect("the folder is there").flatten() {
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tutf8", "-ww", "-z"]).arg(page.path());
        let (code, out, err) = finish(groff);
        assert!(code == Some(0) && out.is_empty() && err.is_empty(), "{page:?}: {err}");
    }
}

fn compile_cplusplus(program: &Path, more: &[&str]) {
    require("c++", "g++");
    let flags = ["-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-g"];
    compile("c++", &source("cplusplus.cc"), program, &[&flags[..], more].concat());
}

fn cplusplus__includes_the_header() {
    let program = program_of("cplusplus");
    compile_cplusplus(&program, &[SANITIZERS]);
    run_to_its_end(Nodes::new().server(program));
}

fn compile_fortran(program: &Path, more: &[&str]) {
    require("gfortran", "gfortran");
    // Of each program its own: others may be compiled at the same time.
    let modules = program.with_extension("modules");
    std::fs::create_dir_all(&modules).expect("the target folder can be written");
    let paths = [modules, PREFIX.join("share/prp/prp.f90")].map(|path| path.display().to_string());
    let flags = ["-std=f2018", "-Wall", "-Werror", "-g", "-J", &paths[0], &paths[1]];
    compile("gfortran", &source("fortran.f90"), program, &[&flags[..], more].concat());
}

fn fortran__uses_the_module() {
    let program = program_of("fortran");
    compile_fortran(&program, &[SANITIZERS]);
    run_to_its_end(Nodes::new().server(program));
}

fn cmake__finds_the_package() {
    require("cmake", "cmake");
    let folder = PREFIX.join("cmake-project");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let text = format!(
        "cmake_minimum_required(VERSION 3.10)\nproject(version C)\n\
         find_package(prp 0.1 REQUIRED)\nadd_executable(version {})\n\
         target_link_libraries(version prp::prp)\n",
        example("version").display()
    );
    std::fs::write(folder.join("CMakeLists.txt"), text).expect("the folder can be written");
    let build = folder.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&folder).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", PREFIX.display()));
    let mut make = Command::new("cmake");
    make.arg("--build").arg(&build);
    for step in [configure, make] {
        let (code, out, err) = finish(step);
        assert_eq!(code, Some(0), "{out}{err}");
    }
    let (code, _, err) = finish(Command::new(build.join("version")));
    assert_eq!(code, Some(0), "{err}");
}
