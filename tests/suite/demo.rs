//! The workload of `make demo` and its books, for tests that run it under conditions of their own.

#[path = "../demo/books.rs"]
pub(crate) mod books;
#[path = "../demo/workload.rs"]
pub(crate) mod workload;
