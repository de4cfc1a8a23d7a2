//! One consumer's guests compute beside another's: both have their turns.

use tidegate_tests::{Rec, wait_for};

use crate::scene::{PATIENCE, Scene, pay};

const PARTITIONS: i32 = 64;

/// A record that computes for about 200 ms.
fn spins(n: i64) -> Rec {
    let value = serde_json::json!({ "amount_minor": 0, "account_id": 1, "spin_ms": 200 });
    let partition = i32::try_from(n).unwrap() % PARTITIONS;
    Rec::new(value.to_string())
        .to(partition)
        .event_id(&format!("x{n}"))
}

/// Sixty-four partitions hold every connection that they may and every core; each of the other's records needs a
/// connection and a core, one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_beside_one_that_computes_in_sixty_four_partitions_has_its_turns() {
    let scene = Scene::new("fair", 1, 20).await;
    let spinning = scene.env.topic("spin", PARTITIONS).await;
    let records = (0..i64::from(PARTITIONS) * 6).map(spins).collect();
    scene.env.kafka.produce(&spinning, records).await;
    let x = scene.env.unique("x");
    let spins = scene.env.consumer(&spinning, "slow").await;
    let spins = spins.set("name", x.as_str()).group(&scene.env.unique("gx"));
    let healthy = scene.env.consumer(&scene.topic, "credit-rust").await;
    let config = scene.env.config().consumer(spins).consumer(healthy);
    let host = scene.env.host(config).start().await;
    scene.produce(vec![pay(1, "first", "")]).await;
    wait_for(PATIENCE, "both at work", async || {
        let both = scene.counts().await.done == 1 && scene.counts_of(&x).await.done > 0;
        both.then_some(())
    })
    .await;
    let before = scene.counts_of(&x).await.done;
    for n in 2..=11 {
        scene.produce(vec![pay(n, &format!("e{n}"), "")]).await;
        wait_for(PATIENCE, "the record", async || {
            (scene.counts().await.done == n).then_some(())
        })
        .await;
    }
    let meanwhile = scene.counts_of(&x).await.done - before;
    // A turn behind every partition's batch would be all of them for the first record alone.
    assert!(
        meanwhile <= 160,
        "{meanwhile} of the other's records meanwhile"
    );
    host.kill();
}
