//! Types declared in TypeScript, in as much of the language as `prp-tools/json.d.ts` uses.

use std::collections::BTreeMap;

/// A type of JSON.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Number,
    Text,
    Boolean,
    Null,
    Object(BTreeMap<String, Member>),
    /// An object with any keys.
    Map(Box<Self>),
    List(Box<Self>),
    Union(Vec<Self>),
}

/// A key of an object.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Whether it may be absent.
    pub(crate) is_optional: bool,
    pub(crate) shape: Shape,
}

/// The tokens of each declared type, by its name.
type Declarations<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// Returns the types that `text` declares, by name.
pub(crate) fn shapes(text: &str) -> BTreeMap<String, Shape> {
    let all = declarations(text);
    all.keys().map(|name| ((*name).to_owned(), shape_of(&all, name))).collect()
}

fn declarations(text: &str) -> Declarations<'_> {
    let mut all = Declarations::new();
    let mut tokens = tokens(text).into_iter();
    while let Some(keyword) = tokens.next() {
        assert_eq!(keyword, "type", "a declaration");
        let name = tokens.next().expect("a name");
        assert_eq!(tokens.next(), Some("="), "{name}");
        let mut depth = 0;
        let body = tokens.by_ref().take_while(|token| {
            depth += i32::from(*token == "{") - i32::from(*token == "}");
            depth > 0 || *token != ";"
        });
        let before = all.insert(name, body.collect());
        assert!(before.is_none(), "{name} is declared twice");
    }
    all
}

/// Returns words, texts in quotation marks and single characters of `text`, without comments.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut found = Vec::new();
    for mut rest in code.flat_map(str::split_whitespace) {
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                first => first.len_utf8(),
            };
            let (token, after) = rest.split_at(length);
            found.push(token);
            rest = after;
        }
    }
    found
}

fn shape_of(all: &Declarations<'_>, name: &str) -> Shape {
    let tokens = all.get(name).unwrap_or_else(|| panic!("no type {name}"));
    let mut parser = Parser { tokens, all };
    let shape = parser.union();
    assert!(parser.tokens.is_empty(), "{name}: {:?}", parser.tokens);
    shape
}

/// A recursive descent over the tokens that are left.
struct Parser<'a> {
    tokens: &'a [&'a str],
    all: &'a Declarations<'a>,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> &'a str {
        let (first, rest) = self.tokens.split_first().expect("a token");
        self.tokens = rest;
        first
    }

    /// Takes `token` if it is the next one.
    fn takes(&mut self, token: &str) -> bool {
        let is_next = self.tokens.first() == Some(&token);
        self.tokens = &self.tokens[usize::from(is_next)..];
        is_next
    }

    fn expect(&mut self, token: &str) {
        assert!(self.takes(token), "{token} in place of {:?}", self.tokens.first());
    }

    fn union(&mut self) -> Shape {
        // One may stand before the first as well.
        self.takes("|");
        let first = self.intersection();
        let mut all = vec![first];
        while self.takes("|") {
            all.push(self.intersection());
        }
        if all.len() == 1 { all.remove(0) } else { Shape::Union(all) }
    }

    fn intersection(&mut self) -> Shape {
        let mut shape = self.list();
        while self.takes("&") {
            shape = merged(shape, self.list());
        }
        shape
    }

    fn list(&mut self) -> Shape {
        let mut shape = self.single();
        while self.takes("[") {
            self.expect("]");
            shape = Shape::List(Box::new(shape));
        }
        shape
    }

    fn single(&mut self) -> Shape {
        match self.next() {
            "{" => self.object(),
            "(" => {
                let shape = self.union();
                self.expect(")");
                shape
            }
            "number" => Shape::Number,
            "string" => Shape::Text,
            "boolean" => Shape::Boolean,
            "null" => Shape::Null,
            text if text.starts_with('"') => Shape::Text,
            "Record" => {
                self.expect("<");
                self.union();
                self.expect(",");
                let shape = self.union();
                self.expect(">");
                Shape::Map(Box::new(shape))
            }
            "Partial" => {
                self.expect("<");
                let shape = self.union();
                self.expect(">");
                let Shape::Object(mut members) = shape else { panic!("Partial of {shape:?}") };
                members.values_mut().for_each(|member| member.is_optional = true);
                Shape::Object(members)
            }
            name => shape_of(self.all, name),
        }
    }

    /// The members of an object whose brace has been taken.
    fn object(&mut self) -> Shape {
        let mut members = BTreeMap::new();
        while !self.takes("}") {
            let name = self.next().to_owned();
            let is_optional = self.takes("?");
            self.expect(":");
            let member = Member { is_optional, shape: self.union() };
            // The last one may do without.
            self.takes(";");
            let before = members.insert(name.clone(), member);
            assert!(before.is_none(), "{name} is there twice");
        }
        Shape::Object(members)
    }
}

/// Returns the type of values that are of both types.
fn merged(one: Shape, other: Shape) -> Shape {
    match (one, other) {
        (Shape::Object(mut one), Shape::Object(other)) => {
            for (name, member) in other {
                let member = match one.remove(&name) {
                    Some(before) => Member {
                        is_optional: before.is_optional && member.is_optional,
                        shape: merged(before.shape, member.shape),
                    },
                    None => member,
                };
                one.insert(name, member);
            }
            Shape::Object(one)
        }
        (one, other) => panic!("no object: {one:?} & {other:?}"),
    }
}
