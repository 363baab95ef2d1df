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
}

impl Prototype {
    /// Reads `int MPI_X(int a, const int b[]);`. `None` for other lines.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (head, rest) = line.strip_suffix(");")?.split_once('(')?;
        let (result, name) = head.rsplit_once(' ')?;
        let words = rest.split(',').map(str::trim).filter(|w| !matches!(*w, "void" | "..."));
        let parameters = words.map(parameter).collect();
        Some(Self { result: result.to_owned(), name: name.to_owned(), parameters })
    }

    /// The name of the Rust function that implements it: `comm_rank`.
    pub(crate) fn rust_name(&self) -> String {
        self.name.trim_start_matches("MPI_").to_lowercase()
    }
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
