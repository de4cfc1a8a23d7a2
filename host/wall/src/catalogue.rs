//! What the server knows of functions, operators and types, as far as the wall asks.

use std::collections::{HashMap, HashSet};

/// What the functions of one name are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// One of them is volatile.
    pub volatile: bool,
    /// One that is volatile takes a whole row, so that a column's notation (`t.name`) calls it.
    pub volatile_of_row: bool,
}

/// What one server knows, by names without schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Every function, aggregate and window function.
    pub functions: HashMap<Box<str>, Traits>,
    /// Operators of which one runs a volatile function.
    pub volatile_operators: HashSet<Box<str>>,
    /// Types of which one is read, printed or cast to by a volatile function.
    pub volatile_types: HashSet<Box<str>>,
}

impl Catalogue {
    /// What is known of a function; none where there is no function of this name.
    pub fn function(&self, name: &str) -> Option<Traits> {
        self.functions.get(name).copied()
    }
}
