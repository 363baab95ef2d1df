//! The commands of `ExecStart=` (systemd.service(5)). Their words stay as they are written: quoted,
//! and with the variables and specifiers that systemd puts values for.

use std::ffi::OsStr;
use std::path::Path;

/// What may stand in front of a command's program.
const PREFIXES: &[char] = &['-', '@', ':', '+', '!', '|'];

/// One command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct CommandLine {
    prefixes: String,
    /// The program, and its arguments; of a command with `@` the first of them is its name.
    words: Vec<String>,
}

impl CommandLine {
    /// Returns the commands in the value of a setting, which `;` separates.
    pub(super) fn parse(value: &str) -> Vec<Self> {
        let words = words(value);
        words.split(|word| word == ";").filter_map(Self::of).collect()
    }

    fn of(words: &[String]) -> Option<Self> {
        let (first, rest) = words.split_first()?;
        let quote =
            first.chars().next().filter(|first| is_quote(*first)).map_or("", |_| &first[..1]);
        let text = &first[quote.len()..];
        let program = text.trim_start_matches(PREFIXES);
        let prefixes = text[..text.len() - program.len()].to_owned();
        let mut words = vec![format!("{quote}{program}")];
        words.extend_from_slice(rest);
        Some(Self { prefixes, words })
    }

    /// Returns the program without quotes.
    pub(super) fn program(&self) -> String {
        self.words[0].chars().filter(|each| !is_quote(*each)).collect()
    }

    /// Returns the same command started by `prp run`, the program at `prp`, with these options.
    pub(super) fn through(&self, prp: &Path, options: &[impl AsRef<OsStr>]) -> String {
        let has_variables = !self.prefixes.contains(':');
        let name = self.prefixes.contains('@');
        let (program, arguments) = self.words.split_first().unwrap_or_else(|| unreachable!());
        let mut line = vec![
            format!("{}{}", self.prefixes.replace('@', ""), quoted(prp.as_os_str(), false)),
            "run".to_owned(),
        ];
        line.extend(options.iter().map(|option| quoted(option.as_ref(), has_variables)));
        let mut arguments = arguments.iter().cloned();
        if name && let Some(name) = arguments.next() {
            line.extend(["--argv0".to_owned(), name]);
        }
        // In a program systemd sees no variables, and here it has become an argument.
        let program = if has_variables { program.replace('$', "$$") } else { program.clone() };
        line.extend(["--".to_owned(), program]);
        line.extend(arguments);
        line.join(" ")
    }
}

/// Returns `word` so that systemd takes it as it is.
fn quoted(word: &OsStr, has_variables: bool) -> String {
    let mut text = word.to_string_lossy().replace('%', "%%");
    if has_variables {
        text = text.replace('$', "$$");
    }
    let is_plain = |each: char| each.is_ascii_alphanumeric() || "-_./:,@+=%$".contains(each);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the words of `value`, as they are written.
fn words(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut is_escaped = false;
    for each in value.chars() {
        if each.is_whitespace() && quote.is_none() && !is_escaped {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            continue;
        }
        word.push(each);
        match quote {
            _ if is_escaped => is_escaped = false,
            _ if each == '\\' => is_escaped = true,
            Some(open) if each == open => quote = None,
            None if is_quote(each) => quote = Some(each),
            _ => {}
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_quote(each: char) -> bool {
    each == '"' || each == '\''
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(value: &str, options: &[&str]) -> Vec<String> {
        let prp = Path::new("/usr/bin/prp");
        CommandLine::parse(value).iter().map(|it| it.through(prp, options)).collect()
    }

    #[test]
    fn through__keeps_the_words_as_they_are_written() {
        for (value, started) in [
            ("/bin/echo a  b", "/usr/bin/prp run -- /bin/echo a b"),
            ("-/bin/echo", "-/usr/bin/prp run -- /bin/echo"),
            ("!!/bin/echo", "!!/usr/bin/prp run -- /bin/echo"),
            ("+:/bin/e $HOME", "+:/usr/bin/prp run -- /bin/e $HOME"),
            ("/bin/e ${A} \"a; b\" 'c' %i", "/usr/bin/prp run -- /bin/e ${A} \"a; b\" 'c' %i"),
            ("\"-/opt/a b/c\" d", "-/usr/bin/prp run -- \"/opt/a b/c\" d"),
            ("@/bin/bash -bash -l", "/usr/bin/prp run --argv0 -bash -- /bin/bash -l"),
            ("-@/bin/bash \"a b\"", "-/usr/bin/prp run --argv0 \"a b\" -- /bin/bash"),
            ("/opt/$a b", "/usr/bin/prp run -- /opt/$$a b"),
            (":/opt/$a b", ":/usr/bin/prp run -- /opt/$a b"),
            ("/bin/e a\\ b \\;", "/usr/bin/prp run -- /bin/e a\\ b \\;"),
        ] {
            assert_eq!(through(value, &[]), [started], "{value}");
        }
    }

    #[test]
    fn parse__has_several_commands_of_a_line() {
        assert_eq!(
            through("/bin/a 1 ; -/bin/b \";\"", &[]),
            ["/usr/bin/prp run -- /bin/a 1", "-/usr/bin/prp run -- /bin/b \";\""]
        );
        assert_eq!(CommandLine::parse("\"/opt/a b/c\" d")[0].program(), "/opt/a b/c");
    }

    #[test]
    fn through__quotes_the_options() {
        let options = ["--hosts", "/etc/a b$c%d\"e"];
        assert_eq!(
            through("/bin/a", &options),
            ["/usr/bin/prp run --hosts \"/etc/a b$$c%%d\\\"e\" -- /bin/a"]
        );
        assert_eq!(
            through(":/bin/a", &["--loopback", "a$b"]),
            [":/usr/bin/prp run --loopback a$b -- /bin/a"]
        );
        let prp = Path::new("/opt/x y/prp");
        let started = CommandLine::parse("-/bin/a")[0].through(prp, &[""; 0]);
        assert_eq!(started, "-\"/opt/x y/prp\" run -- /bin/a");
    }
}
