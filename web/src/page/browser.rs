//! What is asked of the browser: elements, the clipboard, downloads, and a word when all fails.

use wasm_bindgen::JsCast;
use web_sys::{Document, Element, HtmlElement, KeyboardEvent};

pub fn document() -> Document {
    gloo::utils::document()
}

/// The elements that scenes are mounted in, each with the scene's name.
pub fn scenes() -> Vec<(Element, String)> {
    let elements = all_in_page("[data-scene]").into_iter();
    elements
        .filter_map(|element| Some((element.clone(), element.get_attribute("data-scene")?)))
        .collect()
}

/// All elements of the page that a selector names.
pub fn all_in_page(selector: &str) -> Vec<Element> {
    let root = document().document_element();
    root.map_or(Vec::new(), |root| all(&root, selector))
}

/// The elements within one that a selector names.
pub fn all(within: &Element, selector: &str) -> Vec<Element> {
    let Ok(list) = within.query_selector_all(selector) else {
        return Vec::new();
    };
    (0..list.length())
        .filter_map(|at| list.item(at)?.dyn_into().ok())
        .collect()
}

/// The system's user prefers that nothing moves.
pub fn wants_no_motion() -> bool {
    let query = gloo::utils::window().match_media("(prefers-reduced-motion: reduce)");
    query.ok().flatten().is_some_and(|query| query.matches())
}

/// Scrolls as far as it takes to see the first element of that kind between the window's top and the foot.
pub fn show(within: &Element, selector: &str) {
    let (Some(wanted), Some(foot)) = (
        all(within, selector).into_iter().next(),
        all(within, "footer").into_iter().next(),
    ) else {
        return;
    };
    let (wanted, foot) = (wanted.get_bounding_client_rect(), foot.get_bounding_client_rect());
    let hidden = wanted.bottom() - foot.top();
    if hidden > 0.0 {
        gloo::utils::window().scroll_by_with_x_and_y(0.0, hidden + 4.0);
    } else if wanted.top() < 0.0 {
        gloo::utils::window().scroll_by_with_x_and_y(0.0, wanted.top() - 4.0);
    }
}

pub fn by_id(id: &str) -> Option<HtmlElement> {
    document().get_element_by_id(id)?.dyn_into().ok()
}

/// Part of the address behind the `#`, without it.
pub fn address_hash() -> String {
    let hash = gloo::utils::window().location().hash().unwrap_or_default();
    hash.trim_start_matches('#').to_owned()
}

/// A value of a link's text: `scene=…&at=…`.
pub fn part_of<'a>(link: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = link.split('&').filter_map(|part| part.split_once('='));
    parts.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Where the glossary is, as the page says; nowhere while a page is only drawn.
pub fn glossary() -> Option<String> {
    if cfg!(not(target_arch = "wasm32")) {
        return None;
    }
    let link = document().query_selector("link[rel=help]").ok()??;
    link.get_attribute("href")
}

/// Writes the link of the present place on the scene's element, where `start.js` finds it when the lab
/// has stopped.
pub fn remember_link(scene: &Element, link: &str) {
    let _ = scene.set_attribute("data-link", link);
}

/// The same of the number of the moment, for a figure that begins anew with another value.
pub fn remember_moment(figure: &Element, moment: usize) {
    let _ = figure.set_attribute("data-moment", &moment.to_string());
}

/// Puts the link into the address and on the clipboard.
pub fn copy_link(link: &str) {
    let window = gloo::utils::window();
    if let Ok(history) = window.history() {
        let address = format!("#{link}");
        // The address is only a convenience: a browser that refuses still has the clipboard.
        let _ = history.replace_state_with_url(&wasm_bindgen::JsValue::NULL, "", Some(&address));
    }
    copy(&window.location().href().unwrap_or_default());
}

/// Puts the text on the clipboard.
pub fn copy(text: &str) {
    let navigator = gloo::utils::window().navigator();
    // There is none on an insecure address; a link is in the address bar all the same.
    if js_sys::Reflect::get(&navigator, &"clipboard".into()).is_ok_and(|clipboard| clipboard.is_undefined()) {
        return;
    }
    let copied = navigator.clipboard().write_text(text);
    wasm_bindgen_futures::spawn_local(async move {
        let _ = wasm_bindgen_futures::JsFuture::from(copied).await;
    });
}

