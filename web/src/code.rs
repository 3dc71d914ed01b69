//! Where a fact was emitted, shown in the build's own source: the function around the place, with one line marked.
//!
//! A fact records the file and line of the call that emitted it. That call may go over several lines; marked is the
//! one of them that names the fact.

/// A function, and which of its lines emitted the fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// Of the first line that is shown, counted from 1.
    pub first: usize,
    pub lines: Vec<&'a str>,
    /// Counted from 1, as in the file.
    pub marked: usize,
}

/// The excerpt for a fact of this name that was emitted at `line` of the file, counted from 1; `None` when the file
/// has no such line, or the call there does not name the fact: then it is not the file that was built.
pub fn excerpt<'a>(source: &'a str, line: usize, fact: &str) -> Option<Excerpt<'a>> {
    let lines: Vec<&str> = source.lines().collect();
    let at = line.checked_sub(1)?;
    let call = call_at(&lines, at)?;
    let marked = call.clone().find(|&at| names(lines[at], fact))?;
    let (first, last) = function_around(&lines, call.start, call.end - 1);
    Some(Excerpt {
        first: first + 1,
        lines: lines[first..=last].to_vec(),
        marked: marked + 1,
    })
}

/// The lines of the call that begins there: up to where its parentheses are closed.
fn call_at(lines: &[&str], at: usize) -> Option<std::ops::Range<usize>> {
    let mut depth = 0_i32;
    for (number, line) in lines.iter().enumerate().skip(at) {
        for letter in line.chars() {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
        }
        if depth <= 0 {
            return Some(at..number + 1);
        }
    }
    None
}

/// Whether the line has the fact's name, as a type or as a word of a function's name.
fn names(line: &str, fact: &str) -> bool {
    let plain = |text: &str| text.replace('_', "").to_ascii_lowercase();
    plain(line).contains(&plain(fact))
}

/// First and last line of the function that the lines are in, by indentation, with what stands above it and belongs
/// to it; the lines alone where there is none.
fn function_around(lines: &[&str], from: usize, to: usize) -> (usize, usize) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let begins = |line: &str| {
        let words = line.trim_start().split([' ', '(', '<']);
        words
            .take_while(|word| !word.is_empty())
            .take(4)
            .any(|word| word == "fn")
    };
    let own = indent(lines[from]);
    let head = (0..from)
        .rev()
        .find(|&at| begins(lines[at]) && indent(lines[at]) < own);
    let Some(head) = head else {
        return (from, to);
    };
    let depth = indent(lines[head]);
    let belongs = |line: &str| {
        ["///", "#["]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark))
    };
    let first = (0..head)
        .rev()
        .take_while(|&at| belongs(lines[at]))
        .last()
        .unwrap_or(head);
    let ends = |line: &str| line.trim_end() == format!("{}}}", " ".repeat(depth));
    let last = (to..lines.len()).find(|&at| ends(lines[at])).unwrap_or(to);
    (first, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "use a;

impl Log {
    /// Cuts.
    pub(super) fn cut(&mut self, to: u64) {
        if to > 3 {
            self.note(
                to,
                || Fact::LogCut { to },
            );
        }
        self.timer_due(to);
    }

    fn other() {}
}
";

    #[test]
    fn the_function_is_shown_and_the_line_that_names_the_fact_is_marked() {
        let found = excerpt(SOURCE, 7, "LogCut").unwrap();
        assert_eq!((found.first, found.lines.len(), found.marked), (4, 10, 9));
        assert_eq!(found.lines[0].trim(), "/// Cuts.");
        assert_eq!(found.lines[9], "    }");
        assert_eq!(excerpt(SOURCE, 12, "TimerDue").unwrap().marked, 12);
    }

    #[test]
    fn another_file_is_not_taken_for_the_one_that_was_built() {
        assert_eq!(excerpt(SOURCE, 12, "LogCut"), None);
        assert_eq!(excerpt(SOURCE, 99, "LogCut"), None);
        assert_eq!(excerpt(SOURCE, 0, "LogCut"), None);
    }
}
