//! A broker and a PostgreSQL that speak TLS and ask for passwords, started by the first test that needs them.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::broker::{Broker, BrokerSpec};
use crate::certs::{Authority, Signed};
use crate::env::{TestEnv, test_env_on};
use crate::kafka::Kafka;
use crate::paths;
use crate::postgres::ServerSpec;
use crate::server::Server;

/// The password of the broker's users `app`, who may do everything, and `guest`, who may do nothing.
pub const KAFKA_PASSWORD: &str = "Kafkageheim-7";

/// The hosts that the servers' certificates are for.
const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

/// Who gets into PostgreSQL: the harness's own user; whoever has a certificate, as `certified`; others by password.
const HBA: &str = "
host    all postgres  127.0.0.1/32 trust
hostssl all certified 127.0.0.1/32 cert
hostssl all all       127.0.0.1/32 scram-sha-256
";

/// The secured servers.
pub struct Secure {
    /// The authority that signed their certificates.
    pub authority: Authority,
    /// Its certificate's file.
    pub ca: PathBuf,
    /// The file of another authority.
    pub other_ca: PathBuf,
    /// PostgreSQL: superuser `postgres` without a password, as for all tests; with `ssl = on`.
    pub postgres: Server,
    /// The broker's plain listener, for the tests' own clients.
    pub kafka: String,
    /// Its listener with TLS and no passwords.
    pub tls: String,
    /// Its listener with TLS that takes SCRAM-SHA-256 and SCRAM-SHA-512.
    pub scram: String,
    /// Its listener with TLS that takes PLAIN.
    pub plain: String,
}

/// A test's world on the secured servers, and those.
pub async fn secure_env(name: &str) -> (TestEnv, &'static Secure) {
    let secure = match tokio::task::spawn_blocking(secure).await {
        Ok(secure) => secure,
        Err(e) => panic!("the secured servers did not start: {e}"),
    };
    let mut env = test_env_on(name, Some(&secure.postgres), None).await;
    env.kafka = Kafka::new(&secure.kafka);
    (env, secure)
}

fn secure() -> &'static Secure {
    static SECURE: OnceLock<Result<Secure, String>> = OnceLock::new();
    match SECURE.get_or_init(start) {
        Ok(secure) => secure,
        Err(e) => panic!("the secured servers did not start: {e}"),
    }
}

fn start() -> Result<Secure, String> {
    let authority = Authority::new("Tests");
    let dir = paths::run_dir().join("secure");
    paths::make_dir(&dir);
    let (ca, other_ca) = (dir.join("ca.pem"), dir.join("other.pem"));
    paths::write(&ca, &authority.certificate);
    paths::write(&other_ca, &Authority::new("Others").certificate);
    let broker = Broker::start_as(&broker(&authority))?;
    let postgres = Server::start_blocking(&secure_postgres("secure-postgres", &authority, &{
        authority.sign("postgres", &HOSTS)
    }))?;
    let at = |port: &u16| format!("127.0.0.1:{port}");
    let [tls, scram, plain] = &broker.more[..] else {
        return Err("the broker has not the listeners that were asked for".to_owned());
    };
    Ok(Secure {
        kafka: at(&broker.port),
        tls: at(tls),
        scram: at(scram),
        plain: at(plain),
        authority,
        ca,
        other_ca,
        postgres,
    })
}

/// A PostgreSQL with this certificate.
pub fn secure_postgres(name: &str, authority: &Authority, own: &Signed) -> ServerSpec {
    let settings = [
        "ssl=on",
        "ssl_cert_file=../server.crt",
        "ssl_key_file=../server.key",
        "ssl_ca_file=../ca.crt",
    ];
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    ServerSpec {
        name: name.to_owned(),
        settings: settings.map(str::to_owned).to_vec(),
        files: vec![
            file("server.crt", &own.certificate),
            file("server.key", &own.key),
            file("ca.crt", &authority.certificate),
        ],
        hba: Some(HBA.to_owned()),
        ..ServerSpec::default()
    }
}

fn broker(authority: &Authority) -> BrokerSpec {
    let own = authority.sign("kafka", &HOSTS);
    let dir = paths::run_dir().join("secure");
    let keystore = dir.join("broker.pem");
    let both = format!("{}{}{}", own.key, own.certificate, authority.certificate);
    paths::write(&keystore, &both);
    let users = ["app", "guest"];
    let scram = users.iter().flat_map(|user| {
        ["SCRAM-SHA-256", "SCRAM-SHA-512"]
            .map(|kind| format!("{kind}=[name={user},password={KAFKA_PASSWORD}]"))
    });
    let listeners = [("TLS", "SSL"), ("SCRAM", "SASL_SSL"), ("PLAIN", "SASL_SSL")];
    BrokerSpec {
        cluster: None,
        name: "secure-kafka".to_owned(),
        fronts: Vec::new(),
        listeners: listeners.map(|(name, kind)| (name.to_owned(), kind.to_owned())).to_vec(),
        scram: scram.collect(),
        settings: format!(
            "ssl.keystore.type=PEM
ssl.keystore.location={}
listener.name.scram.sasl.enabled.mechanisms=SCRAM-SHA-256,SCRAM-SHA-512
listener.name.scram.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.scram.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.plain.sasl.enabled.mechanisms=PLAIN
listener.name.plain.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_app=\"{KAFKA_PASSWORD}\";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:app
",
            keystore.display()
        ),
    }
}
