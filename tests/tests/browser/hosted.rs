//! The lab as plain files, as `cargo xtask lab --out DIR` makes them: under a path of its own, on a server that
//! knows nothing of it.

use std::path::{Path, PathBuf};

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use highwater_lab::cluster::{ClusterLab, SCENES};

use crate::page::Page;
use crate::trouble::told;

const FOLDER: &str = "/pages/of/somebody/";

/// How the server answers for the module.
#[derive(Clone, Copy, PartialEq)]
enum Module {
    Right,
    Missing,
    /// Not said to be WebAssembly.
    WrongType,
}

fn file(path: &str, module: Module) -> Response {
    let name = path.strip_prefix(FOLDER).unwrap_or("nowhere");
    let name = if name.is_empty() { "index.html" } else { name };
    let is_module = name.ends_with(".wasm");
    let built: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/site/lab");
    let content = std::fs::read(built.join(name)).ok();
    let Some(content) = content.filter(|_| !(is_module && module == Module::Missing)) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some("wasm") if module == Module::Right => "application/wasm",
        _ => "text/plain",
    };
    ([(header::CONTENT_TYPE, kind)], content).into_response()
}

/// The page's address; the server ends with the test.
async fn host(module: Module) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().fallback(move |uri: Uri| async move { file(uri.path(), module) });
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}{FOLDER}")
}

async fn open(page: &Page, address: &str) {
    let client = &page.session.client;
    client.goto("about:blank").await.expect("leave the page");
    client.goto(address).await.expect("open the page");
}

#[tokio::test]
async fn plain_files_under_any_path_are_the_lab() {
    let page = Page::open().await;
    let address = host(Module::Right).await;
    open(&page, &address).await;
    page.is_drawn().await;
    let scene = ClusterLab::new(&SCENES[0].name).expect("the scene can be played");
    assert_eq!(page.texts(".sentence").await, [scene.sentence()]);
    let scene = ClusterLab::new(&SCENES[2].name).expect("the scene can be played");
    open(&page, &format!("{address}#{}", scene.link())).await;
    page.is_drawn().await;
    assert_eq!(page.texts(".sentence").await, [scene.sentence()]);
    page.close().await;
}

#[tokio::test]
async fn a_missing_module_is_told_and_one_of_another_type_is_loaded() {
    let page = Page::open().await;
    open(&page, &host(Module::Missing).await).await;
    let (why, _) = told(&page).await;
    assert!(why.starts_with("It could not be started: "), "{why}");
    assert_ne!(page.session.complaints().await, Vec::<String>::new());

    open(&page, &host(Module::WrongType).await).await;
    page.is_drawn().await;
    // The loader says that it takes the slower way.
    let complaints = page.session.complaints().await;
    assert!(
        complaints.iter().all(|said| said.contains("MIME")),
        "{complaints:?}"
    );
    page.close().await;
}
