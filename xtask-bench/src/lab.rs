//! The page in a browser, beside an empty page in the same browser: how soon it is there, how long a step
//! takes from the key to the painted picture, whether play keeps up, how far a seek is, what openings leave.
//!
//! Pages of their own, with scripts that no scene has, are put together in an empty page of the same server;
//! what plays them is the page's own code.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use highwater_core::sim::script::command::Script;
use highwater_lab::cluster::run::Run;
use highwater_lab::cluster::{ClusterLab, SCENES, Wish};
use highwater_tests::browser::{Driver, Session};
use serde_json::Value;

use crate::broker::{free_ports, highwater_up};
use crate::loads::Values;
use crate::statistics::{median, quantile};
use crate::{Result, at, said};

/// Five brokers, six partitions, 200 records.
const STEADY: (&str, &str) = (include_str!("lab/steady"), include_str!("lab/steady.story"));
/// At least fifty messages on their way at once.
const BUSY: (&str, &str) = (include_str!("lab/busy"), include_str!("lab/busy.story"));
/// The binary serves its page within this time, unless something is broken.
const LONGEST_START: Duration = Duration::from_secs(20);
const AGAIN: Duration = Duration::from_millis(20);
const SIZE: (u32, u32) = (1440, 860);
const PRESSES: usize = 150;
const SEEKS: usize = 40;
/// Openings of a scene, and after how many of them memory is looked at first.
const OPENINGS: usize = 200;
const WARM_OPENINGS: usize = 50;
/// The scene whose run is gone through, and what is added to it until it has 10,000 facts.
const LONG_SCENE: &str = "leo-hw-isr";
const LONG_ACTS: [&str; 3] = ["restart all", "heal", "run 60s"];
const LEAST_FACTS: usize = 10_000;

/// How long it takes until what was done is painted. It is done at the start of a frame: waiting for the next
/// frame of the screen is not counted.
const PAINTED: &str = "
    const painted = act => new Promise(resolve => requestAnimationFrame(() => {
        const began = performance.now();
        act();
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => resolve(performance.now() - began);
        port2.postMessage(0);
    }));
";

/// One round of everything: what the empty page takes, and what ours does.
pub async fn measure(server: &Server, driver: &Driver) -> Result<(Values, Values)> {
    let session = driver.open().await;
    session.before_each_page(MEMORY).await;
    session.resize(SIZE.0, SIZE.1, false).await;
    let empty = server.address("/healthz");
    let floor_frame = first_frame(&session, &empty).await?;
    let frame = first_frame(&session, &server.address("/")).await?;

    open(&session, &empty).await?;
    let floor_presses = numbers(&session, &[PAINTED, EMPTY_PRESSES].concat()).await?;
    let floor_frames = numbers(&session, &FRAMES.replace("BEGIN", "")).await?;

    session.media(&[("prefers-reduced-motion", "reduce")]).await;
    mount(&session, &empty, STEADY).await?;
    let presses = numbers(
        &session,
        &[PAINTED, PRESSED].concat().replace("COUNT", &PRESSES.to_string()),
    )
    .await?;

    session
        .media(&[("prefers-reduced-motion", "no-preference")])
        .await;
    mount(&session, &empty, BUSY).await?;
    let frames = numbers(&session, &FRAMES.replace("BEGIN", PLAY)).await?;
    let most = session.script("return window.mostMessages").await;

    session.media(&[("prefers-reduced-motion", "reduce")]).await;
    let link = long_run()?;
    open(&session, "about:blank").await?;
    open(&session, &format!("{}#{link}", server.address("/"))).await?;
    drawn(&session).await?;
    let seeks = numbers(
        &session,
        &[PAINTED, SEEKED].concat().replace("COUNT", &SEEKS.to_string()),
    )
    .await?;
    let grown = openings(&session, server).await?;
    session.client.close().await.map_err(said)?;

    let most = most.as_f64().unwrap_or_default();
    let floors = vec![
        ("lab_empty_frame", floor_frame),
        ("lab_empty_press", median(&floor_presses)),
        ("lab_empty_late", late(&floor_frames)),
    ];
    let ours = vec![
        ("lab.first_frame", frame),
        ("lab.press_p50", median(&presses)),
        ("lab.press_p99", tail(presses)),
        ("lab.messages", most),
        ("lab.late_frames", late(&frames)),
        ("lab.seek", seeks.into_iter().fold(0.0, f64::max)),
        ("lab.grown", grown),
    ];
    Ok((floors, ours))
}

/// The 99th of a hundred.
fn tail(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.99)
}

