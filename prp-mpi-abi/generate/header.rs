//! The header `mpi.h` of the standard ABI.

use std::fmt::Write;

/// The header, from the lists of constants and functions.
pub(crate) fn header(constants: &str, functions: &str) -> String {
    let mut text = String::from(
        "/* The MPI 5.0 standard ABI. */\n#ifndef MPI_H_ABI\n#define MPI_H_ABI\n\n#include <stdint.h>\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n\n\
         #define MPI_VERSION 5\n#define MPI_SUBVERSION 0\n\
         #define MPI_ABI_VERSION 1\n#define MPI_ABI_SUBVERSION 0\n\n\
         typedef intptr_t MPI_Aint;\ntypedef int64_t MPI_Offset;\ntypedef int64_t MPI_Count;\n\
         typedef struct {\n    int MPI_SOURCE;\n    int MPI_TAG;\n    int MPI_ERROR;\n    int MPI_internal[5];\n\
         } MPI_Status;\n\n",
    );
    for line in constants.lines() {
        constant(&mut text, line);
    }
    for line in functions.lines().filter(|l| !l.starts_with('#')) {
        text.push_str(line);
        text.push('\n');
        if let Some((result, rest)) = line.split_once(" MPI_") {
            let _ = writeln!(text, "{result} PMPI_{rest}");
        }
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    text
}

fn constant(text: &mut String, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let _ = match words[..] {
        ["opaque", name] => {
            let tag = name.replacen("MPI_", "MPI_ABI_", 1);
            writeln!(text, "typedef struct {tag} *{name};")
        }
        ["handle", kind, name, value] | ["pointer", name, kind, value] => {
            writeln!(text, "#define {name} (({kind}){value})")
        }
        ["alias", name, of] => writeln!(text, "#define {name} {of}"),
        ["int", name, value] => writeln!(text, "#define {name} ({value})"),
        ["enum", name] => writeln!(text, "typedef int {name};"),
        _ => match line.strip_prefix("verbatim ") {
            Some(verbatim) => writeln!(text, "{verbatim}"),
            None => Ok(()),
        },
    };
}
