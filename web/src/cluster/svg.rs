//! The stage as a picture to take away: an SVG that needs no stylesheet, light, with each element's text
//! as its title.

use std::fmt::Write as _;

use highwater_core::stage::{Cell, Mark, MarkKind, PromiseState, Row, Stage, State};
use highwater_core::types::Offset;

use super::SideView;

/// In px.
const LABEL: i64 = 150;
const CELL: i64 = 56;
const HEIGHT: i64 = 44;
const ROW: i64 = 96;
const TOP: i64 = 128;
/// Of what is said in words.
const LINE: i64 = 20;
/// Of a sentence's type.
const LETTER: usize = 7;
const EDGE: i64 = 20;
/// Of leader epochs, which then begin again; those of the stylesheet.
const COLOURS: [&str; 6] = ["#0068a3", "#8f4e00", "#006b52", "#8a3d8a", "#5c6200", "#4a4fb8"];
const INK: &str = "#1c1f24";
const SOFT: &str = "#5d6570";
const BROKEN: &str = "#b3261e";

/// All sides beside each other, below the sentence.
pub fn picture(title: &str, sentence: &str, sides: &[SideView]) -> String {
    let widths: Vec<i64> = sides.iter().map(|side| width(&side.stage)).collect();
    let ends = sides.iter().map(|side| end(&side.stage));
    let (width, height) = (widths.iter().sum::<i64>().max(640), ends.max().unwrap_or(TOP));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"{INK}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fbfaf7\"/>\n"
    );
    text(&mut out, EDGE, 30, "font-size=\"18\" font-weight=\"700\"", title);
    for (nth, line) in (0..).zip(lines(sentence, (width - 2 * EDGE) as usize / LETTER)) {
        text(&mut out, EDGE, 52 + 18 * nth, "", &line);
    }
    let mut left = EDGE;
    for (side, width) in sides.iter().zip(widths) {
        text(&mut out, left, TOP - 12, "font-weight=\"700\"", &side.heading);
        draw(&mut out, left, &side.stage);
        left += width;
    }
    out += "</svg>\n";
    out
}

fn width(stage: &Stage) -> i64 {
    LABEL + (stage.offsets.end - stage.offsets.start) * CELL + 2 * EDGE
}

/// Where a side's rows end, and the lines below them.
fn end(stage: &Stage) -> i64 {
    let lines = stage.tree.as_ref().map_or(0, |tree| tree.elements().len());
    TOP + 50 + stage.rows.len() as i64 * ROW + lines as i64 * LINE
}

fn draw(out: &mut String, left: i64, stage: &Stage) {
    let x = |offset: Offset| left + LABEL + (offset - stage.offsets.start) * CELL;
    for offset in stage.offsets.clone() {
        let looks = format!("fill=\"{SOFT}\" text-anchor=\"middle\"");
        text(out, x(offset) + CELL / 2, TOP + 8, &looks, &offset.to_string());
    }
    text(out, left, TOP + 28, "font-weight=\"700\"", "told to producers");
    for promise in &stage.promises {
        let (looks, colour, said) = match promise.state {
            PromiseState::Kept => ("", INK, "✓ safe"),
            PromiseState::InDoubt => ("opacity=\"0.7\"", INK, "✓ safe?"),
            PromiseState::Broken => ("text-decoration=\"line-through\"", BROKEN, "✓ safe"),
        };
        let looks = format!("{looks} fill=\"{colour}\" text-anchor=\"middle\"");
        open(out, &promise.say());
        text(out, x(promise.offset) + CELL / 2, TOP + 28, &looks, said);
        *out += "</g>\n";
    }
    for (nth, row) in stage.rows.iter().enumerate() {
        let top = TOP + 44 + nth as i64 * ROW;
        label(out, left, top, row);
        for cell in &row.cells {
            draw_cell(out, x(cell.offset), top, row, cell);
        }
        for mark in &row.marks {
            draw_mark(out, x(mark.offset), top, row, mark);
        }
    }
    let elements = stage.tree.iter().flat_map(|tree| tree.elements());
    let mut y = TOP + 54 + stage.rows.len() as i64 * ROW;
    for element in elements {
        open(out, &element.say);
        text(out, left, y, "", &element.say);
        *out += "</g>\n";
        y += LINE;
    }
}

fn label(out: &mut String, left: i64, top: i64, row: &Row) {
    let colour = if row.state == State::Up { INK } else { SOFT };
    open(out, &row.say());
    let looks = format!("font-size=\"16\" font-weight=\"700\" fill=\"{colour}\"");
    text(out, left, top + 18, &looks, &row.name);
    if row.is_crowned() {
        let _ = writeln!(
            out,
            "<path d=\"M{} {}v-11l5 5 5-7 5 7 5-5v11z\"/>",
            left + 74,
            top + 18
        );
    }
    let looks = format!("fill=\"{SOFT}\"");
    text(out, left, top + 36, &looks, &row.role_line());
    text(out, left, top + 52, &looks, row.isr_line().unwrap_or_default());
    *out += "</g>\n";
}

