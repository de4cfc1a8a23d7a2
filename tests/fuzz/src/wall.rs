//! The wall before guest SQL: what it lets pass is one statement of a kind that a handler may send.

use pg_query::NodeEnum;
use tidegate_wall::Wall;

/// Any text. It is admitted only where PostgreSQL's own grammar finds one such statement or a mistake of syntax, which
/// the server refuses itself.
pub(crate) fn wall(data: &[u8]) {
    let sql = String::from_utf8_lossy(data);
    let admitted = Wall::Keywords.check(&sql).is_ok();
    assert_eq!(
        Wall::Keywords.check(&format!("/**/{sql}")).is_ok(),
        admitted,
        "a comment changes nothing"
    );
    if !admitted {
        return;
    }
    assert!(!sql.contains('\0'));
    if let Ok(parsed) = pg_query::parse(&sql, 0)
        && let [statement] = &parsed.protobuf.stmts[..]
    {
        let node = statement.stmt.as_ref().and_then(|stmt| stmt.node.as_ref());
        assert!(
            matches!(
                node,
                Some(
                    NodeEnum::SelectStmt(_)
                        | NodeEnum::InsertStmt(_)
                        | NodeEnum::UpdateStmt(_)
                        | NodeEnum::DeleteStmt(_)
                        | NodeEnum::MergeStmt(_)
                )
            ),
            "{node:?}"
        );
    }
}
