//! A database of a test's own.

use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};

use crate::proxy::Proxy;
use crate::services;

/// One database; dropped from the server when the test lets go of it, unless it is to be kept.
pub struct Db {
    name: String,
    port: u16,
    client: Client,
    kept: bool,
}

impl Db {
    pub(crate) async fn create(port: u16, name: &str, template: Option<&str>) -> Db {
        let server = connect(&url(port, "postgres")).await;
        let copy = template.map(|from| format!(" TEMPLATE \"{from}\" STRATEGY file_copy"));
        let made = server
            .batch_execute(&format!(
                "CREATE DATABASE \"{name}\"{}",
                copy.unwrap_or_default()
            ))
            .await;
        made.unwrap_or_else(|e| panic!("create database {name}: {}", text(&e)));
        Db {
            name: name.to_owned(),
            port,
            client: connect(&url(port, name)).await,
            kept: false,
        }
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL by another port, that of whatever stands in front of the server.
    pub fn url_at(&self, port: u16) -> String {
        url(port, &self.name)
    }

    /// The URL straight to the server.
    pub fn url(&self) -> String {
        url(self.port, &self.name)
    }

    /// The URL through a proxy.
    pub fn url_via(&self, proxy: &Proxy) -> String {
        self.url_at(proxy.port())
    }

    /// A new connection, straight to the server.
    pub async fn client(&self) -> Client {
        connect(&self.url()).await
    }

    /// Connects again, after the server was away.
    pub async fn reconnect(&mut self) {
        self.client = connect(&self.url()).await;
    }

    /// Lets go of it and leaves it on the server, for copies to be made; answers its name.
    pub fn keep(mut self) -> String {
        self.kept = true;
        self.name.clone()
    }

    /// Drops it from the server and waits until it is gone; dropping the value alone does not wait.
    pub async fn remove(self) {
        drop_database(self.port, &self.name).await;
    }

    /// Runs one or several statements; panics if one fails.
    pub async fn exec(&self, sql: &str) {
        let done = self.try_exec(sql).await;
        done.unwrap_or_else(|e| panic!("{}\nin: {sql}", text(&e)));
    }

    /// Runs one or several statements.
    pub async fn try_exec(&self, sql: &str) -> Result<(), Error> {
        self.client.batch_execute(sql).await
    }

    /// All rows of a query, every column as PostgreSQL's text; `None` is NULL.
    pub async fn query_text(&self, sql: &str) -> Vec<Vec<Option<String>>> {
        let messages = self.client.simple_query(sql).await;
        let messages = messages.unwrap_or_else(|e| panic!("{}\nin: {sql}", text(&e)));
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        rows.map(|row| {
            (0..row.len())
                .map(|i| row.get(i).map(str::to_owned))
                .collect()
        })
        .collect()
    }

    /// The first column of the first row as an integer; `None` if there is no row or it is NULL.
    pub async fn query_i64(&self, sql: &str) -> Option<i64> {
        let rows = self.query_text(sql).await;
        let value = rows.first()?.first()?.clone()?;
        let parsed = value.parse();
        Some(parsed.unwrap_or_else(|_| panic!("no integer: {value}\nfrom: {sql}")))
    }

    /// The first column of the first row as an integer; panics if there is none.
    pub async fn query_one_i64(&self, sql: &str) -> i64 {
        let value = self.query_i64(sql).await;
        value.unwrap_or_else(|| panic!("no row, or NULL\nfrom: {sql}"))
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let (port, name) = (self.port, self.name.clone());
        services::runtime().spawn(async move { drop_database(port, &name).await });
    }
}

/// Space is all that is at stake: the whole server goes at the end of the run.
async fn drop_database(port: u16, name: &str) {
    if let Ok((client, connection)) = tokio_postgres::connect(&url(port, "postgres"), NoTls).await {
        tokio::spawn(connection);
        let _dropped = client
            .batch_execute(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"))
            .await;
    }
}

fn url(port: u16, database: &str) -> String {
    format!("postgresql://postgres@127.0.0.1:{port}/{database}")
}

async fn connect(url: &str) -> Client {
    let connected = tokio_postgres::connect(url, NoTls).await;
    let (client, connection) = connected.unwrap_or_else(|e| panic!("{url}: {}", text(&e)));
    // It ends with the client, or with an error that the client's next call reports.
    tokio::spawn(connection);
    client
}

/// An error with the server's own words, which the client's display leaves out.
fn text(error: &Error) -> String {
    error.as_db_error().map_or_else(
        || error.to_string(),
        |db| format!("{} {}", db.code().code(), db.message()),
    )
}
