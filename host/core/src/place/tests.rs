//! What null means in each place: for an id and a tenant it is a letter, for a TTL it is "none".

use std::time::Duration;

use bytes::Bytes;

use crate::event_id::{IdFormat, IdRule};
use crate::letter::Cause;
use crate::record::{Header, Record};
use crate::tenant::TenantSource;
use crate::testing::{header, null_header, record};
use crate::ttl::{OutOfRange, TtlRule, TtlSource};

/// What a record without the thing is, beside one that has it as the empty text.
#[derive(Debug, PartialEq)]
enum Got {
    Letter(String),
    Default,
}

const NULL: Option<&str> = None;

fn with(headers: Vec<Header>, value: Option<&str>) -> Record {
    Record {
        headers,
        value: value.map(|text| Bytes::copy_from_slice(text.as_bytes())),
        ..record()
    }
}

fn letter(cause: Cause) -> Got {
    Got::Letter(cause.code)
}

fn id(rule: &[&str], record: &Record) -> Got {
    let parts: Vec<String> = rule.iter().map(|p| (*p).to_owned()).collect();
    let rule = IdRule::parse(&parts, IdFormat::Bytes).unwrap();
    letter(rule.extract(record).unwrap_err().into())
}

fn tenant(from: &str, record: &Record) -> Got {
    letter(
        TenantSource::parse(from)
            .unwrap()
            .of(record)
            .unwrap_err()
            .into(),
    )
}

fn ttl(from: TtlSource, record: &Record) -> Got {
    let hour = Duration::from_secs(3600);
    let rule = TtlRule {
        default: hour,
        from: Some(from),
        min: hour,
        max: hour,
        out_of_range: OutOfRange::Reject,
    };
    match rule.of(record) {
        Ok(ttl) => {
            assert_eq!(ttl, hour);
            Got::Default
        }
        Err(bad) => letter(bad.into()),
    }
}

/// Each row: absent, null, empty.
#[test]
fn null_is_no_ttl_and_neither_an_id_nor_a_tenant() {
    let bad = |code: &str| Got::Letter(code.to_owned());
    let headers = [vec![], vec![null_header("h")], vec![header("h", b"")]];
    let headers = headers.map(|headers| with(headers, Some("{}")));
    let values = ["{}", r#"{"h":null}"#, r#"{"h":""}"#].map(|value| with(vec![], Some(value)));

    assert_eq!(
        headers.each_ref().map(|r| id(&["header:h"], r)),
        ["bad-event-id"; 3].map(bad)
    );
    assert_eq!(
        values.each_ref().map(|r| id(&["json:/h"], r)),
        ["bad-event-id"; 3].map(bad)
    );
    assert_eq!(
        headers.each_ref().map(|r| id(&["position", "header:h"], r)),
        ["bad-event-id"; 3].map(bad)
    );
    assert_eq!(
        headers.each_ref().map(|r| tenant("header:h", r)),
        ["bad-tenant"; 3].map(bad)
    );
    assert_eq!(
        values.each_ref().map(|r| tenant("json:/h", r)),
        ["bad-tenant"; 3].map(bad)
    );

    let by_header = headers
        .each_ref()
        .map(|r| ttl(TtlSource::Header("h".into()), r));
    assert_eq!(by_header, [Got::Default, Got::Default, bad("bad-ttl")]);
    let by_value = values
        .each_ref()
        .map(|r| ttl(TtlSource::Json("/h".into()), r));
    assert_eq!(by_value, [Got::Default, Got::Default, bad("bad-ttl")]);
}

#[test]
fn a_null_key_and_a_tombstone_name_nothing_and_have_no_ttl() {
    let nothing = with(vec![], NULL);
    assert_eq!(id(&["key"], &nothing), Got::Letter("bad-event-id".into()));
    assert_eq!(
        id(&["json:/h"], &nothing),
        Got::Letter("bad-event-id".into())
    );
    assert_eq!(tenant("key::", &nothing), Got::Letter("bad-tenant".into()));
    assert_eq!(
        tenant("json:/h", &nothing),
        Got::Letter("bad-tenant".into())
    );
    assert_eq!(ttl(TtlSource::Json("/h".into()), &nothing), Got::Default);
}
