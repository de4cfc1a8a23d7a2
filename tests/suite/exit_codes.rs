//! One table of exit codes over all commands: a cause has its code whichever command meets it.

use futures_util::future::join_all;
use tidegate_tests::{HostConfig, Output, TestEnv, secure_env, test_env};

/// Every command that works on the database; `C` stands for the consumer's name, `T` for its topic.
const COMMANDS: [&str; 22] = [
    "run",
    "run --migrate",
    "migrate",
    "check --database",
    "harden",
    "consumer list",
    "consumer pause C",
    "consumer resume C",
    "dlt list",
    "dlt show abc",
    "dlt replay --consumer C",
    "dlt export",
    "dlt discard --consumer C --yes",
    "dlt publish --consumer C",
    "inbox show abc",
    "offsets show",
    "offsets adopt C",
    "offsets set C --topic T --partition 0 --to-offset 0",
    "tenant list",
    "tenant add acme",
    "tenant disable acme",
    "tenant enable acme",
];

/// Those that need no schema of this version.
const WITHOUT_SCHEMA: [&str; 3] = ["migrate", "run --migrate", "harden"];

/// A test's world with a configuration of one consumer that has tenants.
async fn config(env: &TestEnv) -> HostConfig {
    let consumer = env.consumer(&env.unique("t"), "credit-rust").await;
    let consumer = consumer.raw("[consumer.tenants]\nfrom = \"header:tenant\"\n");
    env.config().consumer(consumer)
}

/// What each command says; those that `skip` names are left out.
async fn all(env: &TestEnv, config: &HostConfig, skip: &[&str]) -> Vec<(&'static str, Output)> {
    let (consumer, topic) = (env.unique("c"), env.unique("t"));
    let wanted = COMMANDS
        .into_iter()
        .filter(|command| !skip.contains(command));
    let ran = wanted.map(async |command| {
        let args = command.split(' ').map(|word| match word {
            "C" => consumer.as_str(),
            "T" => topic.as_str(),
            word => word,
        });
        let args: Vec<&str> = args.collect();
        (command, env.cli(&args, config).await)
    });
    join_all(ran).await
}

