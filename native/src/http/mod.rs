//! The HTTP side: the page, `/metrics`, `/healthz`.
//!
//! So many connections are served at a time and no more: whoever comes then waits in the kernel, and
//! the broker's own clients do not notice.

mod bounded;
mod site;

use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use self::bounded::Bounded;
use crate::driver::{Driver, Stage};

/// Serves until the process ends.
pub async fn serve(socket: TcpListener, driver: Arc<Driver>) {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .fallback(get(site::serve))
        .with_state(driver);
    let served = match tokio::net::TcpListener::from_std(socket) {
        Ok(socket) => axum::serve(Bounded::new(socket), router).await,
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!("the page is no longer served: {error}");
    }
}

/// 200 once the broker takes requests, 503 before and after. A broker that has lost a log directory
/// still serves what lies in the others, and to start it again would not help: 200, in other words.
async fn health(State(driver): State<Arc<Driver>>) -> impl IntoResponse {
    let stage = driver.stage().borrow().clone();
    match stage {
        Stage::Ready => (StatusCode::OK, words(&driver)),
        Stage::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned()),
        Stage::Stopped { .. } => (StatusCode::SERVICE_UNAVAILABLE, "stopped\n".to_owned()),
    }
}

/// `ok`, or which log directories are offline.
fn words(driver: &Arc<Driver>) -> String {
    let directories = driver.look(|broker| broker.log_directory_figures());
    let offline = directories.unwrap_or_default().into_iter();
    let lines = offline
        .filter(|directory| directory.is_offline)
        .map(|directory| format!("degraded: log directory {} is offline\n", directory.path));
    let lines: String = lines.collect();
    if lines.is_empty() {
        "ok\n".to_owned()
    } else {
        lines
    }
}

async fn metrics(State(driver): State<Arc<Driver>>) -> impl IntoResponse {
    let text = driver.connections.metrics.text(&driver);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text)
}
