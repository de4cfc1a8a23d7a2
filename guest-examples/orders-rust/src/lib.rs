//! Keeps the latest status of each order: JSON
//! `{"event_id": text, "order_id": text, "status": text, "version": int, "ttl"?: seconds or ISO 8601}`.
//!
//! The host reads `event_id` and `ttl` (`id = "json:/event_id"`, `ttl_from = "json:/ttl"`, `ttl = "4h"`).
//! The table is `orders(order_id text PRIMARY KEY, status text, version bigint)`.

wit_bindgen::generate!({ path: "../../wit/handler@0.1.0", world: "handler" });

use exports::tidegate::handler::message_handler::{Event, Failure, Guest, Outcome};
use tidegate::handler::db::{self, Expectation, Value};
use tidegate::handler::types::Rejection;

/// Writes only forward: an older version that arrives late touches no row, which is fine (`any`).
const UPSERT: &str = "\
    INSERT INTO orders (order_id, status, version) VALUES ($1, $2, $3) \
    ON CONFLICT (order_id) DO UPDATE SET status = excluded.status, version = excluded.version \
    WHERE orders.version < excluded.version";

#[derive(serde::Deserialize)]
struct OrderChanged {
    order_id: String,
    status: String,
    version: i64,
}

struct Orders;

impl Guest for Orders {
    fn handle(event: Event) -> Result<Outcome, Failure> {
        let Some(value) = event.value else {
            return Ok(Outcome::Skip("a tombstone changes no order".into()));
        };
        let order: OrderChanged = serde_json::from_slice(&value).map_err(malformed)?;
        let params = [
            Value::Text(order.order_id),
            Value::Text(order.status),
            Value::Int64(order.version),
        ];
        db::stage(UPSERT, &params, Expectation::Any);
        Ok(Outcome::Done)
    }
}

fn malformed(error: serde_json::Error) -> Failure {
    let message = error.to_string();
    Failure::Reject(Rejection {
        code: "malformed".into(),
        message,
    })
}

export!(Orders);
