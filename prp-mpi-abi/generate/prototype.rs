//! Prototypes of C, as far as the MPI standard uses the language.

/// A declared function.
#[derive(Clone, Debug)]
pub(crate) struct Prototype {
    /// Type of the result.
    pub(crate) result: String,
    /// `MPI_...`.
    pub(crate) name: String,
    /// Types and names of the parameters; arrays are pointers.
    pub(crate) parameters: Vec<(String, String)>,
    /// Which parameters point to one value that the function writes.
    pub(crate) is_result: Vec<bool>,
}

impl Prototype {
    /// Reads `int MPI_X(int a, const int b[]);`. `None` for other lines.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (head, rest) = line.strip_suffix(");")?.split_once('(')?;
        let (result, name) = head.rsplit_once(' ')?;
        let words = rest.split(',').map(str::trim).filter(|w| !matches!(*w, "void" | "..."));
        let is_result = words.clone().map(is_result).collect();
        let parameters = words.map(parameter).collect();
        Some(Self { result: result.to_owned(), name: name.to_owned(), parameters, is_result })
    }

    /// The name of the Rust function that implements it: `comm_rank`.
    pub(crate) fn rust_name(&self) -> String {
        self.name.trim_start_matches("MPI_").to_lowercase()
    }
}

/// Whether a parameter is a place for one value. A status may be ignored, the words of the program
/// are not looked at, and a text may have no room.
fn is_result(text: &str) -> bool {
    const OPTIONAL: [&str; 6] = ["void", "MPI_Status", "argc", "argv", "value", "pset_name"];
    let is_optional = |words: &str| words.split([' ', '*']).any(|word| OPTIONAL.contains(&word));
    let is_function = text.contains("_function") || text.contains("errhandler_fn");
    let is_constant = text.split_whitespace().any(|word| word == "const");
    text.contains('*') && !text.contains('[') && !is_constant && !is_function && !is_optional(text)
}

/// `const int *a[]` is of the type `int**`.
fn parameter(text: &str) -> (String, String) {
    let mut stars = text.matches('*').count() + text.matches('[').count();
    let bare = text.split('[').next().unwrap_or_default().replace('*', " ");
    let mut words: Vec<&str> = bare.split_whitespace().filter(|w| *w != "const").collect();
    let name = words.pop().unwrap_or_default().to_owned();
    if text.contains("][") {
        // An array of arrays is one piece of memory.
        stars -= 1;
    }
    (words.join(" ") + &"*".repeat(stars), name)
}
