//! The code that decided a fact, from the source that this page was built from.

use gloo::net::http::Request;
use highwater_lab::cluster::events::FactView;
use highwater_lab::code;
use yew::platform::spawn_local;
use yew::prelude::*;

#[derive(Clone, PartialEq, Properties)]
pub struct CodeProps {
    pub fact: FactView,
}

/// The function around the place that emitted the fact, with that line marked.
#[component]
pub fn Code(props: &CodeProps) -> Html {
    let source = use_state(|| None::<(String, Result<String, String>)>);
    let file = props.fact.site.as_ref().map(|(file, _)| file.clone());
    {
        let source = source.clone();
        use_effect_with(file.clone(), move |file| {
            if let Some(file) = file.clone() {
                spawn_local(async move {
                    let text = fetch(&file).await;
                    source.set(Some((file, text)));
                });
            }
        });
    }
    let fact = &props.fact;
    let text = match (&fact.site, &*source) {
        (Some((file, line)), Some((loaded, Ok(text)))) if loaded == file => {
            excerpt(text, *line as usize, fact.name)
        }
        (Some(_), Some((_, Err(why)))) => html! { <p>{ why }</p> },
        (Some(_), _) => html! { <p>{ "The source is on its way …" }</p> },
        (None, _) => html! { <p>{ "Where it was decided is not recorded." }</p> },
    };
    html! {
        <div class="code">
            if let Some((file, line)) = &fact.site {
                <p class="soft">{ format!("{}, decided in {file}, line {line}:", fact.name) }</p>
            }
            { text }
        </div>
    }
}

fn excerpt(text: &str, line: usize, fact: &str) -> Html {
    let Some(excerpt) = code::excerpt(text, line, fact) else {
        return html! { <p>{ "The source beside this page is not the one that it was built from." }</p> };
    };
    let row = |(nth, text): (usize, &&str)| {
        let number = excerpt.first + nth;
        let lit = (number == excerpt.marked).then_some("lit");
        html! { <span class={classes!(lit)}>{ format!("{number:>4}  {text}\n") }</span> }
    };
    html! { <pre tabindex="0">{ for excerpt.lines.iter().enumerate().map(row) }</pre> }
}

async fn fetch(file: &str) -> Result<String, String> {
    let failed = |why: String| format!("The source cannot be read: {why}.");
    let answer = Request::get(&format!("source/{file}")).send().await;
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    if !answer.ok() {
        return Err(failed(format!("{} for {file}", answer.status())));
    }
    answer.text().await.map_err(|error| failed(error.to_string()))
}
