//! What the README and the book tell a reader to type is typed: every block of commands, page by page, each page
//! against a fresh cluster of three, as `cargo xtask up` starts it.
//!
//! On the pages the brokers listen on 9092 to 9094 and the page on 8080; here on ports that are free.

mod blocks;
mod filters;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use highwater_tests::broker::{TestBroker, binary, free_ports};
use highwater_tests::repository;

use blocks::{commands, is_same};
use filters::filtered;

/// As the pages have them.
const BROKERS: [u16; 3] = [9092, 9093, 9094];
const PAGE: &str = "127.0.0.1:8080";
/// Where `up` keeps its files.
const DATA: &str = "highwater-data";
/// Builds and starts what runs here already.
const RUNS_ALREADY: &str = "cargo xtask";
/// The longest that a command may take, given to `timeout`.
const MOST_S: &str = "60";

/// All pages with commands.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md")];
    let chapters = std::fs::read_dir(repository().join("book/src")).expect("read the book's folder");
    pages.extend(chapters.flatten().map(|entry| entry.path()));
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

/// A cluster, and a folder in which commands are typed.
struct Desk {
    _cluster: TestBroker,
    /// `host:port` of the page.
    page: String,
    folder: tempfile::TempDir,
    first_port: u16,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("make a folder");
        let first_port = free_ports(BROKERS.len() as u16);
        let data = Arc::new(tempfile::tempdir().expect("make a folder"));
        let cluster = TestBroker::start_up(Arc::clone(&data), first_port, BROKERS.len() as u16);
        symlink(cluster.data(), folder.path().join(DATA)).expect("make a link");
        Self {
            page: cluster.page_address().replace("http://", "").replace('/', ""),
            _cluster: cluster,
            folder,
            first_port,
        }
    }

    /// With the ports of this cluster for those of the page.
    fn here(&self, text: &str) -> String {
        let text = text.replace(PAGE, &self.page);
        BROKERS
            .iter()
            .zip(self.first_port..)
            .fold(text.to_owned(), |text, (page, here)| {
                text.replace(&format!(":{page}"), &format!(":{here}"))
            })
    }

    fn as_on_the_page(&self, text: &str) -> String {
        BROKERS
            .iter()
            .zip(self.first_port..)
            .fold(text.to_owned(), |text, (page, here)| {
                text.replace(&here.to_string(), &page.to_string())
            })
    }

    /// What the command printed, lines of both streams; `Err` when it failed.
    fn type_in(&self, command: &str) -> Result<Vec<String>, String> {
        let binary = binary();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", binary.parent().unwrap_or(Path::new(".")).display());
        let typed = format!("set -euo pipefail\n{}", self.here(command));
        let output = Command::new("timeout")
            .args([MOST_S, "bash", "-c", &typed])
            .env("PATH", path)
            .current_dir(self.folder.path())
            .output()
            .expect("run bash");
        let printed = [output.stdout, output.stderr].concat();
        let printed = self.as_on_the_page(&String::from_utf8_lossy(&printed));
        match output.status.success() {
            true => Ok(printed.lines().map(str::to_owned).collect()),
            false => Err(format!("{}: {printed}", output.status)),
        }
    }
}

#[test]
fn what_the_pages_tell_to_type_works() {
    let mut wrong = Vec::new();
    let mut typed = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("read a page");
        let commands = commands(&text);
        if commands.is_empty() {
            continue;
        }
        let desk = Desk::new();
        let name = page
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for command in commands {
            if command.text.starts_with(RUNS_ALREADY) {
                continue;
            }
            typed += 1;
            let whole = format!("{name}:{}: {}", command.line, command.text);
            match desk.type_in(&command.text) {
                Err(why) => wrong.push(format!("{whole}\n{why}")),
                Ok(printed) => {
                    let (said, now) = (
                        filtered(&command.output, &command.filters),
                        filtered(&printed, &command.filters),
                    );
                    if !said.is_empty() && !is_same(&said, &now) {
                        wrong.push(format!("{whole}\nprints:\n{}", printed.join("\n")));
                    }
                }
            }
        }
    }
    assert!(typed > 0, "no page has a command");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}
