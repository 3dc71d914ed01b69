//! The lab: the core in the browser.

use highwater_core::record::compression::PURE_RUST;
use highwater_core::record::{Batch, BatchBuilder, Codec};
use yew::prelude::*;

/// One record, batched in each codec: the size of the batch, and how many records are read back.
fn batches() -> Vec<(Codec, usize, usize)> {
    let value = "a record worth compressing, ".repeat(40);
    Codec::ALL
        .into_iter()
        .map(|codec| {
            let mut builder = BatchBuilder::new(codec);
            builder.append(0, Some(b"key"), Some(value.as_bytes()), &[]);
            let bytes = builder.build();
            let records = Batch::parse(&bytes).and_then(|batch| batch.records(&PURE_RUST, 1 << 20));
            (codec, bytes.len(), records.map_or(0, |records| records.count()))
        })
        .collect()
}

#[component]
fn App() -> Html {
    html! {
        <main>
            <h1>{ "Highwater" }</h1>
            <table>
                <caption>{ "The same record in a batch of each codec" }</caption>
                { for batches().into_iter().map(|(codec, bytes, records)| html! {
                    <tr><th>{ codec.name() }</th><td>{ format!("{bytes} bytes, {records} record") }</td></tr>
                }) }
            </table>
        </main>
    }
}

fn main() {
    yew::Renderer::<App>::new().render();
}
