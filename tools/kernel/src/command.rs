//! The main function of a program with positional arguments.

/// The reason of a failure.
pub type Failure = Box<dyn std::error::Error>;

/// Runs with the arguments of the command line. A failure is printed and ends the program with status 1.
pub fn main(run: fn(&[&str]) -> Result<(), Failure>) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = run(&arguments) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