/// All of them end so, with these words somewhere.
fn end(ran: &[(&str, Output)], code: i32, words: &str) {
    for (command, said) in ran {
        let text = format!("{}{}", said.stdout, said.stderr);
        assert_eq!(said.code, code, "{command}, {words}: {text}");
        assert!(text.contains(words), "{command}, {words}: {text}");
        assert!(!text.contains("geheim"), "{command}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_cannot_be_read_is_2_everywhere() {
    let env = test_env("exit-config").await;
    let config = config(&env).await;
    let foreign = config
        .clone()
        .postgres("postgresql://app:geheim@localhost/shop?pgbouncer=true");
    let ran = all(&env, &foreign, &[]).await;
    end(&ran, 2, "the parameter pgbouncer, ");
    for (command, said) in &ran {
        assert!(
            !said.stderr.contains("password"),
            "{command}: {}",
            said.stderr
        );
    }
    let at_sign = config
        .clone()
        .postgres("postgresql://app:ge@heim@localhost/shop");
    end(&all(&env, &at_sign, &[]).await, 2, "percent-encoded");
    let unknown = config.set("postgres", "max_conections", 4);
    end(
        &all(&env, &unknown, &[]).await,
        2,
        "did you mean max_connections?",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_is_refused_is_2_everywhere_with_what_to_do_about_a_passwords_characters() {
    let (env, _) = secure_env("exit-login").await;
    let config = config(&env).await;
    let name = env.db.name();
    env.db
        .exec(&format!(
            "CREATE ROLE \"{name}\" LOGIN PASSWORD 'ge/hei#m%41?'"
        ))
        .await;
    let by = |login: &str| {
        let url = env.db.url().replace("postgres@", &format!("{login}@"));
        config.clone().postgres(&format!("{url}?sslmode=require"))
    };
    // `%41` is read as the letter that it encodes.
    let ran = all(&env, &by(&format!("{name}:ge/hei#m%41?")), &[]).await;
    end(
        &ran,
        2,
        "special characters of a password (such as / # % ? @) are percent-encoded",
    );
    let encoded = by(&format!("{name}:ge%2Fhei%23m%2541%3F"));
    let let_in = env.cli(&["check", "--database"], &encoded).await;
    assert!(let_in.stdout.contains("is not migrated"), "{let_in:?}");
    end(&all(&env, &by("nobody"), &[]).await, 2, "cannot connect");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_missing_or_whose_schema_is_not_this_binarys_is_2_everywhere() {
    let env = test_env("exit-schema").await;
    let config = config(&env).await;
    let none = config.clone().postgres(&format!("{}-none", env.db.url()));
    end(&all(&env, &none, &[]).await, 2, "does not exist");
    end(
        &all(&env, &config, &WITHOUT_SCHEMA).await,
        2,
        "is not migrated",
    );
    assert_eq!(env.cli(&["migrate"], &config).await.code, 0);
    let newer = "INSERT INTO tidegate.schema_history (version, name, applied_on, checksum)
                 SELECT 1000, 'future', applied_on, checksum FROM tidegate.schema_history LIMIT 1";
    env.db.exec(newer).await;
    end(
        &all(&env, &config, &["harden"]).await,
        2,
        "newer than this binary",
    );
}

/// `run` waits for it, as for any infrastructure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_be_reached_is_1_everywhere() {
    let env = test_env("exit-away").await;
    let config = config(&env).await;
    let away = config
        .clone()
        .postgres("postgresql://app:geheim@127.0.0.1:1/shop");
    let ran = all(&env, &away, &["run", "run --migrate"]).await;
    end(&ran, 1, "127.0.0.1:1");

    assert_eq!(env.cli(&["migrate"], &config).await.code, 0);
    let no_broker = config.bootstrap("127.0.0.1:1");
    let (consumer, topic) = (env.unique("c"), env.unique("t"));
    let set = [
        "offsets",
        "set",
        &consumer,
        "--topic",
        &topic,
        "--partition",
        "0",
        "--to-offset",
        "0",
    ];
    let commands = [
        &["check", "--kafka"][..],
        &["offsets", "show"],
        &["offsets", "adopt", &consumer],
        &set,
    ];
    let ran = commands.map(async |args: &[&str]| env.cli(args, &no_broker).await);
    for said in join_all(ran).await {
        assert_eq!(said.code, 1, "{said:?}");
    }
}

/// What names something of the configuration is usage, what names something of the database a failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_2_in_the_configuration_and_1_in_the_database() {
    let env = test_env("exit-none").await;
    let config = config(&env).await;
    assert_eq!(env.cli(&["migrate"], &config).await.code, 0);
    for (args, code) in [
        (&["dlt", "list"][..], 0),
        (&["inbox", "show", "abc"], 0),
        (&["dlt", "show", "abc"], 1),
        (&["dlt", "replay", "--wait", "7"], 1),
        (&["tenant", "disable", "nobody"], 1),
        (&["consumer", "pause", "stranger"], 2),
        (&["dlt", "list", "--consumer", "stranger"], 2),
        (&["harden", "--login", "stranger"], 2),
        (&["frobnicate"], 2),
        (&["dlt", "list", "--limit", "0"], 2),
    ] {
        let said = env.cli(args, &config).await;
        assert_eq!(said.code, code, "{args:?}: {said:?}");
    }
}

/// `check` ends as `run` would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_that_does_not_load_is_2_for_check_as_for_run() {
    let env = test_env("exit-module").await;
    std::fs::write(env.dir().join("bad.wasm"), "no module").unwrap();
    let consumer = env.consumer(&env.unique("t"), "credit-rust").await;
    let config = env.config().consumer(consumer.handler("bad.wasm"));
    let ran = env.cli(&["run", "--migrate"], &config).await;
    assert_eq!(ran.code, 2, "{ran:?}");
    for args in [&["check"][..], &["check", "--database"]] {
        let said = env.cli(args, &config).await;
        assert_eq!(said.code, 2, "{args:?}: {said:?}");
    }
}
