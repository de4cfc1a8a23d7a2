//! Reading a query's rows, within the guest's limits.

use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt;
use tidegate_core::limits::Limit;
use tidegate_core::sql::{Column, ResultSet, Value};
use tokio_postgres::{Client, Row, Statement};

use super::ResultLimits;
use crate::inbox::statements::Prepared;
use crate::inbox::value::from_sql::{Malformed, Raw, decode};
use crate::inbox::value::param::Param;
use crate::inbox::value::shape::{Shape, sql_name};

/// What the queries of one record have returned so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Returned {
    rows: usize,
    bytes: usize,
}

/// Why there is no result.
pub(super) enum RowsError {
    /// The driver's or the server's error.
    Driver(tokio_postgres::Error),
    /// With this result a record has more than it may.
    TooLarge(Limit, String),
    /// A value is not of its type's form; the column's name.
    Malformed(String),
}

/// Runs a prepared query of a record that has had `returned`. Rows beyond the limits are read off the wire and dropped: the answer has to end before
/// the connection can be used again.
pub(super) async fn read(
    client: Arc<Client>,
    prepared: Prepared,
    params: Vec<Param>,
    limits: ResultLimits,
    mut returned: Returned,
) -> Result<(ResultSet, Returned), RowsError> {
    let statement = prepared.as_text.as_ref().unwrap_or(&prepared.plain);
    let mut stream = pin!(
        client
            .query_raw(statement, params)
            .await
            .map_err(RowsError::Driver)?
    );
    let (mut rows, mut error) = (Vec::new(), None);
    while let Some(row) = stream.try_next().await.map_err(RowsError::Driver)? {
        if error.is_some() {
            continue;
        }
        returned.rows += 1;
        returned.bytes = returned.bytes.saturating_add(row.raw_size_bytes());
        match within(limits, returned).and_then(|()| values(&prepared.plain, &row)) {
            Ok(values) => rows.push(values),
            Err(e) => error = Some(e),
        }
        if error.is_some() {
            rows = Vec::new();
        }
    }
    match error {
        Some(error) => Err(error),
        None => {
            let columns = columns(&prepared.plain);
            Ok((ResultSet { columns, rows }, returned))
        }
    }
}

fn within(limits: ResultLimits, returned: Returned) -> Result<(), RowsError> {
    if returned.rows > limits.rows {
        let message = format!("the record's results have more than {} rows", limits.rows);
        return Err(RowsError::TooLarge(Limit::ResultRows, message));
    }
    if returned.bytes > limits.bytes {
        let message = format!("the record's results have more than {} bytes", limits.bytes);
        return Err(RowsError::TooLarge(Limit::ResultBytes, message));
    }
    Ok(())
}

fn columns(statement: &Statement) -> Vec<Column> {
    let column = |c: &tokio_postgres::Column| Column {
        name: c.name().to_owned(),
        type_name: sql_name(c.type_()),
    };
    statement.columns().iter().map(column).collect()
}

/// One row's values, by the types of the statement as the guest wrote it.
fn values(statement: &Statement, row: &Row) -> Result<Vec<Value>, RowsError> {
    let columns = statement.columns().iter().enumerate();
    columns
        .map(|(i, column)| {
            value(column.type_(), i, row)
                .map_err(|Malformed| RowsError::Malformed(column.name().to_owned()))
        })
        .collect()
}

fn value(ty: &tokio_postgres::types::Type, index: usize, row: &Row) -> Result<Value, Malformed> {
    let raw = row
        .try_get::<_, Option<Raw<'_>>>(index)
        .map_err(|_| Malformed)?;
    match raw {
        None => Ok(Value::Null),
        Some(Raw(raw)) if Shape::of(ty).comes_as_text() => {
            let text = crate::inbox::value::from_sql::utf8(raw)?;
            Ok(Value::Other {
                type_name: sql_name(ty),
                text,
            })
        }
        Some(Raw(raw)) => decode(ty, raw),
    }
}

/// The statement's text wrapped so that the columns without a value of their own come as text; none where every
/// column has one.
pub(super) fn wrapped(sql: &str, statement: &Statement) -> Option<String> {
    let is_other = |c: &tokio_postgres::Column| Shape::of(c.type_()).comes_as_text();
    let columns = statement.columns();
    if !columns.iter().any(is_other) {
        return None;
    }
    let names = (1..=columns.len())
        .map(|i| format!("c{i}"))
        .collect::<Vec<_>>();
    let outputs = columns
        .iter()
        .zip(&names)
        .map(|(column, name)| match is_other(column) {
            true => format!("{name}::text"),
            false => name.clone(),
        });
    let outputs = outputs.collect::<Vec<_>>().join(", ");
    let body = sql.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == ';');
    // The line's end closes a comment that the statement may end in.
    Some(format!(
        "WITH tidegate_q ({}) AS (\n{body}\n) SELECT {outputs} FROM tidegate_q",
        names.join(", ")
    ))
}
