//! The commands of a page: its blocks fenced with `console`.
//!
//! A line that begins with `$ ` is a command, which goes on while its lines end with a backslash, or up to a line
//! `END` if it ends with `<< 'END'`; what follows up to the next is its output. A command without output there may
//! print anything. A line `...` stands for any lines.
//! `<!-- filters: times -->` above a block names what is another each time (see [`crate::filters`]).

/// A command, as it stands on the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Counted from 1.
    pub line: usize,
    pub text: String,
    pub output: Vec<String>,
    /// Names of filters.
    pub filters: Vec<String>,
}

const FENCE: &str = "```";
const OPENS: &str = "```console";
const DOCUMENT: &str = "<< 'END'";
const DOCUMENT_ENDS: &str = "END";
const FILTERS: &str = "<!-- filters:";

pub fn commands(page: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut filters = Vec::new();
    let mut inside = false;
    let mut goes_on = false;
    let mut document = false;
    for (number, line) in (1..).zip(page.lines()) {
        if let Some(named) = line.strip_prefix(FILTERS) {
            let names = named.trim_end_matches("-->").split(',');
            filters = names.map(|name| name.trim().to_owned()).collect();
        } else if line == OPENS {
            inside = true;
        } else if line == FENCE && inside {
            inside = false;
            filters.clear();
        } else if !inside {
            continue;
        } else if let Some(text) = line.strip_prefix("$ ") {
            goes_on = text.ends_with('\\');
            document = text.ends_with(DOCUMENT);
            commands.push(Command {
                line: number,
                text: text.to_owned(),
                output: Vec::new(),
                filters: filters.clone(),
            });
        } else if let Some(command) = commands.last_mut() {
            if goes_on || document {
                goes_on = goes_on && line.ends_with('\\');
                document = document && line != DOCUMENT_ENDS;
                command.text.push('\n');
                command.text.push_str(line);
            } else {
                command.output.push(line.to_owned());
            }
        }
    }
    commands
}

/// Whether what was printed is what the page says; `...` stands for any lines, none too.
pub fn is_same(said: &[String], printed: &[String]) -> bool {
    match said.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => (0..=printed.len()).any(|at| is_same(rest, &printed[at..])),
        Some((first, rest)) => {
            let printed = printed.split_first();
            printed.is_some_and(|(line, others)| line.trim_end() == first.trim_end() && is_same(rest, others))
        }
    }
}

#[test]
fn commands_go_over_lines_and_have_their_output() {
    let page = "text\n<!-- filters: times, ids -->\n```console\n$ a \\\n  b\none\n\ntwo\n$ c\n```\n```text\n$ d\n```\n\
                ```console\n$ e\n```\n";
    let found = commands(page);
    let texts: Vec<&str> = found.iter().map(|command| command.text.as_str()).collect();
    assert_eq!(texts, ["a \\\n  b", "c", "e"]);
    assert_eq!(found[0].output, ["one", "", "two"]);
    assert_eq!((found[0].line, found[0].filters.len()), (4, 2));
    assert!(found[2].filters.is_empty() && found[1].output.is_empty());
}

#[test]
fn a_command_may_bring_a_file_along() {
    let page = "```console\n$ cat > f << 'END'\none\n\ntwo\nEND\n$ cat f\none\n```\n";
    let found = commands(page);
    assert_eq!(found[0].text, "cat > f << 'END'\none\n\ntwo\nEND");
    assert_eq!((found[0].output.len(), found[1].output.len()), (0, 1));
}

#[test]
fn dots_stand_for_any_lines() {
    let lines = |text: &str| -> Vec<String> { text.lines().map(str::to_owned).collect() };
    assert!(is_same(&lines("a\n...\nc"), &lines("a\nb\nb\nc")));
    assert!(is_same(&lines("a\n..."), &lines("a")));
    assert!(!is_same(&lines("a\n...\nc"), &lines("a\nb")));
    assert!(!is_same(&lines("a"), &lines("a\nb")));
}
