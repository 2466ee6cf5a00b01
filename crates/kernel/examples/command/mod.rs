//! A program that does what its arguments say, or says why not.

/// Why not.
pub type Failure = Box<dyn std::error::Error>;

/// Runs with the arguments of the command line; ends with status 1 when that fails.
pub fn main(run: fn(&[&str]) -> Result<(), Failure>) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = run(&arguments) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
