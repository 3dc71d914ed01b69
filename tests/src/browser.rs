//! A real browser for a test: chromedriver on a free port, one headless session, both gone at the end.
//!
//! `cargo xtask test --install` gets the two programs (Debian's chromium and chromium-driver).

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fantoccini::{Client, ClientBuilder};
use serde_json::{Value, json};

/// Ports that others can have taken under IPv6, one after the other, before it is no chance any more.
const MOST_STARTS: usize = 8;

/// A running chromedriver.
pub struct Driver {
    child: Child,
    port: u16,
}

impl Driver {
    /// Starts it and waits until it says on which port it listens.
    ///
    /// It takes a free port of IPv4 and wants the same of IPv6; it ends when another process has
    /// that, as happens when many tests take ports at once, and is then started again.
    pub fn start() -> Self {
        let mut last_said = String::new();
        for _ in 0..MOST_STARTS {
            match Self::start_once() {
                Ok(driver) => return driver,
                Err(said) => last_said = said,
            }
        }
        panic!("chromedriver ended {MOST_STARTS} times before it listened; it last said: {last_said}");
    }

    /// `Err` has the last line of one that ended before it listened.
    fn start_once() -> Result<Self, String> {
        let mut child = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("start chromedriver: `cargo xtask test --install` gets it");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let mut said = String::new();
        for line in lines.by_ref() {
            if let Some(port) = port_in(&line) {
                // What it says later must find a reader, or it blocks.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(Self { child, port });
            }
            said = line;
        }
        child.wait().expect("wait for chromedriver");
        Err(said)
    }

    /// Opens a headless session whose console and exceptions are kept for [`Session::complaints`].
    pub async fn open(&self) -> Session {
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        });
        let mut wanted = serde_json::Map::new();
        wanted.insert("goog:chromeOptions".into(), options);
        wanted.insert("goog:loggingPrefs".into(), json!({ "browser": "ALL" }));
        let client = ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new())
            .capabilities(wanted)
            .connect(&format!("http://127.0.0.1:{}", self.port))
            .await
            .expect("open a browser");
        Session { client }
    }
}

fn port_in(line: &str) -> Option<u16> {
    let (_, port) = line.split_once("started successfully on port ")?;
    port.trim_end_matches('.').parse().ok()
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Asked to end, it ends its browsers, too: those of a test that failed are still there.
        let asked = Command::new("kill").arg(self.child.id().to_string()).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// One browser window.
pub struct Session {
    pub client: Client,
}

impl Session {
    /// What the page complained of so far: errors and warnings on its console, exceptions, refused
    /// scripts and styles. Each is told once.
    pub async fn complaints(&self) -> Vec<String> {
        let entries = self
            .client
            .issue_cmd(BrowserLog)
            .await
            .expect("read the browser's log");
        let entries = entries.as_array().cloned().unwrap_or_default();
        let is_complaint =
            |entry: &&Value| ["SEVERE", "WARNING"].iter().any(|level| entry["level"] == *level);
        entries
            .iter()
            .filter(is_complaint)
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

impl Session {
    /// Makes the page so large, and the system's theme dark or light.
    pub async fn resize(&self, width: u32, height: u32, dark: bool) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size).await;
        let scheme = if dark { "dark" } else { "light" };
        self.media(&[("prefers-color-scheme", scheme)]).await;
    }

    /// What the system says that its user prefers, as media features with their values.
    pub async fn media(&self, features: &[(&str, &str)]) {
        let feature = |(name, value): &(&str, &str)| json!({ "name": name, "value": value });
        let features: Vec<Value> = features.iter().map(feature).collect();
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features }))
            .await;
    }

    /// Lets requests for these addresses (`*` for any text) fail, or none if it is empty.
    pub async fn block(&self, addresses: &str) {
        let addresses: Vec<&str> = Some(addresses)
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect();
        self.devtools("Network.enable", json!({})).await;
        self.devtools("Network.setBlockedURLs", json!({ "urls": addresses }))
            .await;
    }

    /// Runs a script in every page that is opened from here on, before any of its own.
    pub async fn before_each_page(&self, script: &str) {
        let source = json!({ "source": script });
        self.devtools("Page.addScriptToEvaluateOnNewDocument", source)
            .await;
    }

    /// What is in sight, as WebP: so many px wide and high, drawn at that scale.
    pub async fn picture(&self, width: u32, height: u32, scale: f64) -> Vec<u8> {
        self.devtools("Emulation.setScrollbarsHidden", json!({ "hidden": true }))
            .await;
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": scale });
        let wanted = json!({ "format": "webp", "quality": 70, "clip": clip });
        let answer = self.devtools("Page.captureScreenshot", wanted).await;
        let data = answer["data"].as_str().expect("a picture's data");
        BASE64_STANDARD.decode(data).expect("base64")
    }

    /// A command of the browser's developer tools, and its answer.
    pub async fn devtools(&self, command: &'static str, parameters: Value) -> Value {
        let outcome = self.client.issue_cmd(DevTools { command, parameters }).await;
        outcome.unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    /// Runs a script in the page and answers what it returns.
    pub async fn script(&self, script: &str) -> Value {
        let outcome = self.client.execute(script, Vec::new()).await;
        outcome.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Presses a key where the focus is.
    pub async fn press(&self, key: &str) {
        let active = self
            .client
            .active_element()
            .await
            .expect("something has the focus");
        active
            .send_keys(key)
            .await
            .unwrap_or_else(|error| panic!("press {key}: {error}"));
    }
}

/// Chromedriver's own command for a command of the browser's developer tools.
#[derive(Debug)]
struct DevTools {
    command: &'static str,
    parameters: Value,
}

impl fantoccini::wd::WebDriverCompatibleCommand for DevTools {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!(
            "session/{}/goog/cdp/execute",
            session.unwrap_or_default()
        ))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let body = json!({ "cmd": self.command, "params": self.parameters });
        (http::Method::POST, Some(body.to_string()))
    }
}

/// Chromedriver's own command for the browser's log.
#[derive(Debug)]
struct BrowserLog;

impl fantoccini::wd::WebDriverCompatibleCommand for BrowserLog {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