/// Frames that came more than half a frame late, in 1,000.
fn late(between_ms: &[f64]) -> f64 {
    const FRAME_MS: f64 = 1000.0 / 60.0;
    let late = between_ms.iter().filter(|ms| **ms > 1.5 * FRAME_MS).count();
    1000.0 * late as f64 / between_ms.len().max(1) as f64
}

async fn open(session: &Session, address: &str) -> Result<()> {
    session.client.goto(address).await.map_err(said)
}

/// When something of the page is painted first, in ms from when it was asked for; nothing is cached.
async fn first_frame(session: &Session, address: &str) -> Result<f64> {
    session.devtools("Network.enable", serde_json::json!({})).await;
    session
        .devtools(
            "Network.setCacheDisabled",
            serde_json::json!({ "cacheDisabled": true }),
        )
        .await;
    open(session, "about:blank").await?;
    open(session, address).await?;
    let painted = "return await new Promise(resolve => new PerformanceObserver((list, observer) => {
            const paint = list.getEntriesByName('first-contentful-paint')[0];
            if (paint) { observer.disconnect(); resolve(paint.startTime); }
        }).observe({ type: 'paint', buffered: true }));";
    let value = waited(session, painted).await;
    value
        .as_f64()
        .ok_or_else(|| format!("{address} is never painted"))
}

/// An empty page gets the page's stylesheet, one figure with the script, and the loader.
async fn mount(session: &Session, empty: &str, (script, story): (&str, &str)) -> Result<()> {
    open(session, "about:blank").await?;
    open(session, empty).await?;
    let texts = serde_json::to_string(&[script, story]).map_err(said)?;
    session.script(&MOUNT.replace("TEXTS", &texts)).await;
    drawn(session).await
}

/// Waits until a sentence is there.
async fn drawn(session: &Session) -> Result<()> {
    let sentence = fantoccini::Locator::Css(".sentence");
    let found = session.client.wait().for_element(sentence).await;
    found
        .map(drop)
        .map_err(|error| format!("the page draws nothing: {error}"))
}

/// Runs a script that waits.
async fn waited(session: &Session, script: &str) -> Value {
    session
        .script(&format!("return (async () => {{ {script} }})();"))
        .await
}

async fn numbers(session: &Session, script: &str) -> Result<Vec<f64>> {
    let value = waited(session, script).await;
    let numbers: Vec<f64> = serde_json::from_value(value).map_err(said)?;
    match numbers.is_empty() {
        true => Err(format!("the page measured nothing with {script}")),
        false => Ok(numbers),
    }
}

/// A link to a run of one's own that is long enough.
fn long_run() -> Result<String> {
    let mut lab = ClusterLab::new(LONG_SCENE)?.after(Wish::Explore);
    for act in LONG_ACTS {
        lab = lab.after(Wish::Act(act.to_owned()));
    }
    let mut before = 0;
    loop {
        let facts = facts(&lab)?;
        if facts >= LEAST_FACTS {
            return Ok(lab.link());
        }
        if facts == before {
            return Err(format!(
                "the run of {LONG_SCENE} does not go on: {:?}",
                lab.notice
            ));
        }
        before = facts;
        lab = lab.after(Wish::Act("run 60s".to_owned()));
    }
}

fn facts(lab: &ClusterLab) -> Result<usize> {
    let script = Script::parse(&lab.script()).map_err(|bad| bad.why)?;
    Ok(Run::play(&script, None)?.facts())
}

/// By how many MB memory has grown between the first openings of a scene and the last, waste collected.
async fn openings(session: &Session, server: &Server) -> Result<f64> {
    let mut before = 0.0;
    open(session, "about:blank").await?;
    open(session, &server.address("/")).await?;
    drawn(session).await?;
    for opening in 1..=OPENINGS {
        let scene = &SCENES[opening % SCENES.len()];
        let told = serde_json::to_string(&*scene.question).map_err(said)?;
        waited(
            session,
            &OPENED.replace("NAME", &scene.name).replace("TOLD", &told),
        )
        .await;
        if opening == WARM_OPENINGS {
            before = memory(session).await?;
        }
    }
    Ok(memory(session).await? - before)
}

/// What the page's scripts and its module have, in MB.
async fn memory(session: &Session) -> Result<f64> {
    session
        .devtools("HeapProfiler.collectGarbage", serde_json::json!({}))
        .await;
    let heap = session
        .devtools("Runtime.getHeapUsage", serde_json::json!({}))
        .await;
    let module = session
        .script("return window.moduleMemory.buffer.byteLength")
        .await;
    let bytes = |value: &Value| value.as_f64().ok_or("the browser says nothing of memory");
    Ok((bytes(&heap["usedSize"])? + bytes(&module)?) / 1e6)
}

