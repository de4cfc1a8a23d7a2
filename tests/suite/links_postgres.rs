//! TLS to PostgreSQL: what fails says which of all it is, names the setting, and leaks nothing.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use tidegate_tests::{Output, Server, TestEnv, secs, secure_env, secure_postgres};

use crate::links_whole::user;

/// What `check --database` says of a URL, and what it is not to say.
async fn check(env: &TestEnv, url: &str) -> Output {
    let topic = env.unique("t");
    let config = env.config().postgres(url);
    let config = config.consumer(env.consumer(&topic, "credit-rust").await);
    env.cli(&["check", "--database"], &config).await
}

async fn assert_refused(env: &TestEnv, url: &str, words: &[&str]) {
    let output = check(env, url).await;
    assert_eq!(output.code, 2, "{url}: {}{}", output.stdout, output.stderr);
    let problems = output
        .stdout
        .lines()
        .filter(|line| line.starts_with("problem"));
    let problems = problems.collect::<Vec<_>>().join("\n");
    for word in words {
        assert!(problems.contains(word), "{word:?} is not in: {problems}");
    }
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(!all.contains("geheim"), "{all}");
}

/// The URL with these parameters, by another host name and port.
fn by(env: &TestEnv, host: &str, query: &str) -> String {
    let url = env.db.url().replace("postgres@", "postgres:geheim@");
    format!("{}?{query}", url.replace("127.0.0.1", host))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_refusal_says_what_it_is() {
    let (env, secure) = secure_env("refusals").await;
    let (ca, other) = (secure.ca.display(), secure.other_ca.display());
    let full = |file: &dyn std::fmt::Display| format!("sslmode=verify-full&sslrootcert={file}");
    let ip = "127.0.0.1";

    let other_ca = [
        "TLS with 127.0.0.1:",
        "signed by nobody in",
        "other.pem",
        "sslrootcert",
    ];
    assert_refused(&env, &by(&env, ip, &full(&other)), &other_ca).await;
    let public = by(&env, ip, "sslmode=verify-full");
    assert_refused(
        &env,
        &public,
        &["signed by nobody in the system's certificates"],
    )
    .await;

    let wrong = format!("{}&hostaddr=127.0.0.1", full(&ca));
    let wrong = by(&env, "db.invalid", &wrong);
    let words = [
        "is not for \"db.invalid\"",
        "it is for 127.0.0.1, localhost",
        "hostaddr",
    ];
    let words = [words[0], words[2]];
    assert_refused(&env, &wrong, &words).await;

    let (name, url) = user(&env, "Richtig-7").await;
    let wrong = url.replace(&format!("{name}@"), &format!("{name}:geheim@"));
    let words = ["cannot connect", "28P01", "postgres.password_file"];
    assert_refused(&env, &format!("{wrong}?{}", full(&ca)), &words).await;
    // Nobody but the harness's own user gets in without TLS.
    assert_refused(
        &env,
        &format!("{wrong}?sslmode=disable"),
        &["28000", "pg_hba.conf"],
    )
    .await;

    let broken = env.dir().join("broken.pem");
    std::fs::write(&broken, "geheim").unwrap();
    let words = ["sslrootcert: ", "broken.pem holds no certificate"];
    assert_refused(&env, &by(&env, ip, &full(&broken.display())), &words).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_count_for_verify_full_alone_and_chains_not_for_require() {
    let (env, secure) = secure_env("modes").await;
    let (ca, other) = (secure.ca.display(), secure.other_ca.display());
    let migrate = async |query: String| {
        let url = by(&env, "db.invalid", &format!("hostaddr=127.0.0.1&{query}"));
        let topic = env.unique("t");
        let config = env.config().postgres(&url);
        let config = config.consumer(env.consumer(&topic, "credit-rust").await);
        env.cli(&["migrate"], &config).await
    };
    for (query, code) in [
        (format!("sslmode=verify-ca&sslrootcert={ca}"), 0),
        (format!("sslmode=verify-ca&sslrootcert={other}"), 2),
        (format!("sslmode=require&sslrootcert={ca}"), 0),
        (format!("sslmode=require&sslrootcert={other}"), 2),
        ("sslmode=require".to_owned(), 0),
        ("sslmode=prefer".to_owned(), 0),
        (format!("sslmode=verify-full&sslrootcert={ca}"), 2),
    ] {
        let output = migrate(query.clone()).await;
        assert_eq!(output.code, code, "{query}: {}", output.stderr);
    }
    let warned = check(&env, &by(&env, "127.0.0.1", "sslmode=require")).await;
    let warning = "sslmode=require encrypts, but nobody checks who answers";
    assert!(warned.stdout.contains(warning), "{}", warned.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls_is_refused_unless_preferred() {
    let env = tidegate_tests::test_env("no-tls").await;
    let words = ["offers no TLS", "ssl = on"];
    assert_refused(&env, &by(&env, "127.0.0.1", "sslmode=verify-full"), &words).await;
    assert_refused(&env, &by(&env, "127.0.0.1", "sslmode=require"), &words).await;
    let preferred = check(&env, &by(&env, "127.0.0.1", "sslmode=prefer")).await;
    assert!(
        preferred.stdout.contains("is not migrated"),
        "{}",
        preferred.stdout
    );

    let config = env
        .config()
        .postgres(&by(&env, "127.0.0.1", "sslmode=require"))
        .consumer(env.consumer(&env.unique("t"), "credit-rust").await);
    let host = env.host(config).start().await;
    assert_eq!(host.wait_exit(secs(30)).await, 2, "{}", host.log());
    assert!(host.log().contains("offers no TLS"), "{}", host.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_is_named() {
    let (env, secure) = secure_env("expired").await;
    let own = secure.authority.sign_expired("postgres", &["127.0.0.1"]);
    let spec = secure_postgres(&env.unique("pg"), &secure.authority, &own);
    let server = Server::start(spec).await;
    let url = env
        .db
        .url_at(server.port())
        .replace("postgres@", "postgres:geheim@");
    let url = format!(
        "{url}?sslmode=verify-full&sslrootcert={}",
        secure.ca.display()
    );
    assert_refused(&env, &url, &["certificate has expired", "clock"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_certificate_lets_in() {
    let (env, secure) = secure_env("certified").await;
    let sql = "DO $$ BEGIN CREATE ROLE certified LOGIN SUPERUSER; EXCEPTION WHEN duplicate_object THEN END $$";
    env.db.exec(sql).await;
    let put = |name: &str, text: &str| std::fs::write(env.dir().join(name), text).unwrap();
    let own = secure.authority.sign("certified", &[]);
    let foreign = secure.authority.sign("someone", &[]);
    put("me.pem", &own.certificate);
    put("me.key", &own.key);
    put("other.key", &foreign.key);
    put("other.pem", &foreign.certificate);
    let url = |own: &str| {
        let url = env.db.url().replace("postgres@", "certified@");
        format!(
            "{url}?sslmode=verify-full&sslrootcert={}{own}",
            secure.ca.display()
        )
    };
    let got_in = check(&env, &url("&sslcert=me.pem&sslkey=me.key")).await;
    assert!(
        got_in.stdout.contains("is not migrated"),
        "{}",
        got_in.stdout
    );
    assert_refused(&env, &url(""), &["28000", "certificate"]).await;
    let someone = url("&sslcert=other.pem&sslkey=other.key");
    assert_refused(&env, &someone, &["28000", "pg_hba.conf"]).await;
    let words = ["sslkey: ", "other.key is not the key of sslcert"];
    assert_refused(&env, &url("&sslcert=me.pem&sslkey=other.key"), &words).await;
}

/// Something that answers the request for TLS with these bytes, and then says nothing more.
async fn answering(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 8];
            if socket.read_exact(&mut request).await.is_ok() {
                socket.write_all(bytes).await.ok();
            }
            held.push(socket);
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_answers_otherwise_is_not_believed_or_waited_for() {
    let (env, secure) = secure_env("answers").await;
    // What passes by waiting is a failure, what does not is for somebody to put right.
    let answers: [(&[u8], &str, i32); 4] = [
        (b"S", "no answer within postgres.connect_timeout", 1),
        (b"HTTP/1.1 400 Bad Request", "no PostgreSQL server", 2),
        (b"E", "answered with an error", 1),
        // In plain text, as somebody in between would: "you are logged in".
        (
            b"SR\0\0\0\x08\0\0\0\0Z\0\0\0\x05I",
            "TLS with 127.0.0.1:",
            2,
        ),
    ];
    for (bytes, words, code) in answers {
        let query = format!("sslmode=verify-full&sslrootcert={}", secure.ca.display());
        let url = format!(
            "postgresql://a:geheim@127.0.0.1:{}/b?{query}",
            answering(bytes).await
        );
        let config = env
            .config()
            .postgres(&url)
            .set("postgres", "connect_timeout", "1s");
        let config = config.consumer(env.consumer(&env.unique("t"), "credit-rust").await);
        let output = env.cli(&["check", "--database"], &config).await;
        assert_eq!(output.code, code, "{}", output.stdout);
        assert!(
            output.stdout.contains(words),
            "{words} is not in {}",
            output.stdout
        );
        assert!(!output.stdout.contains("geheim"), "{}", output.stdout);
    }
}
