//! Parameters that fit, and those that do not.

use postgres_types::Type;
use tidegate_core::sql::Value;

use super::encode_all;

fn fault(ty: Type, value: Value) -> String {
    encode_all(&[ty], &[value]).expect_err("it does not fit")
}

fn fits(ty: Type, value: Value) -> bool {
    encode_all(&[ty], &[value]).is_ok()
}

#[test]
fn an_error_names_parameter_given_and_wanted_type() {
    let types = [Type::TEXT, Type::INT8];
    let values = [Value::Null, Value::Text("7".into())];
    let error = encode_all(&types, &values).expect_err("text is no bigint");
    assert_eq!(error, "parameter $2: given text, wanted bigint");
    assert_eq!(
        encode_all(&types, &[]).expect_err("none given"),
        "the statement has 2 parameters, 0 were given"
    );
}

#[test]
fn integers_are_range_checked() {
    assert!(fits(Type::INT2, Value::Int64(-32768)) && fits(Type::INT4, Value::Int64(2147483647)));
    assert_eq!(
        fault(Type::INT2, Value::Int64(32768)),
        "parameter $1: given int64, wanted smallint: out of range"
    );
    assert!(fits(Type::FLOAT8, Value::Int64(-(1 << 53))));
    assert!(!fits(Type::FLOAT8, Value::Int64((1 << 53) + 1)));
    assert!(!fits(Type::FLOAT8, Value::Int64(i64::MIN)));
    assert!(!fits(
        Type::INT4_ARRAY,
        Value::Int64Array(vec![None, Some(1 << 40)])
    ));
}

#[test]
fn floats_fit_or_are_refused() {
    assert!(
        fits(Type::FLOAT4, Value::Float64(0.5)) && fits(Type::NUMERIC, Value::Float64(f64::NAN))
    );
    for x in [f64::NAN, f64::NEG_INFINITY, -0.0, f64::from(0.1f32)] {
        assert!(fits(Type::FLOAT4, Value::Float64(x)), "{x}");
    }
    assert_eq!(
        fault(Type::FLOAT4, Value::Float64(0.1)),
        "parameter $1: given float64, wanted real: it would be rounded"
    );
    assert!(!fits(Type::FLOAT4, Value::Float64(1e-60)));
    assert!(!fits(Type::FLOAT4, Value::Float64(1e300)) && !fits(Type::INT8, Value::Float64(1.0)));
}

#[test]
fn text_holds_no_nul_and_fits_only_text() {
    assert!(fault(Type::TEXT, Value::Text("a\0".into())).contains("NUL"));
    assert!(fault(Type::TEXT_ARRAY, Value::TextArray(vec![Some("\0".into())])).contains("NUL"));
    assert!(
        !fits(Type::JSONB, Value::Text("{}".into())) && fits(Type::JSONB, Value::Json("{}".into()))
    );
    assert!(!fits(Type::NAME, Value::Text("x".repeat(64))));
}

#[test]
fn null_fits_everything_and_other_fits_its_own_type() {
    assert!(fits(Type::INET, Value::Null));
    let interval = |name: &str| Value::Other {
        type_name: name.into(),
        text: "1 day".into(),
    };
    assert!(fits(Type::INTERVAL, interval("interval")) && !fits(Type::INTERVAL, interval("inet")));
    let ints = Value::Other {
        type_name: "integer[]".into(),
        text: "{1}".into(),
    };
    assert!(fits(Type::INT4_ARRAY, ints));
}
