//! The lab's stylesheet for figures that stand in a page of the book.
//!
//! Invariants
//! - no rule reaches anything outside an element with the class `highwater`
//! - what the lab decides by the window's width is decided by the figure's
//! - light and dark follow the book's theme, not the system

use crate::Result;

const FIGURE: &str = ".highwater";
/// mdBook's dark themes.
const DARK: &str = ":is(.coal, .navy, .ayu) .highwater";

/// The rules of `style.css`, each for what is inside a figure.
pub fn for_figures(style: &str) -> Result<String> {
    let mut out = String::new();
    scope(&crate::bare_sheet(style), &mut out)?;
    Ok(out)
}

fn scope(rules: &str, out: &mut String) -> Result<()> {
    let mut rest = rules;
    while let Some((selector, after)) = rest.split_once('{') {
        let (body, next) = block(after)?;
        rest = next;
        let selector = selector.split_whitespace().collect::<Vec<_>>().join(" ");
        match &*selector {
            // The book's theme says what is dark.
            at if at.starts_with("@media (prefers-color-scheme") => {}
            // A figure's height is its own.
            at if at.starts_with("@media") && at.contains("-height") => {}
            at if at.starts_with("@media") && at.contains("-width") => {
                *out += &format!("@container {}{{\n", at.trim_start_matches("@media"));
                scope(body, out)?;
                *out += "}\n";
            }
            at if at.starts_with('@') => {
                *out += &format!("{at}{{\n");
                scope(body, out)?;
                *out += "}\n";
            }
            _ => {
                let within: Vec<String> = parts(&selector).filter_map(scoped).collect();
                if !within.is_empty() {
                    *out += &format!("{}{{{body}}}\n", within.join(","));
                }
            }
        }
    }
    Ok(())
}

/// What stands up to the brace that closes, and what comes behind it.
fn block(text: &str) -> Result<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Ok((&text[..at], &text[at + 1..])),
            '}' => depth -= 1,
            _ => {}
        }
    }
    Err("the lab's stylesheet has a block that does not end".to_owned())
}

/// Selectors between commas, those within brackets apart.
fn parts(selector: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    selector
        .split(move |c| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            c == ',' && depth == 0
        })
        .map(str::trim)
}

/// `None`: it is of the window, which is the book's.
fn scoped(selector: &str) -> Option<String> {
    match selector {
        ":root" => Some(FIGURE.to_owned()),
        ":root[data-theme=\"dark\"]" => Some(DARK.to_owned()),
        "html" | "body" => None,
        other => Some(format!("{FIGURE} {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_for_figures_alone() {
        let style = ":root { --ink: black; }\n@media (prefers-color-scheme: dark) {\n :root { --ink: white; }\n}\n\
            :root[data-theme=\"dark\"] { --ink: white; }\nbody { margin: 0; }\nh1,\n.a:is(b, i) { top: 0; }\n\
            @media (max-width: 699px) {\n .a { top: 1px; }\n}\n@media (min-width: 9px) and (min-height: 9px) { a {} }\n";
        assert_eq!(
            for_figures(style).expect("rules"),
            ".highwater{ --ink: black; }\n:is(.coal, .navy, .ayu) .highwater{ --ink: white; }\n\
             .highwater h1,.highwater .a:is(b, i){ top: 0; }\n\
             @container  (max-width: 699px){\n.highwater .a{ top: 1px; }\n}\n"
        );
    }
}
