//! A producer: one record's way, the queues of batches, memory, and what is under way to each broker.
//!
//! A batch is a bar, as long as `batch.size`; each record is a piece of it. All texts are the picture's own.

use highwater_core::sim::story::template::counted;
use highwater_core::stage::ProducerPicture;
use highwater_core::stage::producer::{Queue, Sender, Station, Waiting};
use yew::prelude::*;

use super::items::Items;

/// `stop`: Tab leads into this picture.
pub fn view(picture: &ProducerPicture, stop: bool, focus: &dyn Fn(&str) -> bool) -> Html {
    let items = Items { focus };
    let settings = picture.settings.join(" \u{b7} ");
    let memory = &picture.memory;
    let gauge = two_lines("buffer.memory", memory.filled(), memory.blocks());
    let gauge = html! { <>{ gauge }{ bar(memory.total, &[memory.used]) }</> };
    let tally = &picture.tally;
    let told = format!("{} of {} acknowledged", tally.acknowledged, tally.given);
    let cost = format!(
        "{}, longest wait {} ms",
        counted(&tally.requests.to_string(), "request"),
        tally.longest_ms
    );
    html! {
        <div class="producer">
            { items.item("set", "settings".to_owned(), picture.say_settings(), stop, html! { <>{ &picture.name }{ ": " }{ settings }</> }) }
            <div class="way">
                <h3>{ "One record on its way" }</h3>
                { for picture.stations.iter().map(|station| station_view(&items, station)) }
            </div>
            <div class="queues">
                <h3>{ "Accumulator: a queue of batches for each partition" }</h3>
                { for picture.queues.iter().map(|queue| queue_view(&items, queue)) }
                { items.item("gauge", "memory".to_owned(), memory.say(), false, gauge) }
            </div>
            <div class="senders">
                <h3>{ "Sender: requests in flight" }</h3>
                { for picture.senders.iter().map(|sender| sender_view(&items, sender)) }
                { items.item("tally", "tally".to_owned(), picture.say_tally(), false, two_lines("given last", told, cost)) }
            </div>
        </div>
    }
}

fn two_lines(name: &str, beside: String, below: String) -> Html {
    html! { <><b>{ name }</b><span>{ beside }</span><small>{ below }</small></> }
}

fn station_view(items: &Items, station: &Station) -> Html {
    let class = match (&station.done, station.here) {
        (None, _) => "station ahead",
        (Some(_), false) => "station",
        (Some(_), true) => "station here",
    };
    let done = station.done.clone().unwrap_or_default();
    let content = html! { <><b>{ station.name }</b><small>{ done }</small></> };
    items.item(class, station.key(), station.say(), false, content)
}

fn queue_view(items: &Items, queue: &Queue) -> Html {
    let label = html! { <b>{ queue.partition.to_string() }</b> };
    let batch = |batch: &Waiting| {
        let content = html! {
            <>
                { bar(batch.limit_bytes, &batch.ends) }
                <small>{ batch.filled() }</small>
                <small>{ batch.waits() }</small>
            </>
        };
        items.item("batch", batch.key(&queue.partition), batch.say(), false, content)
    };
    html! {
        <div class="queue">
            { items.item("label", queue.key(), queue.say(), false, label) }
            <div class="batches">{ for queue.batches.iter().map(batch) }</div>
        </div>
    }
}

fn sender_view(items: &Items, sender: &Sender) -> Html {
    let content = html! {
        <>
            <b>{ format!("broker {}", sender.broker) }</b>
            <span>{ sender.in_flight() }</span>
            { for sender.requests.iter().map(|request| html! { <em>{ request }</em> }) }
        </>
    };
    items.item("sender", sender.key(), sender.say(), false, content)
}

/// What ends where, of so much.
fn bar(of: u64, ends: &[u64]) -> Html {
    let percent = |part: u64| {
        let hundredths = part.saturating_mul(10_000) / of.max(1);
        format!("{}.{:02}%", hundredths / 100, hundredths % 100)
    };
    let mut from = 0;
    let mut piece = |end: &u64| {
        let begin = std::mem::replace(&mut from, *end);
        html! { <rect x={percent(begin)} width={percent(end.saturating_sub(begin))} height="100%" /> }
    };
    html! { <svg class="bar" aria-hidden="true">{ for ends.iter().map(&mut piece) }</svg> }
}