fn draw_cell(out: &mut String, x: i64, top: i64, row: &Row, cell: &Cell) {
    open(out, &cell.say());
    let record = cell.record.or(cell.cut);
    let epoch = record.map_or(0, |record| record.epoch);
    let colour = match row.state {
        State::Crashed => SOFT,
        _ => COLOURS[epoch.rem_euclid(COLOURS.len() as i32) as usize],
    };
    let (fill, dash) = match (cell.record, cell.committed) {
        (Some(_), true) => ("0.16", ""),
        (Some(_), false) => ("0", " stroke-dasharray=\"5 3\""),
        (None, _) => ("0", " stroke-dasharray=\"2 3\""),
    };
    let _ = writeln!(
        out,
        "<rect x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"{colour}\" fill-opacity=\"{fill}\" \
         stroke=\"{colour}\" stroke-width=\"2\"{dash}/>",
        x + 3,
        CELL - 6
    );
    let middle = "text-anchor=\"middle\" font-family=\"monospace\" font-size=\"16\"";
    if let Some(record) = cell.record {
        text(out, x + CELL / 2, top + 27, middle, &record.label());
        let looks = format!("text-anchor=\"end\" font-size=\"11\" font-weight=\"700\" fill=\"{colour}\"");
        text(
            out,
            x + CELL - 8,
            top + HEIGHT - 5,
            &looks,
            &record.epoch.to_string(),
        );
    }
    if let Some(cut) = cell.cut {
        let looks = format!(
            "text-anchor=\"end\" font-size=\"12\" text-decoration=\"line-through\" fill=\"{BROKEN}\""
        );
        text(out, x + CELL - 8, top + 14, &looks, &cut.label());
    }
    if cell.acknowledged {
        text(out, x + 8, top + 16, "", "✓");
    }
    if cell.lost {
        let _ = writeln!(
            out,
            "<path d=\"M{} {}L{} {}\" stroke=\"{BROKEN}\" stroke-width=\"3\"/>",
            x + 3,
            top + HEIGHT,
            x + CELL - 3,
            top
        );
    }
    *out += "</g>\n";
}

fn draw_mark(out: &mut String, x: i64, top: i64, row: &Row, mark: &Mark) {
    open(out, &mark.say());
    match mark.kind {
        MarkKind::HighWatermark => {
            let _ = writeln!(
                out,
                "<path d=\"M{x} {}v{}\" stroke=\"{INK}\" stroke-width=\"3.5\"/>",
                top - 6,
                HEIGHT + 12
            );
            let looks = "text-anchor=\"middle\" font-weight=\"700\"";
            text(out, x, top + HEIGHT + 20, looks, &format!("HW {}", mark.offset));
        }
        MarkKind::LogEnd => {
            let _ = writeln!(
                out,
                "<path d=\"M{} {}h10l-5 8z\" fill=\"{SOFT}\"/>",
                x - 5,
                top - 9
            );
            let aside = if mark.offset == row.high_watermark { 48 } else { 0 };
            let looks = format!("text-anchor=\"middle\" fill=\"{SOFT}\"");
            text(
                out,
                x + aside,
                top + HEIGHT + 20,
                &looks,
                &format!("LEO {}", mark.offset),
            );
        }
        MarkKind::Heard(broker) => {
            let same = row.marks.iter().take_while(|other| *other != mark);
            let same =
                same.filter(|other| matches!(other.kind, MarkKind::Heard(_)) && other.offset == mark.offset);
            let aside = 24 * same.count() as i64;
            let looks = format!("text-anchor=\"middle\" font-size=\"11\" fill=\"{SOFT}\"");
            text(out, x + aside, top + HEIGHT + 35, &looks, &format!("({broker})"));
        }
    }
    *out += "</g>\n";
}

/// A group with its text.
fn open(out: &mut String, say: &str) {
    let _ = write!(out, "<g><title>{}</title>", escaped(say));
}

fn text(out: &mut String, x: i64, y: i64, looks: &str, said: &str) {
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" {looks}>{}</text>", escaped(said));
}

/// The words in lines of at most so many letters.
fn lines(words: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.chars().count() + word.chars().count() < most => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::{ClusterLab, SCENES, Wish};
    use super::*;

    #[test]
    fn each_thing_of_the_grid_is_in_the_picture_with_its_text() {
        for scene in SCENES {
            let mut lab = ClusterLab::new(&scene.name).unwrap();
            while lab.is_story() {
                let picture = lab.svg();
                for side in lab.sides() {
                    for element in side.stage.elements() {
                        let kind = element.key.split(':').next().unwrap_or_default();
                        let is_of_grid = [
                            "promise", "row", "cell", "hw", "leo", "heard", "session", "node", "gone",
                            "watch",
                        ]
                        .contains(&kind);
                        let title = format!("<title>{}</title>", escaped(&element.say));
                        assert!(!is_of_grid || picture.contains(&title), "{}: {title}", scene.name);
                    }
                }
                for tag in ["g", "text", "svg", "title"] {
                    let (open, close) = (format!("<{tag}"), format!("</{tag}>"));
                    let opened = picture.matches(&format!("{open}>")).count()
                        + picture.matches(&format!("{open} ")).count();
                    assert_eq!(opened, picture.matches(&close).count(), "{tag}");
                }
                lab = lab.after(Wish::NextMoment);
            }
        }
    }

    #[test]
    fn a_sentence_is_broken_into_lines_at_its_spaces() {
        assert_eq!(lines("one two three", 8), ["one two", "three"]);
        assert_eq!(lines("", 8), [""]);
        assert_eq!(lines("longerthanaline x", 4), ["longerthanaline", "x"]);
    }
}
