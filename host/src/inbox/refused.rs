//! The server's refusal, in the protocol's fields.

use tidegate_core::failure::{Failure, Named, ServerWords};
use tidegate_core::sqlstate::Origin;
use tidegate_core::text::bounded;
use tokio_postgres::error::{DbError, Severity};

use super::error::{MESSAGE_BYTES, unreachable};

/// What the server said when it refused. Its DETAIL, which may hold values of rows, is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The session ends with it.
    pub(crate) fatal: bool,
    /// The SQLSTATE.
    pub(crate) sqlstate: String,
    /// The message, bounded.
    pub(crate) message: ServerWords,
    /// The constraint that was violated.
    pub(crate) constraint: Option<String>,
    /// What else was named.
    pub(crate) named: Box<Named>,
}

impl Refused {
    /// Reads an error's fields: a letter and a text each. The severity in English is preferred to the one in the
    /// server's language.
    pub(crate) fn parse(mut fields: &[u8]) -> Self {
        let (mut refused, mut severity) = (Self::default(), None);
        let (mut file, mut routine, mut inside) = (None, None, false);
        while let Some((&kind, rest)) = fields.split_first().filter(|(kind, _)| **kind != 0) {
            let end = rest.iter().position(|byte| *byte == 0);
            let end = end.unwrap_or(rest.len());
            let text = String::from_utf8_lossy(&rest[..end]);
            match kind {
                b'V' => severity = Some(text.into_owned()),
                b'S' => severity = severity.or_else(|| Some(text.into_owned())),
                b'C' => refused.sqlstate = text.into_owned(),
                b'M' => refused.message = bounded(&text, MESSAGE_BYTES).into(),
                b's' => refused.named.schema = Some(text.into_owned()),
                b't' => refused.named.table = Some(text.into_owned()),
                b'c' => refused.named.column = Some(text.into_owned()),
                b'd' => refused.named.data_type = Some(text.into_owned()),
                b'W' => inside = true,
                b'F' => file = Some(text),
                b'R' => routine = Some(text),
                b'n' => refused.constraint = Some(text.into_owned()),
                _ => {}
            }
            fields = rest.get(end + 1..).unwrap_or_default();
        }
        refused.named.origin = Origin::new(file.as_deref(), routine.as_deref(), inside);
        refused.fatal = matches!(severity.as_deref(), Some("FATAL" | "PANIC"));
        refused
    }
}

impl From<&DbError> for Refused {
    fn from(error: &DbError) -> Self {
        let fatal = match error.parsed_severity() {
            Some(severity) => matches!(severity, Severity::Fatal | Severity::Panic),
            None => matches!(error.severity(), "FATAL" | "PANIC"),
        };
        Self {
            fatal,
            sqlstate: error.code().code().to_owned(),
            message: bounded(error.message(), MESSAGE_BYTES).into(),
            constraint: error.constraint().map(str::to_owned),
            named: Box::new(Named {
                schema: error.schema().map(str::to_owned),
                table: error.table().map(str::to_owned),
                column: error.column().map(str::to_owned),
                data_type: error.datatype().map(str::to_owned),
                origin: Origin::new(error.file(), error.routine(), error.where_().is_some()),
                ..Named::default()
            }),
        }
    }
}

/// A FATAL error ends the connection, whatever its code.
impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        let Refused {
            fatal,
            sqlstate,
            message,
            constraint,
            named,
        } = refused;
        match fatal {
            // The session's end is the server's own to tell: no statement can raise it.
            true => unreachable(format!("{} (SQLSTATE {sqlstate})", message.as_str())),
            false => Failure::Sql {
                sqlstate,
                message,
                constraint,
                named,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_severity_in_english_counts_and_detail_is_left_out() {
        let fields = b"SFEHLER\0VERROR\0C23505\0Mdoppelt\0DKey (id)=(4711) exists\0spublic\0tt\0cid\0dint4\0Win f()\0Fpl_exec.c\0L9\0Rexec_stmt_raise\0nt_pkey\0\0";
        let refused = Refused::parse(fields);
        let expected = Refused {
            fatal: false,
            sqlstate: "23505".into(),
            message: "doppelt".into(),
            constraint: Some("t_pkey".into()),
            named: Box::new(Named {
                schema: Some("public".into()),
                table: Some("t".into()),
                column: Some("id".into()),
                data_type: Some("int4".into()),
                origin: Origin::new(Some("pl_exec.c"), Some("exec_stmt_raise"), true),
                ..Named::default()
            }),
        };
        assert_eq!(refused, expected);
        assert!(Refused::parse(b"SPANIK\0VPANIC\0C57P02\0Mx\0\0").fatal);
        assert!(Refused::parse(b"SFATAL\0C57P01\0Mx\0\0").fatal);
        assert_eq!(Refused::parse(b""), Refused::default());
        assert_eq!(Refused::parse(b"Mno end").message, "no end".into());
    }
}
