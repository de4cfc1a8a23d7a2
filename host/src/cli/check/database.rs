//! What `check --database` finds out.

use super::{Finding, rights};
use crate::config::Config;
use crate::inbox::{Inbox, InboxError, Preflight, Wall};

/// Looks at the schema, the connection limit and the database's collation.
pub(super) async fn findings(config: &Config) -> Vec<Finding> {
    match ask(config).await {
        Ok(findings) => findings,
        Err(error) => vec![Finding::inbox(&error)],
    }
}

async fn ask(config: &Config) -> Result<Vec<Finding>, InboxError> {
    let inbox = Inbox::new(&config.postgres, Wall::default())?;
    let preflight = inbox.preflight().await?;
    let mut findings = judge(&preflight);
    findings.extend(schema(&inbox).await);
    findings.extend(rights::findings(config, &inbox).await?);
    Ok(findings)
}

/// The schema, and where it is there, whether what the host relies on works in it.
async fn schema(inbox: &Inbox) -> Vec<Finding> {
    if let Err(error) = inbox.check_schema().await {
        return vec![Finding::inbox(&error)];
    }
    let proved = match inbox.prove().await {
        Ok(()) => Finding::Fine("the seals hold, and the host sees its own rows".into()),
        Err(error) => Finding::inbox(&error),
    };
    vec![
        Finding::Fine("schema \"tidegate\" is up to date".into()),
        proved,
    ]
}

fn judge(found: &Preflight) -> Vec<Finding> {
    let version = format!("{}: PostgreSQL {}", found.place, found.server_version);
    let mut findings = vec![Finding::Fine(version), connections(found)];
    if let Some((then, now)) = &found.collation_changed {
        findings.push(Finding::Warning(format!(
            "the database's text was sorted by collation version {then} and the server now has {now}: indexes over text may miss rows or admit duplicates (Tidegate's own are COLLATE \"C\" and safe); REINDEX the database, then ALTER DATABASE … REFRESH COLLATION VERSION"
        )));
    }
    findings
}

fn connections(found: &Preflight) -> Finding {
    let Preflight {
        needed,
        connection_limit: limit,
        in_use,
        limited_by,
        ..
    } = found;
    let remedy = "lower postgres.max_connections or raise the limit";
    if needed > limit {
        Finding::problem(format!(
            "this host opens up to {needed} connections and only {limit} are allowed ({limited_by}); {remedy}"
        ))
    } else if *needed > limit - in_use {
        Finding::Warning(format!(
            "this host opens up to {needed} connections; of the {limit} allowed ({limited_by}), {in_use} are in use now; {remedy}"
        ))
    } else {
        Finding::Fine(format!(
            "connections: up to {needed} of {limit} ({limited_by}), {in_use} in use"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(limit: i64, in_use: i64) -> Preflight {
        Preflight {
            place: "db:5432/shop".into(),
            server_version: "15.8".into(),
            connection_limit: limit,
            limited_by: "max_connections of the server".into(),
            in_use,
            needed: 18,
            collation_changed: None,
        }
    }

    #[test]
    fn connections_are_compared_with_the_limit() {
        assert!(matches!(connections(&found(97, 10)), Finding::Fine(_)));
        assert!(matches!(connections(&found(97, 90)), Finding::Warning(_)));
        assert!(matches!(connections(&found(10, 0)), Finding::Problem(..)));
    }

    #[test]
    fn a_changed_collation_is_a_warning() {
        let mut changed = found(97, 1);
        changed.collation_changed = Some(("2.31".into(), "2.36".into()));
        let warnings = judge(&changed)
            .into_iter()
            .filter(|f| matches!(f, Finding::Warning(_)));
        assert_eq!(warnings.count(), 1);
    }
}
