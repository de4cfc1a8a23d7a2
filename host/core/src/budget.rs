//! What one record of a guest has sent and got so far, against its limits.

use crate::limits::{GuestLimits, Limit};
use crate::nesting;
use crate::sql::{ResultSet, Value};

/// Counts for one record. Nothing that was refused is counted, but for its being a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    statements: u32,
    staged: (u32, usize),
    sent: Size,
    returned: Size,
    random: usize,
}

/// Values and bytes of statements, or rows and bytes of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    count: usize,
    bytes: usize,
}

impl Size {
    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl Budget {
    /// Counts a statement.
    ///
    /// # Errors
    /// [`Limit::Statements`] for the one beyond the limit.
    pub fn statement(&mut self, limits: &GuestLimits) -> Result<(), Limit> {
        if self.statements >= limits.statements {
            return Err(Limit::Statements);
        }
        self.statements += 1;
        Ok(())
    }

    /// Counts what a statement carries.
    ///
    /// # Errors
    /// The limit that it is beyond.
    pub fn send(&mut self, sql: &str, params: &[Value], limits: &GuestLimits) -> Result<(), Limit> {
        let bytes = params.iter().map(size).sum::<usize>();
        let sent = self.sent.plus(Size {
            count: params.iter().map(count).sum(),
            bytes: sql.len().saturating_add(bytes),
        });
        if sent.bytes > limits.parameter_bytes {
            return Err(Limit::ParameterBytes);
        }
        if sent.count > limits.parameter_values {
            return Err(Limit::ParameterValues);
        }
        if params.iter().any(|value| is_deep(value, limits.nesting)) {
            return Err(Limit::Nesting);
        }
        self.sent = sent;
        Ok(())
    }

    /// Counts a statement that is staged.
    ///
    /// # Errors
    /// The limit that it is beyond.
    pub fn stage(
        &mut self,
        sql: &str,
        params: &[Value],
        limits: &GuestLimits,
    ) -> Result<(), Limit> {
        let bytes = sql.len() + params.iter().map(size).sum::<usize>();
        let staged = (self.staged.0 + 1, self.staged.1.saturating_add(bytes));
        if staged.0 > limits.staged_statements {
            return Err(Limit::StagedStatements);
        }
        if staged.1 > limits.staged_bytes {
            return Err(Limit::StagedBytes);
        }
        self.staged = staged;
        Ok(())
    }

    /// Counts a result.
    ///
    /// # Errors
    /// The limit that it is beyond.
    pub fn get(&mut self, result: &ResultSet, limits: &GuestLimits) -> Result<(), Limit> {
        let returned = self.returned.plus(Size {
            count: result.rows.len(),
            bytes: result.rows.iter().flatten().map(size).sum(),
        });
        if returned.count > limits.result_rows {
            return Err(Limit::ResultRows);
        }
        if returned.bytes > limits.result_bytes {
            return Err(Limit::ResultBytes);
        }
        self.returned = returned;
        Ok(())
    }

    /// Counts random bytes.
    ///
    /// # Errors
    /// [`Limit::RandomBytes`] where so many more are beyond the limit.
    pub fn random(&mut self, bytes: u64, limits: &GuestLimits) -> Result<(), Limit> {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let random = self.random.saturating_add(bytes);
        if random > limits.random_bytes {
            return Err(Limit::RandomBytes);
        }
        self.random = random;
        Ok(())
    }
}

/// Values in a parameter: one, and each element of an array.
fn count(value: &Value) -> usize {
    if let Value::Int64Array(items) = value {
        1 + items.len()
    } else if let Value::TextArray(items) = value {
        1 + items.len()
    } else {
        1
    }
}

fn is_deep(value: &Value, limit: usize) -> bool {
    matches!(value, Value::Json(text) if nesting::is_deeper(text, limit))
}

/// Bytes a value holds, near enough to bound a statement or a result by.
pub fn size(value: &Value) -> usize {
    let content = match value {
        Value::Null | Value::Boolean(_) => 0,
        Value::Int64(_) | Value::Float64(_) => 8,
        Value::Bytes(v) => v.len(),
        Value::Int64Array(v) => v.len() * 9,
        Value::TextArray(v) => v
            .iter()
            .map(|t| 1 + t.as_ref().map_or(0, String::len))
            .sum(),
        Value::Other { type_name, text } => type_name.len() + text.len(),
        Value::Numeric(v)
        | Value::Text(v)
        | Value::Uuid(v)
        | Value::Json(v)
        | Value::Date(v)
        | Value::Time(v)
        | Value::Timestamp(v)
        | Value::Timestamptz(v) => v.len(),
    };
    content + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits() -> GuestLimits {
        GuestLimits {
            statements: 2,
            staged_statements: 2,
            staged_bytes: 20,
            parameter_bytes: 30,
            parameter_values: 5,
            nesting: 2,
            result_rows: 3,
            result_bytes: 20,
            random_bytes: 16,
            ..GuestLimits::default()
        }
    }

    fn rows(rows: usize, text: &str) -> ResultSet {
        ResultSet {
            columns: Vec::new(),
            rows: vec![vec![Value::Text(text.to_owned())]; rows],
        }
    }

    #[test]
    fn each_limit_is_of_the_whole_record() {
        let (limits, mut budget) = (limits(), Budget::default());
        assert_eq!(budget.statement(&limits), Ok(()));
        assert_eq!(budget.statement(&limits), Ok(()));
        assert_eq!(budget.statement(&limits), Err(Limit::Statements));
        let ten = [Value::Text("x".repeat(9))];
        assert_eq!(budget.send("", &ten, &limits), Ok(()));
        assert_eq!(budget.send("", &ten, &limits), Ok(()));
        assert_eq!(
            budget.send("x", &ten, &limits),
            Err(Limit::ParameterBytes),
            "the text counts"
        );
        assert_eq!(budget.send("", &ten, &limits), Ok(()));
        assert_eq!(budget.stage("", &ten, &limits), Ok(()));
        assert_eq!(budget.stage("x", &ten, &limits), Err(Limit::StagedBytes));
        assert_eq!(budget.stage("", &ten, &limits), Ok(()));
        assert_eq!(budget.stage("", &[], &limits), Err(Limit::StagedStatements));
        assert_eq!(budget.get(&rows(2, "1234"), &limits), Ok(()));
        assert_eq!(budget.get(&rows(2, ""), &limits), Err(Limit::ResultRows));
        assert_eq!(
            budget.get(&rows(1, "0123456789"), &limits),
            Err(Limit::ResultBytes)
        );
        assert_eq!(budget.random(8, &limits), Ok(()));
        assert_eq!(budget.random(u64::MAX, &limits), Err(Limit::RandomBytes));
        assert_eq!(budget.random(8, &limits), Ok(()));
        assert_eq!(budget.random(1, &limits), Err(Limit::RandomBytes));
    }

    #[test]
    fn elements_count_and_nesting_is_of_each_value() {
        let (limits, mut budget) = (limits(), Budget::default());
        let array = [Value::Int64Array(vec![None; 2])];
        assert_eq!(budget.send("", &array, &limits), Ok(()));
        assert_eq!(
            budget.send("", &[Value::Null, Value::Null, Value::Null], &limits),
            Err(Limit::ParameterValues)
        );
        let mut budget = Budget::default();
        let json = |text: &str| [Value::Json(text.to_owned())];
        assert_eq!(budget.send("", &json("[[1]]"), &limits), Ok(()));
        assert_eq!(
            budget.send("", &json("[[{}]]"), &limits),
            Err(Limit::Nesting)
        );
    }

    proptest! {
        /// Whatever the order and sizes, no more passes than the limit.
        #[test]
        fn no_more_passes_than_the_limit(asked in prop::collection::vec(0_u64..40, 0..20)) {
            let (limits, mut budget) = (limits(), Budget::default());
            let passed = asked.into_iter().filter(|n| budget.random(*n, &limits).is_ok());
            prop_assert!(passed.sum::<u64>() <= 16);
        }
    }
}
