//! A look-up, one step under the other.

use highwater_lab::finding::{Cell, Row, StepView};
use highwater_lab::lab::Lab;
use highwater_lab::picture::in_focus;
use yew::prelude::*;

pub fn view(lab: &Lab, steps: &[StepView], cost: Option<&str>) -> Html {
    html! {
        <div class="steps">
            { for steps.iter().enumerate().map(|(at, step)| {
                let focus = in_focus(lab, &format!("step:{}", at + 1)) || !lab.is_story();
                html! {
                    <section class={classes!("step", focus.then_some("focus"))}>
                        <h2 data-say="">{ &step.title }</h2>
                        { for step.rows.iter().map(row) }
                    </section>
                }
            }) }
            if let Some(cost) = cost {
                <p class="cost" data-say="">{ cost }</p>
            }
        </div>
    }
}

fn row(row: &Row) -> Html {
    html! {
        <>
            if let Some(title) = &row.title {
                <h3 data-say="">{ title }</h3>
            }
            if row.cells.is_empty() {
                <p class="none">{ "No entry: start at the first byte." }</p>
            }
            <div class="cells">{ for row.cells.iter().map(cell) }</div>
        </>
    }
}

fn cell(cell: &Cell) -> Html {
    let classes = classes!(
        "cell",
        cell.chosen.then_some("chosen"),
        cell.seen.then_some("seen")
    );
    html! {
        <div class={classes} role="img" aria-label={cell.label()} data-say="">
            <span class="box">
                <b>{ &cell.title }</b>
                if !cell.detail.is_empty() {
                    <span>{ &cell.detail }</span>
                }
            </span>
            if let Some(verdict) = &cell.verdict {
                <em>{ verdict }</em>
            }
        </div>
    }
}
