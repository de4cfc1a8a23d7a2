//! Tenants: each record runs its own tenant's module, and what one tenant does holds up nobody else's records.

mod apart;
mod braked;
mod commands;
mod named;
mod roles;
mod slow;

use tidegate_tests::{Consumer, Host, HostConfig, Rec, wait_eq};

use crate::scene::{PATIENCE, Scene, pay};

/// A consumer with tenants of these names, which records name in a header.
pub(crate) async fn with_tenants(scene: &Scene, guest: &str, tenants: &[&str]) -> Consumer {
    let listed = tenants
        .iter()
        .map(|name| format!("[consumer.tenant.{name}]\n"))
        .collect::<String>();
    let toml = format!("[consumer.tenants]\nfrom = \"header:tenant\"\n{listed}");
    scene.consumer(guest).await.raw(&toml)
}

/// A record of a tenant.
pub(crate) fn of(tenant: &str, rec: Rec) -> Rec {
    rec.header("tenant", tenant)
}

/// A payment of a tenant: account, event id and what its guest is to do.
pub(crate) fn tenant_pay(tenant: &str, account: i64, id: &str, trick: &str) -> Rec {
    of(tenant, pay(account, id, trick))
}

/// A tenant's state in the database; `running` where it has no row.
pub(crate) async fn state(scene: &Scene, tenant: &str) -> String {
    let sql = format!(
        "SELECT coalesce(max(state), 'running') FROM tidegate.tenants
          WHERE consumer_name = '{}' AND tenant = '{tenant}'",
        scene.consumer
    );
    scene.env.db.query_text(&sql).await[0][0].clone().unwrap()
}

pub(crate) async fn wait_state(scene: &Scene, tenant: &str, expected: &str) {
    let expected = expected.to_owned();
    wait_eq(PATIENCE, "the tenant's state", expected, async || {
        state(scene, tenant).await
    })
    .await;
}

/// Tenant and code of each dead letter, by offset.
pub(crate) async fn letters(scene: &Scene) -> Vec<(i64, String, String)> {
    let sql = "SELECT \"offset\", coalesce(tenant, '-'), code FROM tidegate.dead_letters ORDER BY topic, partition, \"offset\"";
    let rows = scene.env.db.query_text(sql).await;
    let text = |cell: &Option<String>| cell.clone().unwrap();
    rows.iter()
        .map(|row| (text(&row[0]).parse().unwrap(), text(&row[1]), text(&row[2])))
        .collect()
}

/// Runs a command that must succeed; what it prints.
pub(crate) async fn command(scene: &Scene, config: &HostConfig, what: &[&str]) -> String {
    let said = scene.env.cli(what, config).await;
    assert_eq!(said.code, 0, "{said:?}");
    said.stdout
}

/// Starts a host of this configuration and waits until it consumes.
pub(crate) async fn started(scene: &Scene, config: &HostConfig) -> Host {
    let host = scene.env.host(config.clone()).start().await;
    host.wait_log("position taken", PATIENCE).await;
    host
}
