//! What `check --database` finds out about the login's rights, the guests' roles, and what everybody may do.

use super::Finding;
use crate::cli::guests::{self, GuestRole};
use crate::config::Config;
use crate::inbox::{Inbox, InboxError, LoginRights, Measure, Rights, RoleRights};

/// Looks at the login, at each guest's role, and at what `harden` would do.
pub(super) async fn findings(config: &Config, inbox: &Inbox) -> Result<Vec<Finding>, InboxError> {
    let guests = guests::of(config, inbox).await;
    let roles = guests::roles(&guests);
    let (login, found) = inbox.rights(None, &roles).await?;
    let mut findings = about_login(&login, &roles);
    for name in &roles {
        let role = found.iter().find(|role| role.name == *name);
        findings.extend(about_role(name, role, &login.name));
    }
    findings.extend(about_guests(&guests, &login.name));
    let measures = inbox.measures(&login.name, &roles).await?;
    // What keeps a role from being taken has been said of the role.
    let others = measures
        .iter()
        .filter(|m| !m.sql.starts_with("GRANT ") || m.sql.contains(" ON "));
    findings.extend(others.map(open));
    if !findings.iter().any(|f| !matches!(f, Finding::Fine(_))) {
        let text = "rights: login and roles have what they need and nothing beyond";
        findings.push(Finding::Fine(text.into()));
    }
    Ok(findings)
}

fn open(measure: &Measure) -> Finding {
    let Measure { what, why, sql } = measure;
    Finding::Warning(format!("{what}: {why}; `tidegate harden` does it: {sql}"))
}

fn about_login(login: &LoginRights, roles: &[&str]) -> Vec<Finding> {
    let name = &login.name;
    let mut findings = beyond("login", name, &login.rights);
    if login.inherits && !login.rights.member_of.is_empty() {
        findings.push(Finding::Warning(format!(
            "login {name:?} inherits the rights of the roles that it may take, so a statement that runs as the login has them all; ALTER ROLE \"{name}\" NOINHERIT"
        )));
    }
    let more = login.rights.member_of.iter();
    let more: Vec<String> = more
        .filter(|role| !roles.contains(&role.as_str()))
        .map(|role| format!("{role:?}"))
        .collect();
    if !more.is_empty() {
        findings.push(Finding::Warning(format!(
            "login {name:?} may take roles that no consumer has: {}; REVOKE what it does not need",
            more.join(", ")
        )));
    }
    findings
}

fn about_role(name: &str, role: Option<&RoleRights>, login: &str) -> Vec<Finding> {
    let Some(role) = role else {
        return vec![Finding::problem(format!(
            "role {name:?} does not exist; CREATE ROLE \"{name}\" NOLOGIN; GRANT \"{name}\" TO \"{login}\""
        ))];
    };
    let mut findings = beyond("role", name, &role.rights);
    if let Some(excess) = role.excess().filter(|_| name != login) {
        findings.push(Finding::problem(format!(
            "role {name:?} {excess}: no handler may have it; give the handler a role of its own"
        )));
    } else if !role.may_be_taken {
        findings.push(Finding::problem(format!(
            "login {login:?} may not take the role {name:?}; GRANT \"{name}\" TO \"{login}\""
        )));
    }
    if name == login {
        findings.push(Finding::Warning(format!(
            "role {name:?} is the login itself: handlers have its rights, on the schema \"tidegate\" too; give them a role of their own"
        )));
    } else if role.uses_schema && !role.rights.superuser {
        findings.push(Finding::Warning(format!(
            "role {name:?} may use the schema \"tidegate\", which is the host's alone; REVOKE ALL ON SCHEMA tidegate FROM \"{name}\""
        )));
    }
    if !role.rights.member_of.is_empty() {
        findings.push(Finding::Warning(format!(
            "role {name:?} is a member of {}: handlers have their rights too; REVOKE what they do not need",
            role.rights.member_of.join(", ")
        )));
    }
    findings
}

/// What neither a login nor a role needs.
fn beyond(kind: &str, name: &str, rights: &Rights) -> Vec<Finding> {
    let excesses = [
        (
            rights.superuser,
            "is a superuser",
            "no right and no policy holds for it",
            "NOSUPERUSER",
        ),
        (
            rights.bypasses_policies && !rights.superuser,
            "bypasses row-level security",
            "no policy holds for it",
            "NOBYPASSRLS",
        ),
        (
            rights.creates_roles && !rights.superuser,
            "may create roles",
            "it can give itself the rights of others",
            "NOCREATEROLE",
        ),
        (
            rights.replicates && !rights.superuser,
            "may replicate",
            "it can read the whole server's changes",
            "NOREPLICATION",
        ),
    ];
    let excesses = excesses.into_iter().filter(|(has, ..)| *has);
    let mut findings: Vec<Finding> = excesses
        .map(|(_, what, why, remedy)| {
            Finding::Warning(format!(
                "{kind} {name:?} {what}: {why}; ALTER ROLE \"{name}\" {remedy}, or name another"
            ))
        })
        .collect();
    if rights.owned > 0 && !rights.superuser {
        findings.push(Finding::Warning(format!(
            "{kind} {name:?} owns {} tables or views: whoever runs as it can change them as it likes, and policies do not hold for their owner; ALTER TABLE … OWNER TO another",
            rights.owned
        )));
    }
    findings
}

fn about_guests(guests: &[GuestRole], login: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (n, guest) in guests.iter().enumerate() {
        let whose = &guest.whose;
        let Some(role) = &guest.role else {
            findings.push(Finding::Warning(format!(
                "{whose} has no role: its handler's statements have the rights of the login {login:?}, on the schema \"tidegate\" too; set role"
            )));
            continue;
        };
        let mut before = guests[..n].iter();
        if let Some(other) = before.find(|other| other.role.as_ref() == Some(role)) {
            findings.push(Finding::Warning(format!(
                "{} and {whose} have the same role {role:?}: each can read and write what the other can; a role each keeps them apart",
                other.whose
            )));
        }
    }
    findings
}
