//! The HTTP side: the page, `/metrics`, `/healthz`.
//!
//! So many connections are served at a time and no more: whoever comes then waits in the kernel, and
//! the broker's own clients do not notice.

mod bounded;
mod site;

use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use self::bounded::Bounded;
use crate::driver::{Driver, Stage};

/// Serves until the process ends.
pub async fn serve(socket: TcpListener, drivers: Vec<Arc<Driver>>) {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .route("/metrics/{number}", get(metrics_of))
        .fallback(get(site::serve))
        .with_state(Arc::new(drivers));
    let served = match tokio::net::TcpListener::from_std(socket) {
        Ok(socket) => axum::serve(Bounded::new(socket), router).await,
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!("the page is no longer served: {error}");
    }
}

/// The brokers of this process, in order.
type Drivers = Arc<Vec<Arc<Driver>>>;

/// 200 once every broker takes requests, 503 before and after. A broker that has lost a log directory
/// still serves what lies in the others, and to start it again would not help: 200, in other words.
async fn health(State(drivers): State<Drivers>) -> impl IntoResponse {
    let mut said = String::new();
    for driver in drivers.iter() {
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

/// Which log directories are offline.
fn words(driver: &Arc<Driver>) -> String {
    let directories = driver.look(|broker| broker.log_directory_figures());
    let offline = directories.unwrap_or_default().into_iter();
    let lines = offline
        .filter(|directory| directory.is_offline)
        .map(|directory| format!("degraded: log directory {} is offline\n", directory.path));
    lines.collect()
}

/// The first broker's.
async fn metrics(State(drivers): State<Drivers>) -> Result<impl IntoResponse, StatusCode> {
    text_of(drivers.first())
}

/// Those of the broker that is the n-th of this process, from 1.
async fn metrics_of(
    State(drivers): State<Drivers>,
    Path(number): Path<usize>,
) -> Result<impl IntoResponse, StatusCode> {
    text_of(number.checked_sub(1).and_then(|at| drivers.get(at)))
}

fn text_of(driver: Option<&Arc<Driver>>) -> Result<impl IntoResponse + use<>, StatusCode> {
    let driver = driver.ok_or(StatusCode::NOT_FOUND)?;
    let text = driver.connections.metrics.text(driver);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text))
}
