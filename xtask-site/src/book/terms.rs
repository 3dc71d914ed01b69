//! The glossary's terms, linked where a page uses them first.
//!
//! A term that figures have a mark for is marked where it comes again, too.
//!
//! An entry of the glossary is a heading and, perhaps, a line `Also:` with other spellings. Words are found
//! whatever their case, as whole words, the longest that fits; not in code, headings, links or figures.

use std::collections::BTreeSet;

use highwater_lab::terms::find;

use crate::Result;

/// A spelling, and the heading that it stands under.
struct Spelling {
    /// In lower case.
    words: String,
    id: String,
}

/// Longest first.
pub struct Terms(Vec<Spelling>);

/// Elements in whose text nothing is linked.
const WITHOUT: [&str; 14] = [
    "a", "button", "code", "figure", "h1", "h2", "h3", "h4", "pre", "script", "style", "summary", "template",
    "var",
];

/// Entries of terms that are drawn in figures.
const DRAWN: [&str; 6] = [
    "acknowledgement",
    "high-watermark",
    "isr",
    "leader",
    "leader-epoch",
    "leo",
];

impl Terms {
    pub fn of(glossary: &str) -> Result<Self> {
        let mut all = Vec::new();
        let mut id = String::new();
        for line in glossary.lines() {
            if let Some(heading) = line.strip_prefix("### ") {
                id = heading.to_lowercase().replace(' ', "-");
                id.retain(|c| c.is_alphanumeric() || c == '-' || c == '_');
                all.push((heading.to_lowercase(), id.clone()));
            } else if let Some(also) = line.strip_prefix("Also: ") {
                let spellings = also.split(", ").map(|words| words.trim().to_lowercase());
                all.extend(spellings.map(|words| (words, id.clone())));
            }
        }
        if all.is_empty() {
            return Err("the glossary has no entry".to_owned());
        }
        let mut all: Vec<Spelling> = all
            .into_iter()
            .map(|(words, id)| Spelling { words, id })
            .collect();
        all.sort_by_key(|spelling| std::cmp::Reverse(spelling.words.len()));
        Ok(Self(all))
    }

    /// The page with each term's first use in its text linked.
    pub fn linked(&self, page: &str) -> String {
        let Some((before, rest)) = page.split_once("<main>") else {
            return page.to_owned();
        };
        let (text, after) = rest.split_once("</main>").unwrap_or((rest, ""));
        format!("{before}<main>{}</main>{after}", self.linked_in(text))
    }

    fn linked_in(&self, text: &str) -> String {
        let mut linked = BTreeSet::new();
        let mut whole = String::new();
        let mut inside: Vec<&str> = Vec::new();
        for (at, piece) in text.split('<').enumerate() {
            let words = match at {
                0 => piece,
                _ => {
                    let (tag, words) = piece.split_once('>').unwrap_or((piece, ""));
                    whole += &format!("<{tag}>");
                    follow(&mut inside, tag);
                    words
                }
            };
            match inside.is_empty() {
                true => self.link_words(words, &mut linked, &mut whole),
                false => whole += words,
            }
        }
        whole
    }

    fn link_words<'a>(&'a self, words: &str, linked: &mut BTreeSet<&'a str>, whole: &mut String) {
        let mut rest = words;
        loop {
            // Lower case of other scripts may be longer; there is none in the book.
            let lower = rest.to_ascii_lowercase();
            let wanted =
                |spelling: &&Spelling| !linked.contains(&*spelling.id) || DRAWN.contains(&&*spelling.id);
            let found = self.0.iter().filter(wanted);
            let found = found.filter_map(|spelling| Some((find(&lower, &spelling.words)?, spelling)));
            // Of two that begin at one place the longer was looked for first.
            let Some((at, spelling)) = found.min_by_key(|(at, _)| *at) else {
                whole.push_str(rest);
                return;
            };
            let end = at + spelling.words.len();
            let (id, said) = (&*spelling.id, &rest[at..end]);
            whole.push_str(&rest[..at]);
            whole.push_str(&match linked.insert(id) {
                true => format!("<a class=\"term term-{id}\" href=\"glossary.html#{id}\">{said}</a>"),
                false => format!("<span class=\"term term-{id}\">{said}</span>"),
            });
            rest = &rest[end..];
        }
    }
}

/// Which elements without links the text behind a tag is in.
fn follow<'a>(inside: &mut Vec<&'a str>, tag: &'a str) {
    let name = |tag: &'a str| {
        tag.split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default()
    };
    match tag.strip_prefix('/') {
        Some(closed) if inside.last() == Some(&name(closed)) => {
            inside.pop();
        }
        Some(_) => {}
        None if WITHOUT.contains(&name(tag)) && !tag.ends_with('/') => inside.push(name(tag)),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str =
        "# Glossary\n\n### High watermark\nAlso: HW, high watermarks\n\nText.\n\n### Log\n\nText.\n";

    fn linked(text: &str) -> String {
        let page = format!("<main>{text}</main>");
        let linked = Terms::of(GLOSSARY).expect("terms").linked(&page);
        linked
            .replace(" class=\"term term-high-watermark\"", "")
            .replace(" class=\"term term-log\"", "")
    }

    #[test]
    fn the_first_use_of_a_term_is_linked_and_others_are_marked_if_it_is_drawn() {
        assert_eq!(
            linked("<p>The HW of a log. The high watermark again; the log.</p>"),
            "<main><p>The <a href=\"glossary.html#high-watermark\">HW</a> of a \
             <a href=\"glossary.html#log\">log</a>. The <span>high watermark</span> again; the log.</p></main>"
        );
    }

    #[test]
    fn parts_of_words_code_headings_and_links_are_left_alone() {
        for text in [
            "<p>catalog, logs, log.dirs, x-log, log4j</p>",
            "<h2>The log</h2><pre><code>log</code></pre>",
            "<p><a href=\"x\">the log</a> <code>log</code></p>",
        ] {
            assert_eq!(linked(text), format!("<main>{text}</main>"));
        }
    }
}
