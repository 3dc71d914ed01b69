//! Values in the text of a page that are a figure's: `linger.ms = 5`, which a press changes.

use highwater_lab::actions::Settings;
use web_sys::Element;

use super::super::browser;

/// A word of a script, and what may stand in its place.
#[derive(Clone)]
pub struct Value {
    pub button: Element,
    key: String,
    /// The first is what the script has.
    choices: Vec<String>,
}

/// Those of the figure.
pub fn of(figure: &Element) -> Vec<Value> {
    let name = figure.get_attribute("data-figure").unwrap_or_default();
    let buttons = browser::all_in_page("button[data-of]").into_iter();
    let ours = buttons.filter(|button| button.get_attribute("data-of").as_deref() == Some(&name));
    let value = |button: Element| {
        let key = button.get_attribute("data-key")?;
        let choices = button.get_attribute("data-choices")?;
        Some(Value {
            button,
            key,
            choices: choices.split('|').map(str::to_owned).collect(),
        })
    };
    ours.filter_map(value).collect()
}

impl Value {
    fn now(&self) -> usize {
        let said = self.button.get_attribute("data-now");
        said.and_then(|now| now.parse().ok()).unwrap_or_default()
    }

    /// To the next choice.
    pub fn turn(&self) {
        let next = (self.now() + 1) % self.choices.len().max(1);
        let _ = self.button.set_attribute("data-now", &next.to_string());
        self.button
            .set_text_content(Some(&format!("{} = {}", self.key, self.choice())));
    }

    fn choice(&self) -> &str {
        self.choices.get(self.now()).map_or("", String::as_str)
    }

    /// The script with the choice in place of what it has.
    pub fn put_into(&self, script: &str) -> String {
        match self.choices.first() {
            Some(first) => replaced(script, &self.key, first, self.choice()),
            None => script.to_owned(),
        }
    }
}

/// What they are now, in one line.
pub fn said(values: &[Value]) -> String {
    let said = values
        .iter()
        .map(|value| format!("{}={}", value.key, value.choice()));
    said.collect::<Vec<_>>().join(" ")
}

/// Of the file strip, which has no script.
pub fn settings(values: &[Value]) -> Settings {
    let mut settings = Settings::default();
    for value in values {
        let Ok(number) = value.choice().parse() else {
            continue;
        };
        match &*value.key {
            "index.interval.bytes" => settings.index_interval_bytes = number,
            "segment.bytes" => settings.segment_bytes = number,
            _ => {}
        }
    }
    settings
}

/// Each word `key=first` of the script as `key=now`.
pub fn replaced(script: &str, key: &str, first: &str, now: &str) -> String {
    let (old, new) = (format!("{key}={first}"), format!("{key}={now}"));
    let words = script.split_inclusive([' ', '\n']);
    let word = |word: &str| match word.strip_prefix(&old) {
        Some(rest) if rest.trim().is_empty() => format!("{new}{rest}"),
        _ => word.to_owned(),
    };
    words.map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_replaced() {
        let script =
            "producer p linger.ms=5 bytes=9\nproduce t-0 1 linger.ms=50 x.linger.ms=5\nset linger.ms=5\n";
        assert_eq!(
            replaced(script, "linger.ms", "5", "0"),
            "producer p linger.ms=0 bytes=9\nproduce t-0 1 linger.ms=50 x.linger.ms=5\nset linger.ms=0\n"
        );
    }
}
