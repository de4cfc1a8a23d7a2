//! The inbox: all SQL.
