//! Moments as text, by the calendar: as Kafka's tools read them (`Utils.getDateTime`), and as they write
//! them by a pattern of Java's `SimpleDateFormat`. Times are in UTC unless a text says otherwise.

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 86_400_000;

/// `2026-11-30T08:20:00.000`, in UTC unless a zone follows (`Z`, `+01`, `+0100`, `+01:00`), in ms since
/// the Unix epoch; `None`: it is no moment.
pub fn parse(text: &str) -> Option<i64> {
    let (date, rest) = text.split_once('T')?;
    let zone_at = rest.find(['+', '-', 'Z']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let [year, month, day] = numbers(date, '-')?;
    let (clock, millis) = time.split_once('.')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    let [millis] = numbers(millis, '.')?;
    let is_time = hour < 24 && minute < 60 && second < 60 && millis < 1000;
    let is_date = year > 0 && (1..=12).contains(&month) && day >= 1 && day <= days_in(year, month);
    if !is_time || !is_date {
        return None;
    }
    let of_day = ((hour * 60 + minute) * 60 + second) * 1000 + millis;
    Some(days_since_epoch(year, month, day) * DAY_MS + of_day - zone_minutes(zone)? * MINUTE_MS)
}

/// Exactly so many numbers with that between them. Nine digits are more than any of them has.
fn numbers<const N: usize>(text: &str, between: char) -> Option<[i64; N]> {
    let is_number =
        |part: &&str| !part.is_empty() && part.len() <= 9 && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Option<Vec<i64>> = text
        .split(between)
        .map(|part| Some(part).filter(is_number)?.parse().ok())
        .collect();
    parts?.try_into().ok()
}

fn zone_minutes(zone: &str) -> Option<i64> {
    let sign = match zone.bytes().next() {
        None => return Some(0),
        Some(b'Z') => return (zone.len() == 1).then_some(0),
        Some(b'-') => -1,
        Some(_) => 1,
    };
    let digits = zone[1..].replace(':', "");
    let is_zone = matches!(digits.len(), 2 | 4) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let digits = Some(digits).filter(|_| is_zone)?;
    let (hours, minutes) = digits.split_at(2);
    let hours: i64 = hours.parse().ok()?;
    let minutes: i64 = if minutes.is_empty() {
        0
    } else {
        minutes.parse().ok()?
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leap_days = before / 4 - before / 100 + before / 400;
    // 719162 days lie between the first day of year 1 and the epoch.
    let of_years = before * 365 + leap_days - 719_162;
    let of_months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    of_years + of_months + day - 1
}

/// How moments are written: letters for fields, anything else as it stands, letters in quotes too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateFormat {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The letter, and how often it stands there.
    Field(char, usize),
}

impl DateFormat {
    /// Reads a pattern. The error is one line.
    pub fn new(pattern: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut letters = pattern.chars().peekable();
        let mut is_quoted = false;
        while let Some(letter) = letters.next() {
            match letter {
                '\'' if letters.next_if_eq(&'\'').is_some() => push(&mut parts, '\''),
                '\'' => is_quoted = !is_quoted,
                'y' | 'M' | 'd' | 'H' | 'm' | 's' | 'S' if !is_quoted => match parts.last_mut() {
                    Some(Part::Field(last, count)) if *last == letter => *count += 1,
                    _ => parts.push(Part::Field(letter, 1)),
                },
                letter if letter.is_ascii_alphabetic() && !is_quoted => {
                    return Err(format!(
                        "date format '{pattern}': '{letter}' is not known here; known are y, M, d, H, m, s and S"
                    ));
                }
                letter => push(&mut parts, letter),
            }
        }
        match is_quoted {
            true => Err(format!("date format '{pattern}': a quote is open")),
            false => Ok(Self { parts }),
        }
    }

    /// The moment, in ms since the Unix epoch, in UTC.
    pub fn format(&self, at_ms: i64) -> String {
        let (days, of_day) = (at_ms.div_euclid(DAY_MS), at_ms.rem_euclid(DAY_MS));
        let (year, month, day) = date(days);
        let field = |letter, count: usize| {
            let number = match letter {
                // Two letters mean the last two digits.
                'y' if count == 2 => year.rem_euclid(100),
                'y' => year,
                'M' => month,
                'd' => day,
                'H' => of_day / 3_600_000,
                'm' => of_day / MINUTE_MS % 60,
                's' => of_day / 1000 % 60,
                _ => of_day % 1000,
            };
            format!("{number:0count$}")
        };
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(letter, count) => field(*letter, *count),
        });
        parts.collect()
    }
}

fn push(parts: &mut Vec<Part>, letter: char) {
    match parts.last_mut() {
        Some(Part::Text(text)) => text.push(letter),
        _ => parts.push(Part::Text(letter.to_string())),
    }
}

/// Year, month and day of a day since the epoch.
fn date(days: i64) -> (i64, i64, i64) {
    // Right or one too many.
    let mut year = 1970 + days.div_euclid(365);
    while days_since_epoch(year, 1, 1) > days {
        year -= 1;
    }
    let mut of_year = days - days_since_epoch(year, 1, 1);
    let mut month = 1;
    while of_year >= days_in(year, month) {
        of_year -= days_in(year, month);
        month += 1;
    }
    (year, month, of_year + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_by_a_pattern() {
        let written = |pattern: &str, at| DateFormat::new(pattern).unwrap().format(at);
        let pattern = "yyyy-MM-dd HH:mm:ss:SSS";
        assert_eq!(written(pattern, 1_700_000_000_123), "2023-11-14 22:13:20:123");
        assert_eq!(written(pattern, 0), "1970-01-01 00:00:00:000");
        assert_eq!(written(pattern, -1), "1969-12-31 23:59:59:999");
        assert_eq!(written(pattern, 951_782_400_000), "2000-02-29 00:00:00:000");
        assert_eq!(
            written("yy/M/d 'o''clock' H", 1_700_000_000_123),
            "23/11/14 o'clock 22"
        );
        for wrong in ["EEE", "yyyy 'x"] {
            let line = DateFormat::new(wrong).unwrap_err();
            assert!(line.starts_with(&format!("date format '{wrong}': ")), "{line}");
        }
    }

    #[test]
    fn moments_are_read() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000", 0),
            ("2023-11-14T22:13:20.000", 1_700_000_000_000),
            ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
            ("2023-11-14T23:13:20.000+01", 1_700_000_000_000),
            ("2023-11-14T16:43:20.000-05:30", 1_700_000_000_000),
            ("2000-02-29T00:00:00.000", 951_782_400_000),
            ("1969-12-31T23:59:59.999", -1),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "2023-11-14",
            "2023-11-14T22:13:20",
            "2023-02-29T00:00:00.000",
            "2023-13-01T00:00:00.000",
            "2023-01-01T24:00:00.000",
            "2023-01-01T00:00:00.000+1",
            "2023-01-01T00:00:00.000Zulu",
            "99999999999999999999-01-01T00:00:00.000",
            "soonT00:00:00.000",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
