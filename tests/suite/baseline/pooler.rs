//! What stands in front of the server may refuse settings in a connection's first message, as poolers do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_tests::test_env;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// How PgBouncer says it.
const REFUSAL: &[u8] = b"SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0\0";

/// Passes on what asks for no options and refuses the rest, counting it. Lasts as long as the test.
async fn pooler(port: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().port();
    let refused = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&refused);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(pass(socket, port, Arc::clone(&counter)));
        }
    });
    (at, refused)
}

async fn pass(mut socket: TcpStream, port: u16, refused: Arc<AtomicUsize>) -> std::io::Result<()> {
    let length = socket.read_u32().await?;
    let mut rest = vec![0; usize::try_from(length).unwrap() - 4];
    socket.read_exact(&mut rest).await?;
    if rest.windows(9).any(|bytes| bytes == b"\0options\0") {
        refused.fetch_add(1, Ordering::Relaxed);
        let mut answer = vec![b'E'];
        answer.extend(u32::try_from(REFUSAL.len() + 4).unwrap().to_be_bytes());
        answer.extend(REFUSAL);
        return socket.write_all(&answer).await;
    }
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    server.write_u32(length).await?;
    server.write_all(&rest).await?;
    copy_bidirectional(&mut socket, &mut server).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_refuses_settings_at_the_start_is_asked_again_without_them() {
    let env = test_env("pooler").await;
    let (port, refused) = pooler(env.db.port()).await;
    let name = env.db.name();
    for setting in [
        "default_transaction_read_only = on",
        "synchronous_commit = off",
    ] {
        env.db
            .exec(&format!("ALTER DATABASE \"{name}\" SET {setting}"))
            .await;
    }
    let consumer = env.consumer(&env.unique("t"), "credit-rust").await;
    let config = env
        .config()
        .postgres(&env.db.url_at(port))
        .consumer(consumer);
    let migrated = env.cli(&["migrate"], &config).await;
    assert_eq!(migrated.code, 0, "{}", migrated.stderr);
    assert_eq!(refused.load(Ordering::Relaxed), 1, "once a process");
    let checked = env.cli(&["check", "--database"], &config).await;
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}
