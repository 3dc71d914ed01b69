//! The report as text for the terminal and as Markdown for the book.

use std::fmt::Write;
use std::path::Path;

use crate::figures::{Part, part_of_floor};
use crate::report::{Report, Samples, Standing, goal};
use crate::statistics::spread;
use crate::{Result, at};

const HEAD: [&str; 8] = [
    "measure",
    "unit",
    "Highwater",
    "Kafka 4.4",
    "× Kafka",
    "× floor",
    "to reach",
    "reached",
];

/// Rows of equal length.
type Rows = Vec<Vec<String>>;

fn figures(report: &Report, parts: &[Part]) -> Rows {
    let standings = report.standings();
    let of_parts = standings.filter(|standing| parts.contains(&standing.figure.part()));
    of_parts.map(|standing| row(&standing)).collect()
}

fn row(standing: &Standing<'_>) -> Vec<String> {
    let ratio = |ratio: Option<f64>| ratio.map(number).unwrap_or_default();
    let reached = match standing.reached() {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    vec![
        standing.figure.label.to_owned(),
        standing.figure.unit.to_owned(),
        with_spread(standing.ours),
        standing.kafkas.map(with_spread).unwrap_or_default(),
        ratio(standing.to_kafka()),
        ratio(standing.to_floor()),
        goal(standing.figure),
        reached.to_owned(),
    ]
}

fn floors(report: &Report, parts: &[Part]) -> Rows {
    report
        .floors()
        .filter(|(name, ..)| parts.contains(&part_of_floor(name)))
        .map(|(_, label, unit, samples)| vec![label.to_owned(), unit.to_owned(), with_spread(samples)])
        .collect()
}

/// `0.65 (0.61–0.70)`: median, least and greatest.
fn with_spread(samples: &Samples) -> String {
    let (least, greatest) = spread(&samples.runs);
    match samples.runs.len() {
        1 => number(samples.median()),
        _ => format!(
            "{} ({}–{})",
            number(samples.median()),
            number(least),
            number(greatest)
        ),
    }
}

/// About three digits that count.
pub fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        small if small >= 0.1 || small == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Columns of even width.
pub fn text(report: &Report) -> String {
    let mut text = format!("{}\n", report.machine);
    for (head, rows) in [
        (
            &["floor", "unit", "median (spread)"][..],
            floors(report, &Part::ALL),
        ),
        (&HEAD, figures(report, &Part::ALL)),
    ] {
        let head: Vec<String> = head.iter().map(ToString::to_string).collect();
        let all: Rows = std::iter::once(head).chain(rows).collect();
        text.push('\n');
        for row in &all {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = all
                    .iter()
                    .map(|row| row[column].chars().count())
                    .max()
                    .unwrap_or(0);
                let _ = write!(line, "{cell:width$}  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}

/// The part's table with what its figures are held against. Nothing when nothing of it was measured.
fn markdown(report: &Report, part: Part) -> Option<String> {
    let command = match (report.has_kafka(), report.quick) {
        (true, true) => "cargo xtask bench --against kafka --quick",
        (true, false) => "cargo xtask bench --against kafka",
        (false, true) => "cargo xtask bench --quick",
        (false, false) => "cargo xtask bench",
    };
    let measured = figures(report, &[part]);
    if measured.is_empty() {
        return None;
    }
    let mut text = format!(
        "`{command}` on {}; medians, in parentheses the least and the greatest.\n",
        report.machine
    );
    let floors = floors(report, &[part]);
    for (head, rows) in [(&["floor", "unit", "measured"][..], floors), (&HEAD, measured)] {
        if rows.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "\n| {} |\n|{}\n",
            head.join(" | "),
            "---|".repeat(head.len())
        );
        for row in rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    Some(text)
}

/// Puts what was measured between the marks of the book's page, and leaves the other tables.
pub fn into_book(page: &Path, report: &Report) -> Result<()> {
    let mut text = at(page, std::fs::read_to_string(page))?;
    for part in Part::ALL {
        if let Some(table) = markdown(report, part) {
            text = between_marks(&text, part.name(), &table)
                .ok_or_else(|| format!("{}: the marks of `{}` are missing", page.display(), part.name()))?;
        }
    }
    at(page, std::fs::write(page, text))
}

fn between_marks(had: &str, name: &str, text: &str) -> Option<String> {
    let (begin, end) = (
        format!("<!-- measured: {name}, begin -->"),
        format!("<!-- measured: {name}, end -->"),
    );
    let (before, rest) = had.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{text}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let page = "before\n<!-- measured: x, begin -->\nold\n<!-- measured: x, end -->\nafter\n";
        let filled = between_marks(page, "x", "new\n").expect("the marks");
        assert_eq!(filled, page.replace("old", "new"));
        assert_eq!(between_marks(page, "y", "new"), None);
    }

    #[test]
    fn numbers_have_three_digits_that_count() {
        let shown: Vec<String> = [1234.5, 56.78, 0.654, 0.0123, 0.0]
            .into_iter()
            .map(number)
            .collect();
        assert_eq!(shown, ["1234", "56.8", "0.65", "0.012", "0.00"]);
    }
}
