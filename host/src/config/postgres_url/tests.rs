//! What is read out of a URL, and that no password is ever read as something that is shown.

use std::path::Path;

use proptest::prelude::*;

use super::*;

fn parse(url: &str) -> Result<PostgresUrl, UrlError> {
    PostgresUrl::parse(url, Path::new("/etc/tg"))
}

fn tls_of(url: &str) -> Option<Tls> {
    parse(url).unwrap().tls
}

fn file() -> Roots {
    Roots::File("/etc/tg/ca.pem".into())
}

#[test]
fn modes_mean_what_libpq_means_by_them() {
    let at = |query: &str| tls_of(&format!("postgresql://app@db/shop?{query}"));
    assert_eq!(at("sslmode=disable"), None);
    assert_eq!(at("sslmode=prefer"), tls(false, Verify::Nothing));
    assert_eq!(at("sslmode=require"), tls(true, Verify::Nothing));
    let with = |mode: &str| {
        at(&format!(
            "sslrootcert=ca.pem&sslmode={mode}&connect_timeout=3"
        ))
    };
    assert_eq!(with("require"), tls(true, Verify::Chain(file())));
    assert_eq!(with("verify-ca"), tls(true, Verify::Chain(file())));
    assert_eq!(with("verify-full"), tls(true, Verify::Name(file())));
    let system = tls(true, Verify::Name(Roots::System));
    assert_eq!(at("sslmode=verify-full"), system);
    assert_eq!(at("sslrootcert=system"), system);
    let text = "host=db user=app sslmode = verify-full sslrootcert='/my ca.pem' dbname=shop";
    let roots = Roots::File("/my ca.pem".into());
    assert_eq!(tls_of(text), tls(true, Verify::Name(roots)));
    let identity = at("sslmode=require&sslcert=me.pem&sslkey=%2Fme.key")
        .unwrap()
        .identity;
    let identity = identity.unwrap();
    assert_eq!(identity.certificate, Path::new("/etc/tg/me.pem"));
    assert_eq!(identity.key, Path::new("/me.key"));
}

#[test]
fn without_a_mode_only_this_machine_is_plain() {
    for local in [
        "postgresql://app@localhost/shop",
        "postgresql://app@127.0.0.1,[::1]:6432/shop",
        "postgresql://app@%2Frun%2Fpostgresql/shop",
        "host=/run/postgresql dbname=shop",
        "host=db hostaddr=127.0.0.1",
    ] {
        let url = parse(local).unwrap();
        assert_eq!((url.tls, url.warning), (None, None), "{local}");
    }
    let url = parse("postgresql://app@localhost,db/shop").unwrap();
    assert_eq!(url.tls, tls(false, Verify::Nothing));
    assert!(url.warning.is_some_and(|text| text.contains("verify-full")));
}

#[test]
fn what_would_protect_less_than_it_says_is_refused() {
    let refused = |query: &str| {
        parse(&format!("postgresql://app@db/shop?{query}"))
            .err()
            .unwrap()
    };
    assert_eq!(refused("sslmode=verify"), UNKNOWN_MODE);
    assert_eq!(refused("sslmode=allow"), UNKNOWN_MODE);
    assert_eq!(refused("sslmode=verify-ca"), NO_ROOT);
    assert_eq!(refused("sslrootcert=ca.pem"), NO_USE);
    assert_eq!(refused("sslrootcert=ca.pem&sslmode=prefer"), NO_USE);
    assert_eq!(refused("sslrootcert=system&sslmode=require"), WEAK_SYSTEM);
    assert_eq!(refused("sslmode=require&sslcert=me.pem"), HALF);
    assert_eq!(refused("sslmode=disable&sslcert=me.pem&sslkey=me.key"), OFF);
    assert_eq!(refused("sslmode=require&channel_binding=require"), BINDING);
    assert_eq!(refused("sslmode=require&sslnegotiation=direct"), DIRECT);
    let libpqs = UrlError::Parameter("sslcrl", LIBPQ_ONLY);
    assert_eq!(refused("sslmode=verify-full&sslcrl=crl.pem"), libpqs);
    // The driver would take a mode that is spelt like this, and connect without TLS.
    assert!(tls_of("postgresql://app@db/shop?ssl%6Dode=require").is_some());
    assert_eq!(parse("postgresql:///shop").err(), Some(NO_HOST));
}

#[test]
fn a_parameter_is_named_where_its_name_cannot_be_a_secret() {
    let refused = |url: &str| parse(url).err().unwrap().to_string();
    for (name, value) in [
        ("pgbouncer", "true"),
        ("connection_limit", "1"),
        ("schema", "public"),
        ("search_path", "app"),
        ("client_encoding", "utf8"),
        ("connect_timeout", "5s"),
        ("target_session_attrs", "best"),
    ] {
        for url in [
            format!("postgresql://app:geheim@db/shop?{name}={value}"),
            format!("host=db user=app password=geheim {name}={value}"),
        ] {
            let words = refused(&url);
            assert!(
                words.contains(&format!("the parameter {name}, ")),
                "{words}"
            );
            assert!(
                !words.contains("password") && !words.contains("geheim"),
                "{words}"
            );
        }
    }
    assert!(
        refused("postgresql://app:geheim@db/shop?pgbouncer=true").contains("pool_mode = session")
    );
    // A password that holds a raw ampersand.
    let words = refused("postgresql://db/shop?password=ge&heim=1");
    assert!(
        !words.contains("heim") && words.contains("percent-encoded"),
        "{words}"
    );
}

#[test]
fn a_password_is_left_out_for_people() {
    for (url, shown) in [
        (
            "postgresql://app:geheim@db/shop?sslmode=require",
            "postgresql://app@db/shop?sslmode=require",
        ),
        (
            "postgres://app@db/shop?password=geheim",
            "postgres://app@db/shop",
        ),
        (
            "host=db password='ge heim' user=app",
            "host='db' user='app'",
        ),
    ] {
        assert!(has_password(url));
        assert_eq!(without_password(url), shown);
    }
}

/// Everything that messages and `config show` name of a URL, and what is said when it cannot be read.
fn shown(url: &str) -> String {
    let named = match parse(url) {
        Err(error) => format!("{error} {error:?}"),
        Ok(read) => {
            let driver = &read.driver;
            let hosts = (
                driver.get_hosts(),
                driver.get_hostaddrs(),
                driver.get_ports(),
            );
            format!(
                "{hosts:?} {:?} {:?} {:?}",
                driver.get_dbname(),
                driver.get_user(),
                read.tls
            )
        }
    };
    format!("{named} {}", without_password(url))
}

proptest! {
    #[test]
    fn no_spelling_of_a_password_is_shown(
        before in "[a@:/?&=#% ,'\\[\\]\\\\]{0,6}",
        after in "[a@:/?&=#% ,'\\[\\]\\\\]{0,6}",
        query in "(\\?sslmode=(require|x)(&sslrootcert=a)?)?",
    ) {
        let url = format!("postgresql://app:{before}geheim{after}@db:5432/shop{query}");
        prop_assert!(!shown(&url).contains("geheim"), "{url} shows {}", shown(&url));
        let url = format!("postgresql://app@db/shop?password={}geheim", before.replace('&', ""));
        prop_assert!(!shown(&url).contains("geheim"), "{url} shows {}", shown(&url));
    }
}
