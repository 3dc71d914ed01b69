//! Cargo's manifests, and the commands that others run.

use super::Offence;
use super::tree::Tree;

const TEST_COMMAND: &str = "cargo xtask test --install";

pub fn versions_outside_the_table(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    // The workspace's table is in the root's own manifest, which the `/` leaves out.
    for (path, text) in tree
        .under("", "toml")
        .filter(|(path, _)| path.ends_with("/Cargo.toml"))
    {
        let mut among_dependencies = false;
        for (i, line) in text.lines().enumerate() {
            let line: String = line.split_whitespace().collect();
            if line.starts_with('[') {
                among_dependencies = line.contains("dependencies");
            } else if among_dependencies
                && line.contains('=')
                && !line.starts_with('#')
                && !line.contains("workspace=true")
            {
                offences.push(Offence::new(path, i + 1, "write `NAME.workspace = true`"));
            }
        }
    }
    offences
}

pub fn ci_runs_the_readme(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    let readme = tree.text("README.md").unwrap_or("");
    if !readme.contains(&format!("$ {TEST_COMMAND}\n")) {
        offences.push(Offence::new(
            "README.md",
            0,
            format!("does not show `$ {TEST_COMMAND}`"),
        ));
    }
    let is_preparation =
        |line: &str| line.is_empty() || ["#", "set ", "cd "].iter().any(|start| line.starts_with(start));
    let lines = tree.text(".ci/run").unwrap_or("").lines().map(str::trim);
    let commands: Vec<&str> = lines.filter(|line| !is_preparation(line)).collect();
    if commands != [format!("exec {TEST_COMMAND}")] {
        offences.push(Offence::new(
            ".ci/run",
            0,
            format!("runs {commands:?}, not `exec {TEST_COMMAND}`"),
        ));
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_outside_the_workspace_table_is_found() {
        let found = |line: &str| {
            let text = format!("[package]\nversion = \"1\"\n[dev-dependencies]\n{line}\n");
            versions_outside_the_table(&Tree::of(&[("core/Cargo.toml", text.as_str())])).len()
        };
        assert_eq!(found("bytes.workspace = true"), 0);
        assert_eq!(found("bytes = { workspace = true, features = [] }"), 0);
        assert_eq!(found("bytes = \"1\""), 1);
        assert_eq!(found("bytes = { version = \"1\" }"), 1);
    }

    #[test]
    fn another_command_in_ci_is_found() {
        let readme = ("README.md", "$ cargo xtask test --install\n");
        let good = (".ci/run", "#!/bin/sh\nset -e\nexec cargo xtask test --install\n");
        assert_eq!(ci_runs_the_readme(&Tree::of(&[readme, good])), []);
        let more = (".ci/run", "#!/bin/sh\nmake\nexec cargo xtask test --install\n");
        assert_eq!(ci_runs_the_readme(&Tree::of(&[readme, more])).len(), 1);
        assert_eq!(ci_runs_the_readme(&Tree::of(&[("README.md", ""), good])).len(), 1);
    }
}
