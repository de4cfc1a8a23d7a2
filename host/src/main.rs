//! The `tidegate` command: everything is in the library.

fn main() -> std::process::ExitCode {
    tidegate::cli::main()
}
