//! Whose statements run in the database, and under which role: consumers, and tenants of the file and of the database.

use crate::config::{Config, ConsumerConfig, tenants};
use crate::inbox::Inbox;

/// A consumer or a tenant, as messages name it, and its role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GuestRole {
    pub(super) whose: String,
    pub(super) role: Option<String>,
}

/// All of them. Tenants that commands have added are left out where the database does not tell, as before the first
/// migration.
pub(super) async fn of(config: &Config, inbox: &Inbox) -> Vec<GuestRole> {
    let mut guests = Vec::new();
    for consumer in &config.consumers {
        guests.extend(of_file(consumer));
        if let (Some(of), Ok((_, rows))) = (&consumer.tenants, inbox.tenants(&consumer.name).await)
        {
            let added = rows.iter().filter(|row| !of.listed.contains_key(&row.name));
            guests.extend(added.filter_map(|row| {
                let definition = row.definition.as_deref()?;
                let read = tenants::definition(definition, &row.name, consumer).ok()?;
                Some(tenant(consumer, row.name.as_str(), read.guest.role))
            }));
        }
    }
    guests
}

/// Where records have tenants, the consumer's own role is that of tenants that name none.
fn of_file(consumer: &ConsumerConfig) -> Vec<GuestRole> {
    let Some(of) = &consumer.tenants else {
        return vec![GuestRole {
            whose: format!("consumer {:?}", consumer.name),
            role: consumer.guest.role.clone(),
        }];
    };
    let listed = of.listed.iter();
    listed
        .map(|(name, config)| tenant(consumer, name.as_str(), config.guest.role.clone()))
        .collect()
}

fn tenant(consumer: &ConsumerConfig, name: &str, role: Option<String>) -> GuestRole {
    GuestRole {
        whose: format!("tenant {name:?} of consumer {:?}", consumer.name),
        role,
    }
}

/// Their roles, each once.
pub(super) fn roles(guests: &[GuestRole]) -> Vec<&str> {
    let roles = guests.iter().filter_map(|guest| guest.role.as_deref());
    let mut roles: Vec<&str> = roles.collect();
    roles.sort_unstable();
    roles.dedup();
    roles
}
