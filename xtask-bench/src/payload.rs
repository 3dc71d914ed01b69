//! What is sent: messages that differ, so that compression has real work to do.

/// Messages that live as long as the program: librdkafka sends them from where they lie.
pub type Messages = Vec<&'static [u8]>;

/// More than fit a batch, so that no batch holds the same message twice.
const DISTINCT: usize = 16_384;

const WORDS: [&str; 32] = [
    "amber", "anchor", "basin", "beacon", "brook", "canal", "cedar", "cliff", "coral", "delta", "ebb",
    "ferry", "flood", "gauge", "harbour", "inlet", "jetty", "kelp", "lagoon", "marsh", "mooring", "narrow",
    "osprey", "pier", "quay", "reef", "sluice", "tide", "upland", "vessel", "weir", "yawl",
];

/// A small generator of numbers (xorshift); the same numbers in each run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.throw(WORDS.len() as u64) as usize]
    }
}

/// Messages of exactly `bytes` bytes.
pub fn of_size(bytes: usize) -> Messages {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut text = String::new();
    while text.len() < bytes * DISTINCT {
        text.push_str(&order(&mut dice, text.len() as u64));
    }
    let text: &'static [u8] = Vec::leak(text.into_bytes());
    text.chunks_exact(bytes).take(DISTINCT).collect()
}

/// JSON documents of about 1 KiB each, alike in shape and different in content.
pub fn json() -> Messages {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let documents = (0..DISTINCT as u64).map(|number| &*Vec::leak(order(&mut dice, number).into_bytes()));
    documents.collect()
}

fn order(dice: &mut Dice, number: u64) -> String {
    let mut text = format!(
        r#"{{"order":{number},"customer":"{}-{}","email":"{}.{}@example.org","at":{},"items":["#,
        dice.word(),
        dice.throw(100_000),
        dice.word(),
        dice.word(),
        1_700_000_000_000 + dice.throw(1 << 34),
    );
    let mut separator = "";
    while text.len() < 880 {
        text.push_str(&format!(
            r#"{separator}{{"sku":"{:08x}","name":"{} {} {}","quantity":{},"price":{}.{:02}}}"#,
            dice.throw(1 << 32),
            dice.word(),
            dice.word(),
            dice.word(),
            1 + dice.throw(20),
            dice.throw(1000),
            dice.throw(100),
        ));
        separator = ",";
    }
    text.push_str(&format!(
        r#"],"note":"{} {} by the {}","paid":{}}}"#,
        dice.word(),
        dice.word(),
        dice.word(),
        dice.throw(2) == 0
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_size_and_differ() {
        let messages = of_size(100);
        assert_eq!(messages.len(), DISTINCT);
        assert!(messages.iter().all(|message| message.len() == 100));
        assert_ne!(messages[0], messages[1]);
    }

    #[test]
    fn documents_are_json_of_about_a_kibibyte() {
        let documents = json();
        for document in documents.iter().take(100) {
            serde_json::from_slice::<serde_json::Value>(document).expect("JSON");
            assert!((900..1200).contains(&document.len()), "{}", document.len());
        }
    }
}
