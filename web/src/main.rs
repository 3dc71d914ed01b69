//! The page: draws what [`highwater_lab`] says, and sends back what the reader wants.
//!
//! It is built for the browser by `cargo xtask lab`; elsewhere there is nothing to run.

#[cfg(target_arch = "wasm32")]
fn main() {
    highwater_lab::page::start();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("error: the page runs in a browser: build it with `cargo xtask lab`");
    std::process::exit(2);
}