/// Keeps the module's memory, to be looked at.
const MEMORY: &str = "
    for (const name of ['instantiate', 'instantiateStreaming']) {
        const original = WebAssembly[name];
        WebAssembly[name] = async (...given) => {
            const made = await original.apply(WebAssembly, given);
            window.moduleMemory = (made.instance ?? made).exports.memory;
            return made;
        };
    }
";

const EMPTY_PRESSES: &str = "
    document.body.tabIndex = 0;
    document.body.addEventListener('keydown', () => { document.body.textContent = String(performance.now()); });
    const took = [];
    for (let press = 0; press < 150; press += 1)
        took.push(await painted(() => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '.', bubbles: true }))));
    return took;
";

const MOUNT: &str = "
    const [script, story] = TEXTS;
    const make = (name, into, set) => into.appendChild(Object.assign(document.createElement(name), set));
    document.body.replaceChildren();
    make('link', document.head, { rel: 'stylesheet', href: '/style.css' });
    const figure = make('figure', document.body, { className: 'highwater' });
    const live = make('div', figure, { className: 'live' });
    live.dataset.figure = 'measured';
    live.dataset.map = '';
    make('template', figure, { className: 'script' }).content.append(script);
    make('template', figure, { className: 'story' }).content.append(story);
    make('template', document.body, { id: 'broken', innerHTML: '<p class=why></p><button></button>' });
    make('script', document.body, { type: 'module', src: '/start.js' });
";

const PRESSED: &str = "
    const inside = document.querySelector('.figure-of-page');
    const took = [];
    const said = new Set();
    for (let press = 0; press < COUNT; press += 1) {
        took.push(await painted(() => inside.dispatchEvent(new KeyboardEvent('keydown', { key: '.', bubbles: true, cancelable: true }))));
        said.add(document.querySelector('.stage').innerHTML);
    }
    // Steps that change nothing would be quick, and say nothing.
    return said.size > COUNT / 2 ? took : [];
";

/// The time between frames, for as long as it plays, or three seconds.
const FRAMES: &str = "
    const between = [];
    let last = null;
    window.mostMessages = 0;
    BEGIN
    const until = performance.now() + 3000;
    return await new Promise(resolve => requestAnimationFrame(function frame(now) {
        if (last !== null) between.push(now - last);
        last = now;
        const flying = document.querySelectorAll('g.message').length;
        window.mostMessages = Math.max(window.mostMessages, flying);
        if (now < until) requestAnimationFrame(frame); else resolve(between);
    }));
";

const PLAY: &str = "document.querySelector('.turn button.main').click();";

const SEEKED: &str = "
    const slider = document.querySelector('input[type=range]');
    const last = Number(slider.max);
    const took = [];
    const said = new Set();
    for (let seek = 0; seek < COUNT; seek += 1) {
        const to = Math.round(last * ((seek * 0.618034) % 1));
        took.push(await painted(() => {
            slider.value = to;
            slider.dispatchEvent(new Event('input', { bubbles: true }));
        }));
        said.add(document.querySelector('#stage').innerHTML);
    }
    return said.size > COUNT / 2 ? took : [];
";

/// Another scene, by its address; done when its question is told.
const OPENED: &str = "
    location.hash = 'scene=NAME';
    await new Promise(resolve => requestAnimationFrame(function look() {
        if (document.body.textContent.includes(TOLD) && document.querySelector('.sentence')) resolve();
        else requestAnimationFrame(look);
    }));
";

/// The binary with its page; gone at the end.
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    pub fn start(binary: &Path, out: &Path) -> Result<Self> {
        let data = out.join("lab");
        if data.exists() {
            at(&data, std::fs::remove_dir_all(&data))?;
        }
        at(&data, std::fs::create_dir_all(&data))?;
        let port = free_ports(1)?[0];
        let mut command = highwater_up(binary, &data, &free_ports(1)?, port);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = at(binary, command.spawn())?;
        let server = Self { child, port };
        let began = Instant::now();
        while !server.is_healthy() {
            if began.elapsed() > LONGEST_START {
                return Err(format!("{} serves no page", binary.display()));
            }
            std::thread::sleep(AGAIN);
        }
        Ok(server)
    }

    fn is_healthy(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) else {
            return false;
        };
        let asked =
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && answer.contains(" 200 ")
    }

    fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_frames_are_counted_in_a_thousand() {
        assert_eq!(late(&[16.7, 16.6, 33.4, 16.7]), 250.0);
        assert_eq!(late(&[]), 0.0);
    }

    #[test]
    fn the_run_that_is_sought_through_is_long() {
        let link = long_run().expect("a run");
        assert!(link.contains(LONG_SCENE), "{link}");
    }
}
