//! What a login and its guests' roles may do, as the server's catalogs say.

use tokio_postgres::Row;

use super::{Inbox, InboxError};

/// Attributes and possessions that go beyond what statements need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// SUPERUSER
    pub superuser: bool,
    /// BYPASSRLS
    pub bypasses_policies: bool,
    /// CREATEROLE
    pub creates_roles: bool,
    /// REPLICATION
    pub replicates: bool,
    /// How many tables and views outside the schema "tidegate" it owns.
    pub owned: i64,
    /// The roles that it is a member of, by name.
    pub member_of: Vec<String>,
}

/// The login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRights {
    /// Its name.
    pub name: String,
    /// What it has.
    pub rights: Rights,
    /// INHERIT: it has the rights of the roles that it is a member of without taking them.
    pub inherits: bool,
}

/// A guest's role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleRights {
    /// Its name.
    pub name: String,
    /// What it has.
    pub rights: Rights,
    /// Whether the login may take it.
    pub may_be_taken: bool,
    /// Whether it may use the schema "tidegate".
    pub uses_schema: bool,
    /// Whether it is one that no guest may have: it owns the schema "tidegate" or the database, or is one of the server's own.
    pub is_of_the_server: bool,
}

impl RoleRights {
    /// What makes the role one that no guest may have, in words.
    pub fn excess(&self) -> Option<&'static str> {
        let Rights {
            superuser,
            bypasses_policies,
            creates_roles,
            replicates,
            ..
        } = self.rights;
        let excesses = [
            (superuser, "is a superuser"),
            (bypasses_policies, "bypasses row-level security"),
            (creates_roles, "may create roles"),
            (replicates, "may replicate"),
            (
                self.is_of_the_server,
                "owns the schema \"tidegate\" or the database, or is one of the server's own",
            ),
        ];
        let mut found = excesses.into_iter().filter(|(has, _)| *has);
        found.next().map(|(_, words)| words)
    }
}

const RIGHTS: &str = r#"
SELECT r.rolname::text, r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolreplication,
       (SELECT count(*) FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace
         WHERE c.relowner = r.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
           AND s.nspname <> 'tidegate' AND s.nspname <> 'information_schema' AND s.nspname !~ '^pg_'),
       ARRAY(SELECT g.rolname::text FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid
              WHERE m.member = r.oid ORDER BY 1),
       r.rolinherit,
       r.rolname = $1 OR pg_has_role($1::name, r.oid,
           CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END),
       coalesce(has_schema_privilege(r.oid, to_regnamespace('tidegate')::oid, 'USAGE'), false),
       r.rolname ~ '^pg_' OR EXISTS (SELECT 1 FROM pg_namespace s WHERE s.nspname = 'tidegate' AND s.nspowner = r.oid)
           OR EXISTS (SELECT 1 FROM pg_database d WHERE d.datname = current_database() AND d.datdba = r.oid)
  FROM pg_roles r WHERE r.rolname = $1 OR r.rolname = ANY ($2)"#;

impl Inbox {
    /// The rights of the login `name`, or of the one that is connected, and of `roles`; a role that does not exist is
    /// left out. Errors: there is no such login.
    pub async fn rights(
        &self,
        name: Option<&str>,
        roles: &[&str],
    ) -> Result<(LoginRights, Vec<RoleRights>), InboxError> {
        let connected = self.ask("SELECT session_user::text", &[]).await?;
        let connected = connected.first().map(|row| row.get::<_, String>(0));
        let name = name.map(str::to_owned).or(connected).unwrap_or_default();
        let exists = "SELECT 1 FROM pg_roles WHERE rolname = $1";
        if self.ask(exists, &[&name]).await?.is_empty() {
            return Err(InboxError::NoSuchLogin(name));
        }
        let rows = self.ask(RIGHTS, &[&name, &roles]).await?;
        let login = rows.iter().find(|row| row.get::<_, &str>(0) == name);
        let login = LoginRights {
            rights: login.map(rights).unwrap_or_default(),
            inherits: login.is_some_and(|row| row.get(7)),
            name,
        };
        let named = |row: &&Row| roles.contains(&row.get::<_, &str>(0));
        let roles = rows.iter().filter(named).map(|row| RoleRights {
            name: row.get(0),
            rights: rights(row),
            may_be_taken: row.get(8),
            uses_schema: row.get(9),
            is_of_the_server: row.get(10),
        });
        Ok((login, roles.collect()))
    }
}

fn rights(row: &Row) -> Rights {
    Rights {
        superuser: row.get(1),
        bypasses_policies: row.get(2),
        creates_roles: row.get(3),
        replicates: row.get(4),
        owned: row.get(5),
        member_of: row.get(6),
    }
}
