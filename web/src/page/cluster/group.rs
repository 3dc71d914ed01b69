//! A group's matrix, drawn when the book is built.

use highwater_lab::cluster::matrix::{Matrix, Member, Owned};
use yew::prelude::*;

pub fn view(matrix: &Matrix) -> Html {
    let caption = matrix.generation.as_ref().map_or_else(
        || "No generation yet".to_owned(),
        |(generation, protocol)| format!("Generation {generation}, shared out by {protocol}"),
    );
    let committed = |offset: &Option<i64>| html! { <td>{ offset.map_or("–".to_owned(), |offset| offset.to_string()) }</td> };
    html! {
        <div class="matrix">
            <table>
                <caption>{ caption }</caption>
                <thead>
                    <tr>
                        <th scope="col">{ "partition" }</th>
                        { for matrix.partitions.iter().map(|partition| html! { <th scope="col">{ partition.to_string() }</th> }) }
                    </tr>
                </thead>
                <tbody>
                    { for matrix.members.iter().map(row) }
                    <tr class="committed">
                        <th scope="row">{ "committed" }</th>
                        { for matrix.committed.iter().map(committed) }
                    </tr>
                </tbody>
            </table>
        </div>
    }
}

fn row(member: &Member) -> Html {
    let cell = |owned: &Owned| {
        let (class, text) = match owned {
            Owned::No => (None, String::new()),
            Owned::Unread => (Some("owned"), "…".to_owned()),
            Owned::At(offset) => (Some("owned"), offset.to_string()),
        };
        html! { <td {class}>{ text }</td> }
    };
    html! {
        <tr>
            <th scope="row">{ member.say() }</th>
            { for member.cells.iter().map(cell) }
        </tr>
    }
}
