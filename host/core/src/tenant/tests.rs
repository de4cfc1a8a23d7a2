//! Names, places, and the order in which a batch's records run.

use proptest::prelude::*;

use super::*;
use crate::record::Record;
use crate::testing::{header, record};

fn of(source: &str, record: &Record) -> Result<String, BadTenant> {
    let source = TenantSource::parse(source).expect("a source");
    source.of(record).map(|name| name.to_string())
}

#[test]
fn names_are_few_bytes_of_few_kinds() {
    for good in ["a", "7", "acme-eu.1_x", &"x".repeat(63)] {
        assert!(TenantName::new(good).is_some(), "{good}");
    }
    for bad in [
        "",
        ".a",
        "-a",
        "_a",
        "a/b",
        "a b",
        "ä",
        "a\0",
        &"x".repeat(64),
    ] {
        assert!(TenantName::new(bad).is_none(), "{bad}");
    }
}

#[test]
fn a_header_names_a_tenant_once() {
    let with = |headers| Record {
        headers,
        ..record()
    };
    let one = with(vec![header("tenant", b"acme"), header("tenant", b"acme")]);
    assert_eq!(of("header:tenant", &one), Ok("acme".into()));
    let two = with(vec![
        header("tenant", b"acme"),
        header("tenant", b"umbrella"),
    ]);
    assert!(matches!(
        of("header:tenant", &two),
        Err(BadTenant::Nowhere(_))
    ));
    let none = with(vec![]);
    assert!(matches!(
        of("header:tenant", &none),
        Err(BadTenant::Nowhere(_))
    ));
    let odd = with(vec![header("tenant", b"a/b")]);
    assert_eq!(of("header:tenant", &odd), Err(BadTenant::NoName));
    assert!(
        !of("header:tenant", &odd)
            .unwrap_err()
            .to_string()
            .contains("a/b")
    );
}

#[test]
fn value_topic_and_key_name_tenants() {
    let mut this = Record {
        key: Some("acme/4711/1".into()),
        value: Some(r#"{"of":{"tenant":"acme"}}"#.into()),
        ..record()
    };
    this.source.topic = "acme.payments".into();
    for source in ["json:/of/tenant", "topic:{tenant}.payments", "key:/"] {
        assert_eq!(of(source, &this), Ok("acme".into()), "{source}");
    }
    for source in ["json:/tenant", "topic:{tenant}.orders", "key:#"] {
        assert!(
            matches!(of(source, &this), Err(BadTenant::Nowhere(_))),
            "{source}"
        );
    }
    this.key = Some("/4711".into());
    assert_eq!(of("key:/", &this), Err(BadTenant::NoName));
    assert_eq!(of("topic:{tenant}", &this), Ok("acme.payments".into()));
}

#[test]
fn spellings_are_checked() {
    for bad in [
        "",
        "tenant",
        "header:",
        "key:",
        "json:a",
        "topic:a",
        "topic:{tenant}{tenant}",
    ] {
        assert!(TenantSource::parse(bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn groups_keep_each_tenants_order(whose in prop::collection::vec(0_u8..4, 0..40)) {
        let order = grouped(&whose);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..whose.len()).collect::<Vec<_>>());
        for pair in order.windows(2) {
            prop_assert!(whose[pair[0]] != whose[pair[1]] || pair[0] < pair[1]);
        }
        // Each group stands together, and comes in the order of its first record.
        let mut seen = order.iter().map(|at| whose[*at]).collect::<Vec<_>>();
        seen.dedup();
        let mut firsts = Vec::new();
        for one in &whose {
            if !firsts.contains(one) {
                firsts.push(*one);
            }
        }
        prop_assert_eq!(seen, firsts);
    }

    #[test]
    fn no_two_tenants_share_a_scope(a in "[a-z]{1,3}", b in "[a-z]{1,3}", s in "[a-z/]{0,3}", t in "[a-z/]{0,3}") {
        let (one, other) = (TenantName::new(&a).unwrap(), TenantName::new(&b).unwrap());
        prop_assert_eq!(one.scope(&s) == other.scope(&t), a == b && s == t);
    }
}
