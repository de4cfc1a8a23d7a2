//! What the server knows of functions, operators and types, as far as the wall asks.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What the functions of one name are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// One of them is volatile.
    pub volatile: bool,
    /// One that is volatile takes a whole row, so that a column's notation (`t.name`) calls it.
    pub volatile_of_row: bool,
}

/// By schema and name of a relation, constraints named in full, as SQL reads them.
pub type Deferred = HashMap<(Box<str>, Box<str>), Vec<Box<str>>>;

/// What one server knows, by names without schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Every function, aggregate and window function.
    pub functions: HashMap<Box<str>, Traits>,
    /// Operators of which one runs a volatile function.
    pub volatile_operators: HashSet<Box<str>>,
    /// Types of which one is read, printed or cast to by a volatile function.
    pub volatile_types: HashSet<Box<str>>,
    /// Constraints that wait for the end, by each relation that may fire them when it is written to.
    pub deferred: Deferred,
    /// The schemas in which relations without a schema are looked for.
    pub search_path: Vec<Box<str>>,
}

impl Catalogue {
    /// The constraints that wait for the end where these relations are written to, each once, as a list in SQL; none where
    /// there are none. A relation without a schema is the first of its name in the search path.
    pub fn deferred_by<'a>(
        &self,
        relations: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Option<Arc<str>> {
        let constraints = relations.flat_map(|(schema, name)| self.deferred_of(schema, name));
        let names: BTreeSet<&str> = constraints.map(|name| &**name).collect();
        let list = names.into_iter().collect::<Vec<_>>().join(", ");
        (!list.is_empty()).then(|| list.into())
    }

    fn deferred_of(&self, schema: &str, name: &str) -> &[Box<str>] {
        let of = |schema: &str| self.deferred.get(&(Box::from(schema), Box::from(name)));
        let found = match schema {
            "" => self.search_path.iter().find_map(|schema| of(schema)),
            schema => of(schema),
        };
        found.map_or(&[], Vec::as_slice)
    }

    /// What is known of a function; none where there is no function of this name.
    pub fn function(&self, name: &str) -> Option<Traits> {
        self.functions.get(name).copied()
    }
}
