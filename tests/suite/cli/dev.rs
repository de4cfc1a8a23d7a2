//! `tidegate dev`: services of its own, and nothing left of them, however it ends.

use rdkafka::ClientConfig;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use tidegate_tests::{Consumer, Host, TestEnv, guest, secs, test_env, wait_for};
use tokio::net::TcpStream;
use tokio_postgres::{Client, NoTls};

use crate::scene::PATIENCE;

const ACCOUNTS: &str = "CREATE TABLE accounts (id bigint PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO accounts VALUES (1, 0), (2, 0);";

/// Where `dev` says its services are.
struct Places {
    kafka: String,
    postgres: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_runs_the_files_consumers_and_leaves_nothing_when_it_is_killed() {
    let env = test_env("dev-killed").await;
    let host = start(&env).await;
    let places = places(&host).await;
    let client = connect(&places).await;
    handles_records(&places, &client).await;
    let data = data_directory(&client).await;
    host.kill();
    assert_gone(&places, &data).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dev_takes_its_services_down_at_an_interrupt() {
    let env = test_env("dev-interrupt").await;
    let host = start(&env).await;
    let places = places(&host).await;
    let data = data_directory(&connect(&places).await).await;
    host.wait_log("position taken", PATIENCE).await;
    host.interrupt();
    assert_eq!(host.wait_exit(secs(40)).await, 0);
    assert_gone(&places, &data).await;
}

async fn start(env: &TestEnv) -> Host {
    let init = env.dir().join("init.sql");
    std::fs::write(&init, ACCOUNTS).unwrap();
    let consumer = Consumer::new("dev").topic("payments");
    let consumer = consumer.handler(guest("rejects").await);
    // The mock broker takes seconds to form a group: the harness's short sessions would end before.
    let config = env.config().librdkafka("session.timeout.ms", "20000");
    let config = config.consumer(consumer);
    let init = init.to_string_lossy().into_owned();
    env.host(config)
        .args(&["dev", "--init", &init])
        .start()
        .await
}

async fn places(host: &Host) -> Places {
    let after = |text: &str, word: &str| {
        let line = text.lines().find(|line| line.starts_with(word))?;
        Some(line.split_whitespace().next_back()?.to_owned())
    };
    wait_for(secs(120), "dev to say where its services are", async || {
        assert!(host.is_running(), "dev ended: {}", host.log());
        let text = host.stdout();
        Some(Places {
            kafka: after(&text, "Kafka")?,
            postgres: after(&text, "PostgreSQL")?,
        })
    })
    .await
}

async fn connect(places: &Places) -> Client {
    let (client, connection) = tokio_postgres::connect(&places.postgres, NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}

async fn handles_records(places: &Places, client: &Client) {
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", &places.kafka)
        .create()
        .unwrap();
    for (id, account) in [("e1", 1), ("e2", 2), ("e1", 1)] {
        let value = format!(r#"{{"amount_minor":5,"account_id":{account}}}"#);
        let header = Header {
            key: "event-id",
            value: Some(id),
        };
        let record = FutureRecord::<str, str>::to("payments").payload(&value);
        let record = record.headers(OwnedHeaders::new().insert(header));
        producer.send(record, secs(30)).await.unwrap();
    }
    wait_for(PATIENCE, "both events in the database, once each", async || {
        let sql = "SELECT coalesce(sum(done), 0)::bigint, coalesce(sum(republished), 0)::bigint FROM tidegate.progress";
        let row = client.query_one(sql, &[]).await.ok()?;
        ((row.get::<_, i64>(0), row.get::<_, i64>(1)) == (2, 1)).then_some(())
    })
    .await;
    let sql = "SELECT sum(balance)::bigint FROM accounts";
    let sum: i64 = client.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(sum, 10);
}

async fn data_directory(client: &Client) -> std::path::PathBuf {
    let row = client.query_one("SHOW data_directory", &[]).await.unwrap();
    row.get::<_, String>(0).into()
}

/// Neither port answers and the directory is away.
async fn assert_gone(places: &Places, data: &std::path::Path) {
    let after_at = places.postgres.rsplit('@').next().unwrap();
    let postgres = after_at.split('/').next().unwrap();
    wait_for(secs(20), "the services to be gone", async || {
        let kafka = TcpStream::connect(&places.kafka).await.is_ok();
        let postgres = TcpStream::connect(postgres).await.is_ok();
        (!kafka && !postgres && !data.exists()).then_some(())
    })
    .await;
}