/// Offers the bytes as a file.
pub fn download(name: &str, bytes: &[u8]) -> Option<()> {
    let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
    let blob = web_sys::Blob::new_with_u8_array_sequence(&parts).ok()?;
    let address = web_sys::Url::create_object_url_with_blob(&blob).ok()?;
    let anchor: web_sys::HtmlAnchorElement = document().create_element("a").ok()?.dyn_into().ok()?;
    anchor.set_href(&address);
    anchor.set_download(name);
    anchor.click();
    gloo::timers::callback::Timeout::new(10_000, move || {
        let _ = web_sys::Url::revoke_object_url(&address);
    })
    .forget();
    Some(())
}

/// The theme: `light`, `dark`, or what the system wishes.
pub fn set_theme(theme: Option<&str>) {
    let Some(root) = document().document_element() else {
        return;
    };
    let _ = match theme {
        Some(theme) => root.set_attribute("data-theme", theme),
        None => root.remove_attribute("data-theme"),
    };
}

/// A panic ends everything here: what is left to say, the page's own script says (`start.js`).
pub fn tell_of_panics() {
    // By way of yew, which else puts its own hook in the place of ours.
    yew::set_custom_panic_hook(Box::new(|panic| {
        let text = panic.to_string();
        gloo::console::error!(&text);
        let told = web_sys::CustomEventInit::new();
        told.set_detail(&text.into());
        if let Ok(event) = web_sys::CustomEvent::new_with_event_init_dict("highwater-panic", &told) {
            let _ = gloo::utils::window().dispatch_event(&event);
        }
    }));
}

/// Moves the focus among the elements of a `data-group` by arrow keys: each group is one stop for Tab.
/// Says whether the key was for that.
pub fn rove(event: &KeyboardEvent) -> bool {
    let Some(active) = document().active_element() else {
        return false;
    };
    let Ok(Some(group)) = active.closest("[data-group]") else {
        return false;
    };
    let elements = all(&group, "[data-rove]");
    let Some(at) = elements.iter().position(|element| *element == active) else {
        return false;
    };
    let key = event.key();
    let to = match key.as_str() {
        "ArrowRight" => (at + 1).min(elements.len() - 1),
        "ArrowLeft" => at.saturating_sub(1),
        "ArrowDown" => next_line(&elements, at, true),
        "ArrowUp" => next_line(&elements, at, false),
        "Home" => 0,
        "End" => elements.len() - 1,
        _ => return false,
    };
    handled(event);
    focus(&elements[to]);
    true
}

/// The nearest element below or above; in a list of one line, the next or the one before.
fn next_line(elements: &[Element], at: usize, down: bool) -> usize {
    let from = elements[at].get_bounding_client_rect();
    let distance = |element: &Element| {
        let to = element.get_bounding_client_rect();
        let lines = if down {
            to.top() - from.bottom()
        } else {
            from.top() - to.bottom()
        };
        let aside = (to.left() - from.left()).abs();
        // Boxes of one line may overlap by a border; a line away counts more than any way aside.
        (lines > -4.0).then_some(lines.max(0.0) * 8.0 + aside)
    };
    let ways = elements
        .iter()
        .enumerate()
        .filter_map(|(nth, element)| Some((nth, distance(element)?)));
    let nearest = ways.min_by(|(_, a), (_, b)| a.total_cmp(b));
    match nearest {
        Some((nth, _)) => nth,
        None if down => (at + 1).min(elements.len() - 1),
        None => at.saturating_sub(1),
    }
}

/// HTML and SVG elements both have `focus`, but no common type.
fn focus(element: &Element) {
    let focus = js_sys::Reflect::get(element, &"focus".into());
    if let Some(focus) = focus
        .ok()
        .and_then(|focus| focus.dyn_into::<js_sys::Function>().ok())
    {
        let _ = focus.call0(element);
    }
}

/// Somebody has taken the key, or it is one of the browser's own.
pub fn is_taken(event: &KeyboardEvent) -> bool {
    event.ctrl_key() || event.alt_key() || event.meta_key() || event.default_prevented()
}

/// The key was for us: nobody else shall see it.
pub fn handled(event: &KeyboardEvent) {
    event.prevent_default();
    event.stop_propagation();
}

/// Enter or the space bar, on what is no button by birth.
pub fn is_press(event: &KeyboardEvent) -> bool {
    matches!(event.key().as_str(), "Enter" | " ")
}
