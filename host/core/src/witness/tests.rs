//! What the memory of statements says, and what it must never say.

use proptest::prelude::*;

use super::*;

fn statement(form: u64, text: u64) -> Statement {
    Statement { form, text }
}

fn refusal(form: u64, text: u64, running: bool) -> Refusal {
    Refusal {
        statement: statement(form, text),
        running,
    }
}

#[test]
fn a_statement_that_worked_under_the_same_schema_is_a_witness() {
    let mut known = Witnesses::default();
    known.worked(statement(1, 1), 7);
    assert!(known.refute(refusal(1, 1, true), 7));
    assert!(!known.refute(refusal(1, 1, true), 8), "the schema changed");
    assert!(!known.refute(refusal(2, 1, true), 7), "another statement");
    known.clear();
    assert!(!known.refute(refusal(1, 1, true), 7), "another module");
}

#[test]
fn what_is_refused_as_it_is_read_is_refuted_by_another_text_alone() {
    let mut known = Witnesses::default();
    known.worked(statement(1, 1), 7);
    assert!(!known.refute(refusal(1, 1, false), 7));
    assert!(known.refute(refusal(1, 2, false), 7));
    known.worked(statement(1, 2), 7);
    assert!(known.refute(refusal(1, 2, false), 7), "1 has worked too");
    known.worked(statement(1, 2), 8);
    assert!(!known.refute(refusal(1, 2, false), 8), "1 not since");
}

#[test]
fn the_memory_alone_condemns_few_records_in_a_row() {
    let mut known = Witnesses::default();
    known.worked(statement(1, 1), 7);
    let mut condemned = || {
        (0..1000)
            .filter(|_| known.refute(refusal(1, 1, true), 7))
            .count()
    };
    assert_eq!(condemned(), MOST_IN_A_ROW as usize);
    assert_eq!(condemned(), 0);
    known.worked(statement(1, 1), 7);
    assert!(known.refute(refusal(1, 1, true), 7));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Worked(Statement),
    Refused(Refusal),
    Changed,
    Activated,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let of = || (0_u64..4, 0_u64..3).prop_map(|(form, text)| statement(form, text));
    let step = prop_oneof![
        6 => of().prop_map(Step::Worked),
        6 => (of(), any::<bool>()).prop_map(|(statement, running)| Step::Refused(Refusal { statement, running })),
        1 => Just(Step::Changed),
        1 => Just(Step::Activated),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    /// Whatever happens: no record is condemned but where a statement of that form has worked since the schema changed or
    /// the module did, another text of it where it was not read; and never more in a row than are allowed.
    #[test]
    fn nobody_is_condemned_without_a_witness(steps in steps()) {
        let (mut known, mut schema) = (Witnesses::default(), 0);
        let mut worked: Vec<Statement> = Vec::new();
        let mut in_a_row = [0_u32; 4];
        for step in steps {
            match step {
                Step::Worked(statement) => {
                    known.worked(statement, schema);
                    worked.push(statement);
                    in_a_row[usize::try_from(statement.form).unwrap_or(0)] = 0;
                }
                Step::Refused(refusal) => {
                    let refuted = known.refute(refusal, schema);
                    let mut witnesses = worked.iter().filter(|w| refusal.is_refuted_by(**w));
                    prop_assert!(!refuted || witnesses.next().is_some());
                    let row = &mut in_a_row[usize::try_from(refusal.statement.form).unwrap_or(0)];
                    *row += u32::from(refuted);
                    prop_assert!(*row <= MOST_IN_A_ROW);
                }
                Step::Changed => {
                    schema += 1;
                    worked.clear();
                }
                Step::Activated => {
                    known.clear();
                    worked.clear();
                    in_a_row = [0; 4];
                }
            }
        }
    }

    #[test]
    fn the_memory_is_bounded(forms in proptest::collection::vec(any::<u64>(), 0..3000)) {
        let mut known = Witnesses::default();
        for form in forms {
            known.worked(statement(form, form), 0);
            prop_assert!(known.0.len() <= MOST_FORMS.get());
        }
    }
}
