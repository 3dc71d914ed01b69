//! Words of a sentence that the book's glossary explains.

/// Spellings in lower case, and the entry of each in the glossary. Longer ones stand before those that
/// they contain.
const TERMS: &[(&str, &str)] = &[
    ("high watermark", "high-watermark"),
    ("leader epoch", "leader-epoch"),
    ("controller", "controller"),
    ("acknowledged", "acknowledgement"),
    ("coordination", "znode"),
    ("followers", "follower"),
    ("follower", "follower"),
    ("ephemeral node", "ephemeral-node"),
    ("session", "session"),
    ("replicas", "replica"),
    ("replica", "replica"),
    ("leader", "leader"),
    ("producer", "producer"),
    ("consumer", "consumer"),
    ("segment", "segment"),
    ("index", "sparse-index"),
    ("batches", "record-batch"),
    ("batch", "record-batch"),
    ("offset", "offset"),
    ("partitioner", "partitioner"),
    ("linger", "linger"),
    ("accumulator", "accumulator"),
    ("retention", "retention"),
    ("recovery", "recovery"),
    ("isr", "isr"),
    ("leo", "leo"),
    ("hw", "high-watermark"),
];

/// A part of a sentence, and the glossary's entry for it if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    pub text: &'a str,
    pub entry: Option<&'static str>,
}

/// The sentence in pieces: each term where it is used first.
pub fn pieces(sentence: &str) -> Vec<Piece<'_>> {
    let lower = sentence.to_ascii_lowercase();
    let mut pieces = Vec::new();
    let mut linked: Vec<&str> = Vec::new();
    let mut from = 0;
    loop {
        let found = TERMS.iter().filter(|(_, entry)| !linked.contains(entry));
        let found =
            found.filter_map(|(term, entry)| Some((from + find(&lower[from..], term)?, term.len(), *entry)));
        // Of two at one place the longer stands first in the list.
        let Some((at, len, entry)) = found.min_by_key(|(at, ..)| *at) else {
            break;
        };
        pieces.push(Piece {
            text: &sentence[from..at],
            entry: None,
        });
        pieces.push(Piece {
            text: &sentence[at..at + len],
            entry: Some(entry),
        });
        linked.push(entry);
        from = at + len;
    }
    pieces.push(Piece {
        text: &sentence[from..],
        entry: None,
    });
    pieces.retain(|piece| !piece.text.is_empty());
    pieces
}

/// Where the words stand as whole words in the text, both in lower case. A full stop ends a sentence, or goes
/// on in a name: `log.dirs` is another word than `log`.
pub fn find(text: &str, words: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut places = text.match_indices(words).map(|(at, _)| at);
    places.find(|at| {
        let before = text[..*at].chars().next_back();
        let mut after = text[at + words.len()..].chars();
        let goes_on = match after.next() {
            Some('.') => after.next().is_some_and(char::is_alphanumeric),
            next => next.is_some_and(is_word),
        };
        !before.is_some_and(is_word) && !goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = include_str!("../../book/src/glossary.md");

    #[test]
    fn every_term_is_in_the_glossary() {
        let headings = GLOSSARY.lines().filter_map(|line| line.strip_prefix("### "));
        let entries: Vec<String> = headings
            .map(|heading| heading.to_lowercase().replace(' ', "-"))
            .collect();
        for (term, entry) in TERMS {
            assert!(
                entries.iter().any(|known| known == entry),
                "{term}: there is no #{entry}"
            );
        }
        for (at, (term, _)) in TERMS.iter().enumerate() {
            let before = TERMS[..at].iter().find(|(before, _)| term.starts_with(before));
            assert_eq!(before, None, "{term} is never found");
        }
    }

    #[test]
    fn first_uses_are_found_as_whole_words() {
        let linked = |sentence| {
            let pieces = pieces(sentence);
            assert_eq!(
                pieces.iter().map(|piece| piece.text).collect::<String>(),
                sentence
            );
            let linked = pieces.iter().filter_map(|piece| Some((piece.text, piece.entry?)));
            linked.collect::<Vec<_>>()
        };
        assert_eq!(
            linked("The leader epoch of a leader. Its HW, its HWs; the high watermark, follower."),
            [
                ("leader epoch", "leader-epoch"),
                ("leader", "leader"),
                ("HW", "high-watermark"),
                ("follower", "follower")
            ]
        );
        assert_eq!(linked("linger.ms and min.isr, x-offset"), []);
    }
}
