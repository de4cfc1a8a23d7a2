//! The handler's logic compiled in: what a record says, and the statements that it leads to.

use std::pin::Pin;

use anyhow::{Context, Result, ensure};
use futures_util::poll;
use serde::Deserialize;
use tokio_postgres::{Client, Error, Statement};

use crate::load::work::Work;

const CREDIT: &str = "UPDATE accounts SET balance = balance + $1 WHERE id = $2";

const UPSERT: &str = "\
    INSERT INTO orders (order_id, status, version) VALUES ($1, $2, $3) \
    ON CONFLICT (order_id) DO UPDATE SET status = excluded.status, version = excluded.version \
    WHERE orders.version < excluded.version";

const BALANCE: &str = "SELECT balance FROM accounts WHERE id = $1";

const STORE: &str = "UPDATE accounts SET balance = $1 WHERE id = $2";

#[derive(Deserialize)]
struct Payment {
    amount_minor: i64,
    account_id: i64,
}

#[derive(Deserialize)]
struct OrderChanged {
    order_id: String,
    status: String,
    version: i64,
}

/// A statement under way, which must touch one row.
pub(crate) type Staged<'a> = Pin<Box<dyn Future<Output = Result<u64, Error>> + Send + 'a>>;

/// The statements of one kind of work, prepared on one connection.
pub(crate) struct Effects {
    work: Work,
    write: Statement,
    read: Statement,
}

impl Effects {
    /// Prepares them.
    pub(crate) async fn prepare(client: &Client, work: Work) -> Result<Self> {
        let (write, read) = match work {
            Work::Credit => (CREDIT, CREDIT),
            Work::Upsert => (UPSERT, UPSERT),
            Work::ReadThenWrite => (STORE, BALANCE),
        };
        Ok(Self {
            work,
            write: client.prepare(write).await?,
            read: client.prepare(read).await?,
        })
    }

    /// Does what a record asks for; its write is under way afterwards.
    pub(crate) async fn apply<'a>(
        &'a self,
        client: &'a Client,
        value: &[u8],
    ) -> Result<Staged<'a>> {
        match self.work {
            Work::Credit => {
                let payment: Payment = serde_json::from_slice(value)?;
                let (amount, account) = (payment.amount_minor, payment.account_id);
                send(async move { client.execute(&self.write, &[&amount, &account]).await }).await
            }
            Work::Upsert => {
                let order: OrderChanged = serde_json::from_slice(value)?;
                let upsert = async move {
                    let OrderChanged {
                        order_id,
                        status,
                        version,
                    } = order;
                    client
                        .execute(&self.write, &[&order_id, &status, &version])
                        .await
                };
                send(upsert).await
            }
            Work::ReadThenWrite => {
                let payment: Payment = serde_json::from_slice(value)?;
                let account = payment.account_id;
                let row = client.query_opt(&self.read, &[&account]).await?;
                let balance: i64 = row.context("a payment to an unknown account")?.try_get(0)?;
                let balance = balance + payment.amount_minor;
                send(async move { client.execute(&self.write, &[&balance, &account]).await }).await
            }
        }
    }
}

/// Polls a statement once, which sends it.
pub(crate) async fn send<'a>(
    statement: impl Future<Output = Result<u64, Error>> + Send + 'a,
) -> Result<Staged<'a>> {
    let mut statement: Staged<'a> = Box::pin(statement);
    Ok(match poll!(&mut statement) {
        std::task::Poll::Pending => statement,
        std::task::Poll::Ready(rows) => Box::pin(std::future::ready(rows)),
    })
}

/// Waits for it.
pub(crate) async fn settle(statement: Staged<'_>) -> Result<()> {
    ensure!(
        statement.await? == 1,
        "a statement did not touch exactly one row"
    );
    Ok(())
}
