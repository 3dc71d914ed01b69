//! Figures of the book: in a chapter's source one is an element that names a script and asks a question,
//! and a value in a sentence one that names its figure.
//!
//! ```html
//! <figure id="behind" data-script="replication/one_round">What does a follower know?</figure>
//! <var data-of="behind">replica.fetch.wait.max.ms=100|500</var>
//! ```
//!
//! In the page each becomes the place where the page's code plays the script, with its first picture in
//! it, drawn here by the same code: it is there at once, for whoever has no script running, and on paper.

use std::collections::BTreeMap;
use std::rc::Rc;

use highwater_lab::actions::Settings;
use highwater_lab::cluster::{ClusterLab, SceneInfo, Wish};
use highwater_lab::page::figures::recorded::Frame;
use highwater_lab::page::figures::values::replaced as replaced_in;
use highwater_lab::page::figures::{Plays, View, still};

use crate::{Result, at, root};

/// Widths of the pictures that a page brings along, in px: of a column of text, and of a phone.
const STILLS: [(&str, u32); 2] = [("wide", 700), ("narrow", 270)];
const OPENS: &str = "<figure id=\"";
/// Of a scene of the lab, which may go without a name.
const SCENE_OPENS: &str = "<figure data-scene=\"";
const CLOSES: &str = "</figure>";
const VALUE_OPENS: &str = "<var data-of=\"";
const VALUE_CLOSES: &str = "</var>";
/// The page's own word when its code has stopped.
const BROKEN: &str = "<template id=\"broken\"><section class=\"broken\" role=\"alert\">\
    <p class=\"why\"></p><p>The figures of this page have stopped; that is a fault of theirs, not yours.</p>\
    <button type=\"button\">Load the page again</button></section></template>";

/// What is needed to draw.
pub struct Drawing {
    /// Where the lab lies, as seen from the pages.
    lab: String,
    runtime: tokio::runtime::Runtime,
}

/// Puts the chapter's name before the names of its figures: outside fenced code.
pub fn with_names_of_their_own(chapter: &str, name: &str) -> String {
    let mut fenced = false;
    let line = |line: &str| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        match fenced {
            true => line.to_owned(),
            false => line
                .replace(SCENE_OPENS, "<figure id=\"scene\" data-scene=\"")
                .replace(OPENS, &format!("{OPENS}{name}-"))
                .replace(VALUE_OPENS, &format!("{VALUE_OPENS}{name}-")),
        }
    };
    chapter.split_inclusive('\n').map(line).collect()
}

/// The page with its figures drawn; `None` when it has none.
pub fn drawn(page: &str, drawing: &Drawing) -> Result<Option<String>> {
    if !page.contains(OPENS) {
        return Ok(None);
    }
    let values = values(page)?;
    let page = replaced(page, OPENS, CLOSES, |inner| {
        let (attributes, question) = inner.split_once('>').ok_or("a figure's tag does not end")?;
        let attributes = format!("id=\"{attributes}");
        let figure = Figure::of(&attributes, question.trim(), &values)?;
        drawing
            .draw(&figure)
            .map_err(|why| format!("figure {}: {why}", figure.name))
    })?;
    replaced(&page, VALUE_OPENS, VALUE_CLOSES, value).map(Some)
}

/// Each part between the two, as `with` has it.
fn replaced(page: &str, opens: &str, closes: &str, with: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut parts = page.split(opens);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (inner, rest) = part
            .split_once(closes)
            .ok_or_else(|| format!("`{opens}` has no `{closes}`"))?;
        whole += &with(inner)?;
        whole += rest;
    }
    Ok(whole)
}

/// A value of a figure: `figure">linger.ms=5|0|50`.
#[derive(Clone, Copy)]
struct Value<'a> {
    figure: &'a str,
    key: &'a str,
    choices: &'a str,
}

impl<'a> Value<'a> {
    fn of(inner: &'a str) -> Result<Self> {
        let lost = || format!("`{inner}` is no value of a figure");
        let (figure, value) = inner.split_once("\">").ok_or_else(lost)?;
        let (key, choices) = value.split_once('=').ok_or_else(lost)?;
        Ok(Self { figure, key, choices })
    }

    fn first(&self) -> &'a str {
        self.choices.split('|').next().unwrap_or_default()
    }
}

fn values(page: &str) -> Result<Vec<Value<'_>>> {
    let all = page.split(VALUE_OPENS).skip(1);
    all.map(|part| Value::of(part.split(VALUE_CLOSES).next().unwrap_or_default()))
        .collect()
}

fn value(inner: &str) -> Result<String> {
    let value = Value::of(inner)?;
    let Value { figure, key, choices } = value;
    let first = value.first();
    Ok(format!(
        "<button type=\"button\" class=\"value\" data-of=\"{figure}\" data-key=\"{key}\" \
         data-choices=\"{choices}\">{key} = {first}</button>"
    ))
}

