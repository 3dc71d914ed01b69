//! Which elements of the stage a story's focus means.

/// Whether the element that the story names is that one, or the group that it belongs to. A row has its
/// cells and marks with it, a broker its figure.
pub fn has(element: &str, key: &str) -> bool {
    if element == key {
        return true;
    }
    let (kind, number) = element.split_once(':').unwrap_or((element, ""));
    let mut parts = key.split(':');
    let (of, first) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match kind {
        "promises" => of == "promise",
        "isr" => of == "isr",
        "tree" | "controller" => of == "coordination",
        // Of all who watch a node.
        "watches" => of == "watch" && first == number,
        // A queue has its batches with it.
        "queue" => key
            .strip_prefix(element)
            .is_some_and(|rest| rest.starts_with(':')),
        "row" => first == number && matches!(of, "row" | "cell" | "hw" | "leo" | "heard"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_its_elements() {
        assert!(has("promises", "promise:5:0") && has("isr", "isr:leader"));
        assert!(has("row:2", "cell:2:5") && has("row:2", "heard:2:3") && has("row:2", "row:2"));
        assert!(!has("row:2", "cell:3:2") && !has("row:2", "broker:2"));
        assert!(has("broker:2", "broker:2") && !has("broker:2", "broker:21"));
        assert!(has("tree", "coordination"));
        assert!(has("watches:/controller", "watch:/controller:2"));
        assert!(!has("watches:/controller", "watch:/brokers/ids:2"));
        assert!(
            has("node:/brokers/ids/2", "node:/brokers/ids/2") && !has("node:/brokers/ids/2", "session:2")
        );
    }
}
