//! A look-up, one step under the other; a cell opens the bytes that it stands for.

use highwater_lab::annotate::Chosen;
use highwater_lab::lab::{Lab, Wish};
use highwater_lab::picture::in_focus;
use highwater_lab::steps::{Cell, Row, StepView};
use yew::prelude::*;

use super::Wishes;

struct Cells<'a> {
    lab: &'a Lab,
    wishes: &'a Wishes,
    /// Where Tab leads: all cells are one group, and arrows move within it.
    stop: Option<Chosen>,
}

pub fn view(lab: &Lab, steps: &[StepView], cost: Option<&str>, wishes: &Wishes) -> Html {
    let cells = steps
        .iter()
        .flat_map(|step| &step.rows)
        .flat_map(|row| &row.cells);
    let bytes: Vec<Chosen> = cells.map(|cell| cell.bytes).collect();
    let chosen = lab.chosen.filter(|chosen| bytes.contains(chosen));
    let cells = Cells {
        lab,
        wishes,
        stop: chosen.or_else(|| bytes.first().copied()),
    };
    html! {
        <div class="steps">
            { for steps.iter().enumerate().map(|(at, step)| {
                let focus = in_focus(lab, &format!("step:{}", at + 1)) || !lab.is_story();
                let class = match step.is_ahead() {
                    true => classes!("step", "ahead"),
                    false => classes!("step", focus.then_some("focus")),
                };
                html! {
                    <section {class}>
                        <h2 data-say="">{ &step.title }</h2>
                        { for step.rows.iter().map(|row| cells.row(row)) }
                    </section>
                }
            }) }
            if let Some(cost) = cost {
                <p class="cost" data-say="">{ cost }</p>
            }
        </div>
    }
}

impl Cells<'_> {
    fn row(&self, row: &Row) -> Html {
        html! {
            <>
                if let Some(title) = &row.title {
                    <h3 data-say="">{ title }</h3>
                }
                if row.cells.is_empty() {
                    <p class="none">{ "No entry: start at the first byte." }</p>
                }
                <div class="cells">{ for row.cells.iter().map(|cell| self.cell(cell)) }</div>
            </>
        }
    }

    fn cell(&self, cell: &Cell) -> Html {
        let chosen = self.lab.chosen == Some(cell.bytes);
        let classes = classes!(
            "cell",
            cell.taken.then_some("taken"),
            cell.seen.then_some("seen"),
            chosen.then_some("chosen")
        );
        let choose = {
            let (wishes, bytes) = (self.wishes.clone(), cell.bytes);
            Callback::from(move |_: MouseEvent| wishes.dispatch(Wish::Choose(Some(bytes))))
        };
        let tab = if self.stop == Some(cell.bytes) { "0" } else { "-1" };
        html! {
            <button class={classes} aria-label={cell.label()} data-say="" aria-pressed={chosen.to_string()}
                data-rove="" tabindex={tab} onclick={choose}>
                <span class="box">
                    <b>{ &cell.title }</b>
                    if !cell.detail.is_empty() {
                        <span>{ &cell.detail }</span>
                    }
                </span>
                if let Some(verdict) = &cell.verdict {
                    <em>{ verdict }</em>
                }
            </button>
        }
    }
}
