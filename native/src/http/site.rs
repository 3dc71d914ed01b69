//! The lab at `/` and the book at `/book/`: files that the build embedded, most of them compressed
//! ahead (`name.br` beside or instead of `name`).
//!
//! The binary also builds without them; then the page says how to build them.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

/// What `cargo xtask lab` and `cargo xtask book` wrote.
#[derive(RustEmbed)]
#[folder = "../target/site/"]
#[allow_missing = true]
struct Site;

/// Beside the book's pages: the hashes of the scripts that mdBook writes into them, one a line.
const BOOK_SCRIPT_HASHES: &str = "book/script-hashes.txt";
/// Nothing from elsewhere, no inline script or style; WebAssembly may be compiled. In the book, the
/// inline scripts that the build has listed follow `'wasm-unsafe-eval'`.
const POLICY_OF_SCRIPTS: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'";
const POLICY_OF_THE_REST: &str = "; \
    style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; \
    frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
/// Files whose name carries a hash of their content never change.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Others are asked for again, and not sent again when they are the same.
const ASK_AGAIN: &str = "no-cache";

const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Highwater</title>\
    <h1>This part of Highwater was not built</h1>\
    <p>The broker is running all the same. To see the lab and the book here, stop it, run</p>\
    <pre>cargo xtask up</pre><p>in the project's folder, which builds them into the binary.</p></html>";

/// Answers a GET for a file of the site.
pub async fn serve(uri: Uri, headers: HeaderMap) -> Response {
    answer(uri.path(), &headers, Site::get)
}

fn answer(path: &str, headers: &HeaderMap, find: impl Fn(&str) -> Option<EmbeddedFile>) -> Response {
    if path == "/book" {
        return (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, "/book/")]).into_response();
    }
    let mut name = match path.strip_prefix("/book/") {
        Some(rest) => format!("book/{rest}"),
        None => format!("lab/{}", path.trim_start_matches('/')),
    };
    if name.ends_with('/') {
        name.push_str("index.html");
    }
    let accepts_brotli = headers
        .get(header::ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .split(',')
                .any(|one| one.trim().split(';').next() == Some("br"))
        });
    let compressed = if accepts_brotli {
        find(&format!("{name}.br"))
    } else {
        None
    };
    let (file, is_compressed) = match compressed {
        Some(file) => (Some(file), true),
        None => (find(&name), false),
    };
    let mut response = match file {
        Some(file) => found(&name, file, is_compressed, headers),
        None if name.ends_with("/index.html") => {
            let html = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
            (StatusCode::NOT_FOUND, html, NOT_BUILT).into_response()
        }
        None => (StatusCode::NOT_FOUND, "there is no such file\n").into_response(),
    };
    let hashes = match name.starts_with("book/") {
        true => find(BOOK_SCRIPT_HASHES),
        false => None,
    };
    let hashes = hashes.map(|file| String::from_utf8_lossy(&file.data).into_owned());
    response.headers_mut().insert(
        header::CONTENT_SECURITY_POLICY,
        security_policy(&hashes.unwrap_or_default()),
    );
    let always = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::VARY, "accept-encoding"),
    ];
    for (name, value) in always {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The policy that lets those inline scripts run whose hashes are listed, and no others.
fn security_policy(script_hashes: &str) -> HeaderValue {
    let mut policy = POLICY_OF_SCRIPTS.to_owned();
    for hash in script_hashes.split_whitespace() {
        policy.push(' ');
        policy.push_str(hash);
    }
    policy.push_str(POLICY_OF_THE_REST);
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

fn found(name: &str, file: EmbeddedFile, is_compressed: bool, headers: &HeaderMap) -> Response {
    let hash = file.metadata.sha256_hash();
    let tag: String = hash[..12].iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let cache = if is_hashed(name) { FOR_EVER } else { ASK_AGAIN };
    let same = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut builder = Response::builder()
        .header(header::CONTENT_TYPE, content_type(name))
        .header(header::CACHE_CONTROL, cache)
        .header(header::ETAG, tag);
    if same {
        builder = builder.status(StatusCode::NOT_MODIFIED);
    } else if is_compressed {
        builder = builder.header(header::CONTENT_ENCODING, "br");
    }
    let body = if same {
        Body::empty()
    } else {
        Body::from(file.data.into_owned())
    };
    builder
        .body(body)
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// `name-0123456789abcdef.ext`: eight or more hexadecimal digits before the last dot.
fn is_hashed(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let tail = stem.rsplit(['-', '_', '.']).next().unwrap_or_default();
    tail.len() >= 8 && tail.len() < stem.len() && tail.bytes().all(|b| b.is_ascii_hexdigit())
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "txt" | "story" | "rs" => "text/plain; charset=utf-8",
        "webmanifest" => "application/manifest+json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<EmbeddedFile> {
        None
    }

    #[test]
    fn without_a_page_the_answer_says_how_to_build_it() {
        for path in ["/", "/book/"] {
            let response = answer(path, &HeaderMap::new(), none);
            assert_eq!(response.status(), StatusCode::NOT_FOUND);
            assert_eq!(
                response.headers()[header::CONTENT_TYPE],
                "text/html; charset=utf-8"
            );
            assert!(
                response.headers()[header::CONTENT_SECURITY_POLICY]
                    .to_str()
                    .is_ok_and(|policy| policy.contains("script-src 'self' 'wasm-unsafe-eval'"))
            );
        }
        assert_eq!(
            answer("/book", &HeaderMap::new(), none).headers()[header::LOCATION],
            "/book/"
        );
    }

    #[test]
    fn the_listed_inline_scripts_are_allowed_and_no_inline_style() {
        let policy = security_policy("'sha256-one'\n'sha256-two'\n");
        let policy = policy.to_str().unwrap();
        let allowed = "script-src 'self' 'wasm-unsafe-eval' 'sha256-one' 'sha256-two'; style-src 'self';";
        assert!(policy.contains(allowed), "{policy}");
    }

    #[test]
    fn names_with_a_hash_are_kept_for_ever() {
        assert!(is_hashed("lab/highwater-web-0123456789abcdef.wasm"));
        assert!(is_hashed("book/css/general-deadbeef.css"));
        assert!(!is_hashed("lab/index.html"));
        assert!(!is_hashed("deadbeef.css"));
        assert_eq!(content_type("lab/x-1.wasm"), "application/wasm");
    }
}