/// An element of a chapter.
struct Figure<'a> {
    name: &'a str,
    attributes: BTreeMap<&'a str, &'a str>,
    question: &'a str,
    /// Those that the text offers of it.
    values: Vec<Value<'a>>,
}

impl<'a> Figure<'a> {
    fn of(attributes: &'a str, question: &'a str, values: &[Value<'a>]) -> Result<Self> {
        let mut all = BTreeMap::new();
        let mut rest = attributes.trim();
        while let Some((name, value)) = rest.split_once("=\"") {
            let (value, after) = value.split_once('"').ok_or("an attribute does not end")?;
            all.insert(name.trim(), value);
            rest = after;
        }
        let name = all.get("id").copied().unwrap_or_default();
        Ok(Self {
            name,
            attributes: all,
            question,
            values: values
                .iter()
                .filter(|value| value.figure == name)
                .copied()
                .collect(),
        })
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.attributes.get(name).copied()
    }

    /// Every choice of its values, as the page says it: `linger.ms=5 batch.size=600`.
    fn choices(&self) -> Vec<Vec<(Value<'a>, &'a str)>> {
        let mut all = vec![Vec::new()];
        for value in &self.values {
            let longer = all.iter().flat_map(|one| {
                value.choices.split('|').map(|choice| {
                    let mut one: Vec<(Value<'a>, &str)> = one.clone();
                    one.push((*value, choice));
                    one
                })
            });
            all = longer.collect();
        }
        all
    }
}

/// What a figure plays, and what the page needs to play it again.
struct Source {
    plays: Plays,
    attributes: String,
    templates: String,
    link: String,
}

impl Drawing {
    pub fn new(lab: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Ok(Self {
            lab: lab.to_owned(),
            runtime: runtime.map_err(|error| format!("cannot draw figures: {error}"))?,
        })
    }

    /// The page with the stylesheet, and with the code that makes its figures live.
    pub fn with_assets(&self, page: &str, sheet: &str, live: bool) -> Result<String> {
        let lab = &self.lab;
        let mut head = format!("<link rel=\"stylesheet\" href=\"{sheet}\">");
        if live {
            head += "<link rel=\"help\" href=\"glossary.html\">";
            head += &format!("<script type=\"module\" src=\"{lab}start.js\"></script>");
        }
        let page = page.replacen("</head>", &format!("{head}</head>"), 1);
        Ok(page.replacen("</body>", &format!("{BROKEN}</body>"), 1))
    }

    fn draw(&self, figure: &Figure<'_>) -> Result<String> {
        let source = self.source(figure)?;
        let stills = STILLS.map(|(class, width)| {
            let drawn = self.still(&source.plays, width, 0);
            format!("<div class=\"still {class}\">{drawn}</div>")
        });
        let (name, question, stills) = (figure.name, figure.question, stills.concat());
        let Source {
            attributes,
            templates,
            link,
            ..
        } = source;
        Ok(format!(
            "<figure id=\"{name}\" class=\"highwater\"><figcaption>{question}{link}</figcaption>\
             <div class=\"live\" data-figure=\"{name}\"{attributes}></div>{stills}{templates}</figure>"
        ))
    }

    fn still(&self, plays: &Plays, width: u32, moment: usize) -> String {
        let local = tokio::task::LocalSet::new();
        local.block_on(&self.runtime, still(plays.clone(), width, moment))
    }

    fn source(&self, figure: &Figure<'_>) -> Result<Source> {
        if let Some(scene) = figure.get("data-scene") {
            return self.scene(scene);
        }
        if let Some(story) = figure.get("data-files") {
            return files(story);
        }
        let script = figure.get("data-script").ok_or("it names no script")?;
        let read = |name: &str| {
            let path = root().join("tests/scenarios").join(name);
            at(&path, std::fs::read_to_string(&path)).map(|text| played(&text))
        };
        let (script, mut story) = (read(script)?, read(&format!("{script}.story"))?);
        let view = match figure.get("data-view") {
            None if figure.get("data-map").is_some() => View::Map,
            None => View::Grid,
            Some("producer") => {
                // Whose side the picture takes, a story says.
                story = format!("picture producer\n{story}");
                View::Grid
            }
            Some("group") => View::Group,
            Some(other) => return Err(format!("there is no view {other}")),
        };
        let scene = |script: String| {
            let scene = SceneInfo::figure(figure.name.to_owned(), script, story.clone());
            Rc::new(scene)
        };
        let plays = Plays::Cluster {
            scene: scene(script.clone()),
            view,
        };
        let is_recorded =
            view == View::Group || is_beyond_the_page(&script) || figure.get("data-recorded").is_some();
        let mut recorded = String::new();
        for choice in figure.choices() {
            let script = choice.iter().fold(script.clone(), |script, (value, choice)| {
                replaced_in(&script, value.key, value.first(), choice)
            });
            let said = choice
                .iter()
                .map(|(value, choice)| format!("{}={choice}", value.key));
            let said = said.collect::<Vec<_>>().join(" ");
            // Each choice must be playable, whoever plays it.
            let scene = scene(script);
            let lab = ClusterLab::of((*scene).clone()).map_err(|why| format!("with `{said}`: {why}"))?;
            if is_recorded {
                recorded += &self.frames(lab, scene, view, &said);
            }
        }
        if is_recorded {
            return Ok(Source {
                plays,
                attributes: String::new(),
                templates: recorded,
                link: String::new(),
            });
        }
        Ok(Source {
            plays,
            attributes: if view == View::Map {
                " data-map=\"\"".to_owned()
            } else {
                String::new()
            },
            templates: template("script", &script) + &template("story", &story),
            link: String::new(),
        })
    }

    fn scene(&self, scene: &str) -> Result<Source> {
        let link = format!(" <a href=\"{}#scene={scene}\">Open it in the lab</a>", self.lab);
        let attributes = format!(" data-of-lab=\"{scene}\"");
        let plays = Plays::scene(scene).ok_or_else(|| format!("the lab has no scene {scene}"))?;
        Ok(Source {
            plays,
            attributes,
            templates: String::new(),
            link,
        })
    }

    /// Every moment of the run, drawn in every width.
    fn frames(&self, mut lab: ClusterLab, scene: Rc<SceneInfo>, view: View, with: &str) -> String {
        let plays = Plays::Cluster { scene, view };
        let mut frames = String::new();
        for (moment, step) in lab.place().moment_steps.into_iter().enumerate() {
            lab = lab.after(Wish::GoTo(step));
            let frame = Frame {
                html: String::new(),
                button: lab.button(),
                ask: lab.prediction(),
            };
            let asked = frame
                .asked()
                .map(|asked| format!(" data-ask=\"{}\"", quoted(&asked)));
            for (class, width) in STILLS {
                frames += &format!(
                    "<template class=\"frame {class}\" data-with=\"{}\" data-button=\"{}\"{}>{}</template>",
                    quoted(with),
                    quoted(&frame.button),
                    asked.clone().unwrap_or_default(),
                    without_buttons(&self.still(&plays, width, moment))
                );
            }
        }
        frames
    }
}

/// The page has neither consumers nor codecs but lz4 in it.
fn is_beyond_the_page(script: &str) -> bool {
    let codecs = ["gzip", "snappy", "zstd"].map(|codec| format!("compression.type={codec}"));
    let beyond =
        |line: &str| line.starts_with("consumer ") || codecs.iter().any(|codec| line.contains(codec));
    script.lines().any(beyond)
}

/// What plays a picture of a moment has buttons of its own.
fn without_buttons(still: &str) -> String {
    let picture = still.rsplit_once("<div class=\"turn\">");
    picture.map_or_else(|| still.to_owned(), |(picture, _)| format!("{picture}</div>"))
}

/// One log's files.
fn files(name: &str) -> Result<Source> {
    let path = root().join("book/figures").join(format!("{name}.story"));
    let story = played(&at(&path, std::fs::read_to_string(&path))?);
    Ok(Source {
        templates: template("story", &story),
        plays: Plays::Files {
            story: story.into(),
            settings: Settings::default(),
        },
        attributes: String::new(),
        link: String::new(),
    })
}

fn template(class: &str, text: &str) -> String {
    format!("<template class=\"{class}\">{}</template>", escaped(text))
}

/// A script or a story without its remarks and what it showed when it was last written: what is played.
fn played(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with(['#', '|']));
    lines.map(|line| format!("{line}\n")).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Within an attribute, where a line's end has to be said.
fn quoted(text: &str) -> String {
    escaped(text)
        .replace('"', "&quot;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_chapters_own_outside_code() {
        let chapter = "<figure id=\"a\" data-script=\"x/y\">Q?</figure>\n<var data-of=\"a\">k=1|2</var>\n\
            ```html\n<figure id=\"a\">\n```\n<figure data-scene=\"s\">Q?</figure>\n";
        assert_eq!(
            with_names_of_their_own(chapter, "acks"),
            "<figure id=\"acks-a\" data-script=\"x/y\">Q?</figure>\n<var data-of=\"acks-a\">k=1|2</var>\n\
             ```html\n<figure id=\"a\">\n```\n<figure id=\"acks-scene\" data-scene=\"s\">Q?</figure>\n"
        );
    }

    #[test]
    fn every_choice_of_two_values_is_played() {
        let values = values("<var data-of=\"f\">a=1|2</var> <var data-of=\"f\">b=x|y</var>").expect("values");
        let figure = Figure::of("id=\"f\"", "Q?", &values).expect("a figure");
        let said = |one: Vec<(Value<'_>, &str)>| one.iter().map(|(_, choice)| *choice).collect::<String>();
        let all: Vec<String> = figure.choices().into_iter().map(said).collect();
        assert_eq!(all, ["1x", "1y", "2x", "2y"]);
    }
}
