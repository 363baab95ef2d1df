//! `prp.h`, as far as it uses the language: comments with tags, functions, constants and structs.

/// What the header declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    /// In the order of the header.
    pub(crate) functions: Vec<Function>,
    /// Constants of its enumerations, in the order of the header.
    pub(crate) constants: Vec<Constant>,
    /// Structs with fields, in the order of the header.
    pub(crate) structs: Vec<Struct>,
    /// `#define`s of a value: name, value.
    pub(crate) macros: Vec<(String, String)>,
}

/// A function and its comment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    /// `prp_...`.
    pub(crate) name: String,
    /// Type of the result.
    pub(crate) result: String,
    /// Types and names.
    pub(crate) parameters: Vec<(String, String)>,
    /// The declaration as it is in the header.
    pub(crate) declaration: String,
    /// The first sentence of the comment.
    pub(crate) summary: String,
    /// The paragraphs after it.
    pub(crate) text: Vec<String>,
    /// `@tag` and what follows it.
    pub(crate) tags: Vec<(String, String)>,
}

/// A constant.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) text: String,
}

/// A struct with its fields.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    pub(crate) name: String,
    pub(crate) fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its type.
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Function {
    /// What follows each `@name`.
    pub(crate) fn tagged<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.tags.iter().filter(move |(tag, _)| tag == name).map(|(_, text)| text.as_str())
    }

    /// The file of its example.
    pub(crate) fn example(&self) -> &str {
        self.tagged("example").next().unwrap_or_default()
    }

    /// The structs of the header that it has parameters of.
    pub(crate) fn structs<'a>(&self, header: &'a Header) -> impl Iterator<Item = &'a Struct> {
        header.structs.iter().filter(|of| {
            let has_type = |kind: &str| kind.split([' ', '*']).any(|word| word == of.name);
            self.parameters.iter().any(|(kind, _)| has_type(kind))
        })
    }

    /// The version that had it first: that of its symbol.
    pub(crate) fn since(&self) -> &str {
        self.tagged("since").next().unwrap_or("0.1")
    }
}

impl Header {
    /// Reads the header.
    ///
    /// # Panics
    /// If a declaration has no comment.
    pub(crate) fn parse(text: &str) -> Self {
        let mut header = Self::default();
        let mut comment = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line == "/**" {
                comment = lines
                    .by_ref()
                    .take_while(|line| *line != " */")
                    .map(|line| line.trim_start_matches(" *").trim().to_owned() + "\n")
                    .collect();
            } else if line.starts_with("enum {") {
                header.constants.extend(lines.by_ref().take_while(|l| *l != "};").map(constant));
            } else if line.starts_with("typedef struct") && line.ends_with('{') {
                let fields =
                    lines.by_ref().take_while(|l| !l.starts_with('}')).map(field).collect();
                let name = line.split_whitespace().nth(2).unwrap_or_default().to_owned();
                header.structs.push(Struct { name, fields });
            } else if let Some(rest) = line.strip_prefix("#define PRP_")
                && let Some((name, rest)) = rest.split_once(' ')
            {
                let value = rest.split("/**<").next().unwrap_or_default().trim();
                header.macros.push((format!("PRP_{name}"), value.to_owned()));
            } else if line.ends_with(");") && line.contains("prp_") {
                header.functions.push(function(line, &comment));
                comment.clear();
            }
        }
        header
    }
}

fn constant(line: &str) -> Constant {
    let (declaration, text) = line.split_once("/**<").expect("a constant has a comment");
    let (name, value) = declaration.split_once('=').expect("a constant has a value");
    Constant {
        name: name.trim().to_owned(),
        value: value.trim().trim_end_matches(',').to_owned(),
        text: text.trim_end_matches("*/").trim().to_owned(),
    }
}

fn field(line: &str) -> Field {
    let (declaration, text) = line.split_once("/**<").expect("a field has a comment");
    let (kind, name) = typed(declaration.trim().trim_end_matches(';'));
    Field { kind, name, text: text.trim_end_matches("*/").trim().to_owned() }
}

/// `const char *text` is of the type `const char *`.
fn typed(declaration: &str) -> (String, String) {
    let at = declaration.rfind([' ', '*']).map_or(0, |at| at + 1);
    (declaration[..at].trim().to_owned(), declaration[at..].to_owned())
}

fn function(line: &str, comment: &str) -> Function {
    assert!(!comment.is_empty(), "no comment: {line}");
    let (head, rest) = line.trim_end_matches(");").split_once('(').expect("a function");
    let (result, name) = typed(head);
    let parameters =
        if rest == "void" { Vec::new() } else { rest.split(", ").map(typed).collect() };
    let (prose, tags) = comment.find("\n@").map_or((comment, ""), |at| comment.split_at(at));
    let mut paragraphs = prose.split("\n\n").map(|p| p.trim().replace('\n', " "));
    let summary = paragraphs.next().unwrap_or_default();
    let tags = tags.split("\n@").filter(|tag| !tag.is_empty()).map(|tag| {
        let (name, text) = tag.split_once(' ').unwrap_or((tag, ""));
        (name.to_owned(), text.trim().replace('\n', " "))
    });
    Function {
        name,
        result,
        parameters,
        declaration: line.to_owned(),
        summary,
        text: paragraphs.filter(|p| !p.is_empty()).collect(),
        tags: tags.collect(),
    }
}
