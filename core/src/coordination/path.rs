//! Which paths there are, and how they come apart (ZooKeeper's `PathUtils`).

/// The path of the root, the only one that ends with a slash.
pub(super) const ROOT: &str = "/";

/// Whether a node can be called so.
pub(super) fn is_valid(path: &str) -> bool {
    path == ROOT
        || path.strip_prefix('/').is_some_and(|parts| {
            parts
                .split('/')
                .all(|part| !matches!(part, "" | "." | "..") && part.chars().all(is_printable))
        })
}

/// Control characters, private ones and those beyond 16 bits have no place in a name.
fn is_printable(c: char) -> bool {
    !matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..=char::MAX)
}

/// Parent and name; `None` for the root.
pub(super) fn split(path: &str) -> Option<(&str, &str)> {
    let (parent, name) = path.rsplit_once('/')?;
    if name.is_empty() {
        return None;
    }
    Some((if parent.is_empty() { ROOT } else { parent }, name))
}

/// The path with the next of its parent's numbers behind it: ten digits, so that names sort as they came.
pub(super) fn numbered(path: &str, number: i64) -> String {
    format!("{path}{number:010}")
}

/// The node above, even of a path that is only a prefix (`/queue/`).
pub(super) fn parent(path: &str) -> Option<&str> {
    let (parent, _) = path.rsplit_once('/')?;
    Some(if parent.is_empty() { ROOT } else { parent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_as_zookeeper_judges_them() {
        for good in ["/", "/a", "/a/b", "/config/brokers/<default>", "/ü", "/a..b"] {
            assert!(is_valid(good), "{good}");
        }
        for bad in [
            "",
            "a",
            "/a/",
            "//",
            "/a//b",
            "/.",
            "/a/../b",
            "/a\0",
            "/a\n",
            "/\u{e000}",
            "/\u{1f600}",
        ] {
            assert!(!is_valid(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_path_is_its_parent_and_a_name() {
        assert_eq!(split("/"), None);
        assert_eq!(split("/a"), Some(("/", "a")));
        assert_eq!(split("/a/b"), Some(("/a", "b")));
        assert_eq!(parent("/queue/"), Some("/queue"));
        assert_eq!(numbered("/q/n_", 7), "/q/n_0000000007");
    }
}
