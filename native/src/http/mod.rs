//! The HTTP side: the page, `/metrics`, `/healthz`.

mod site;

use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;

use crate::driver::{Driver, Stage};

/// Serves until the process ends.
pub async fn serve(socket: TcpListener, driver: Arc<Driver>) {
    let router = Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(metrics))
        .fallback(get(site::serve))
        .with_state(driver);
    let served = match tokio::net::TcpListener::from_std(socket) {
        Ok(socket) => axum::serve(socket, router).await,
        Err(error) => Err(error),
    };
    if let Err(error) = served {
        tracing::error!("the page is no longer served: {error}");
    }
}

/// 200 once the broker takes requests, 503 before and after.
async fn health(State(driver): State<Arc<Driver>>) -> impl IntoResponse {
    match &*driver.stage().borrow() {
        Stage::Ready => (StatusCode::OK, "ok\n"),
        Stage::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting\n"),
        Stage::Stopped { .. } => (StatusCode::SERVICE_UNAVAILABLE, "stopped\n"),
    }
}

async fn metrics(State(driver): State<Arc<Driver>>) -> impl IntoResponse {
    let text = driver.connections.metrics.text(&driver);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text)
}
