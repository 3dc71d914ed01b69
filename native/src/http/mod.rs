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
use crate::metrics::{self, Numbered};

/// Serves until the process ends.
pub async fn serve(socket: TcpListener, brokers: Vec<Numbered>) {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(figures))
        .fallback(get(site::serve))
        .with_state(Arc::new(brokers));
    let served = match tokio::net::TcpListener::from_std(socket) {
        Ok(socket) => axum::serve(Bounded::new(socket), router).await,
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!("the page is no longer served: {error}");
    }
}

/// The brokers of this process, in order.
type Brokers = Arc<Vec<Numbered>>;

// ANCHOR: health
/// 200 once every broker takes requests, 503 before and after. A broker that has lost a log directory
/// still serves what lies in the others, and to start it again would not help: 200, in other words.
async fn health(State(brokers): State<Brokers>) -> impl IntoResponse {
    let mut said = String::new();
    for (_, driver) in brokers.iter() {
        let stage = driver.stage().borrow().clone();
        match stage {
            Stage::Ready => said.push_str(&words(driver)),
            Stage::Starting => return (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned()),
            Stage::Stopped { .. } => return (StatusCode::SERVICE_UNAVAILABLE, "stopped\n".to_owned()),
        }
    }
    let said = if said.is_empty() { "ok\n".to_owned() } else { said };
    (StatusCode::OK, said)
}
// ANCHOR_END: health

/// Which log directories are offline.
fn words(driver: &Arc<Driver>) -> String {
    let directories = driver.look(|broker| broker.log_directory_figures());
    let offline = directories.unwrap_or_default().into_iter();
    let lines = offline
        .filter(|directory| directory.is_offline)
        .map(|directory| format!("degraded: log directory {} is offline\n", directory.path));
    lines.collect()
}

async fn figures(State(brokers): State<Brokers>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], metrics::text(&brokers))
}
