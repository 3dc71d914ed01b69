//! The page is embedded as it lies in `target/site`: build again when that changes.
fn main() {
    println!("cargo::rerun-if-changed=../target/site");
}
