//! What a test needs besides Rust and a C compiler, how to see whether it is there, how to get it.

use std::process::{Command, Stdio};

use crate::job;

/// A program from the system's packages.
pub struct Need {
    pub name: &'static str,
    /// The step of `cargo xtask test` that uses it.
    pub step: &'static str,
    /// The clients that use it; it is not needed when all are left out with `--skip CLIENT`.
    pub clients: &'static [&'static str],
    /// A command that succeeds when the program is there.
    check: &'static [&'static str],
    /// Debian's packages that bring it.
    packages: &'static [&'static str],
}

pub const NEEDS: &[Need] = &[
    Need {
        name: "kcat",
        step: "clients",
        clients: &["kcat"],
        check: &["kcat", "-V"],
        packages: &["kcat"],
    },
    Need {
        // Typed on the pages, as kcat is.
        name: "curl",
        step: "clients",
        clients: &["kcat"],
        check: &["curl", "--version"],
        packages: &["curl"],
    },
    Need {
        name: "Python with venv",
        step: "clients",
        clients: &["python", "go"],
        check: &["python3", "-c", "import venv, ensurepip"],
        packages: &["python3", "python3-venv"],
    },
    Need {
        name: "a JDK",
        step: "clients",
        clients: &["java"],
        check: &["javac", "-version"],
        packages: &["default-jdk-headless"],
    },
    Need {
        name: "Maven",
        step: "clients",
        clients: &["java"],
        check: &["mvn", "--version"],
        packages: &["maven"],
    },
    Need {
        name: "Python with venv",
        step: "browser",
        clients: &[],
        check: &["python3", "-c", "import venv, ensurepip"],
        packages: &["python3", "python3-venv"],
    },
    Need {
        name: "ZooKeeper",
        step: "zookeeper",
        clients: &[],
        check: &["test", "-e", "/usr/share/java/zookeeper.jar"],
        packages: &["zookeeper"],
    },
    Need {
        name: "a JDK",
        step: "zookeeper",
        clients: &["java"],
        check: &["javac", "-version"],
        packages: &["default-jdk-headless"],
    },
    Need {
        name: "Maven",
        step: "zookeeper",
        clients: &["java"],
        check: &["mvn", "--version"],
        packages: &["maven"],
    },
    Need {
        name: "a Java runtime",
        step: "zookeeper",
        clients: &[],
        check: &["java", "-version"],
        packages: &["default-jre-headless"],
    },
    Need {
        name: "kcat",
        step: "zookeeper",
        clients: &[],
        check: &["kcat", "-V"],
        packages: &["kcat"],
    },
    Need {
        name: "Chromium",
        step: "browser",
        clients: &[],
        check: &["chromium", "--version"],
        packages: &["chromium"],
    },
    Need {
        name: "ChromeDriver",
        step: "browser",
        clients: &[],
        check: &["chromedriver", "--version"],
        packages: &["chromium-driver"],
    },
];

impl Need {
    fn is_met(&self) -> bool {
        succeeds(self.check)
    }
}

/// What a step of `cargo xtask test` uses.
pub fn of_step(step: &str) -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| need.step == step).collect()
}

/// Sees to it that all of `needs` are met: installs what is missing if `install`, else tells how.
pub fn meet(needs: &[&Need], install: bool) -> Result<(), String> {
    let missing = missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    let command = install_command(&missing);
    if !install {
        return Err(format!("missing: {}\n  to get it: {command}", named(&missing)));
    }
    println!("installing {}: {command}", named(&missing));
    job::run(job::command("sh", &["-c", &command])).map_err(|why| {
        let steps = skips(&missing);
        format!(
            "cannot get {}: {why}\n  to go on without: {steps}",
            named(&missing)
        )
    })?;
    let still: Vec<&Need> = needs.iter().copied().filter(|need| !need.is_met()).collect();
    if still.is_empty() {
        return Ok(());
    }
    Err(format!("still missing after the installation: {}", named(&still)))
}

/// Each program once, even if two steps use it.
fn missing<'a>(needs: &[&'a Need]) -> Vec<&'a Need> {
    let mut missing: Vec<&Need> = Vec::new();
    for need in needs {
        if missing.iter().all(|other| other.name != need.name) && !need.is_met() {
            missing.push(need);
        }
    }
    missing
}

fn named(needs: &[&Need]) -> String {
    let names: Vec<&str> = needs.iter().map(|need| need.name).collect();
    names.join(", ")
}

fn skips(needs: &[&Need]) -> String {
    let names = |need: &Need| match need.clients {
        [] => vec![need.step],
        clients => clients.to_vec(),
    };
    let mut names: Vec<&str> = needs.iter().flat_map(|need| names(need)).collect();
    names.dedup();
    let skips: Vec<String> = names.iter().map(|name| format!("--skip {name}")).collect();
    skips.join(" ")
}

fn install_command(needs: &[&Need]) -> String {
    let packages: Vec<&str> = needs
        .iter()
        .flat_map(|need| need.packages.iter().copied())
        .collect();
    let packages = packages.join(" ");
    let sudo = if is_root() { "" } else { "sudo " };
    format!("{sudo}apt-get update && {sudo}apt-get install --yes --no-install-recommends {packages}")
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

fn succeeds(command: &[&str]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Adds the wasm target by rustup if this toolchain lacks it.
pub fn wasm_target() -> Result<(), String> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let directory = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", TARGET])
        .current_dir(crate::root())
        .output()
        .map_err(|e| format!("cannot run `rustc`: {e}"))?;
    let directory = String::from_utf8_lossy(&directory.stdout).trim().to_owned();
    if !directory.is_empty() && std::path::Path::new(&directory).is_dir() {
        return Ok(());
    }
    job::run(job::command("rustup", &["target", "add", TARGET]))
        .map_err(|why| format!("the Rust target {TARGET} is missing and could not be added: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: Need = Need {
        name: "a program nobody has",
        step: "clients",
        clients: &["java"],
        check: &["highwater-no-such-program"],
        packages: &["one", "two"],
    };

    #[test]
    fn what_is_missing_is_named_with_the_command_that_gets_it() {
        let why = meet(&[&ABSENT], false).unwrap_err();
        assert!(why.contains("a program nobody has"), "{why}");
        assert!(
            why.contains("apt-get install --yes --no-install-recommends one two"),
            "{why}"
        );
        assert_eq!(skips(&[&ABSENT]), "--skip java");
    }

    #[test]
    fn what_is_there_is_not_asked_for() {
        let present = Need {
            check: &["true"],
            ..ABSENT
        };
        assert_eq!(meet(&[&present], false), Ok(()));
    }
}
