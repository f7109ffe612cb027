//! The steps of each command: all of them runs of cargo, in a flat table.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// One run of cargo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// The arguments of cargo, divided by spaces.
    arguments: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// The rustup component that the step needs beside cargo itself.
    component: Option<&'static str>,
}

const fn step(arguments: &'static str) -> Step {
    Step { arguments, environment: &[], component: None }
}

/// Plain `cargo test`, so that every runner's closing line is printed; it runs the doc tests too.
pub(crate) const TESTS: &[Step] = &[step("test --workspace --all-features")];

pub(crate) const CHECKS: &[Step] = &[
    Step { component: Some("rustfmt"), ..step("fmt --all --check") },
    Step { component: Some("clippy"), ..step("clippy --workspace --all-targets --all-features -- -D warnings") },
    Step {
        component: Some("clippy"),
        ..step("clippy --package stampede-runtime --no-default-features -- -D warnings")
    },
    Step { environment: &[("RUSTDOCFLAGS", "-D warnings")], ..step("doc --workspace --no-deps --all-features") },
];

/// Runs every step, also after one has failed, so that one run shows all that is wrong.
pub(crate) fn run_all(steps: &[Step]) -> ExitCode {
    let Some(version) = cargo_says("--version") else {
        eprintln!("xtask: cargo does not run; install Rust from https://rustup.rs");
        return ExitCode::FAILURE;
    };
    println!("xtask: found {version}; nothing else is needed: the tests start no servers");
    report(&steps.iter().filter_map(|step| step.run().err()).collect::<Vec<_>>())
}

fn report(failures: &[String]) -> ExitCode {
    if failures.is_empty() {
        println!("\nxtask: all passed");
        return ExitCode::SUCCESS;
    }
    for failure in failures {
        eprintln!("xtask: FAILED: {failure}");
    }
    ExitCode::FAILURE
}

impl Step {
    fn run(&self) -> Result<(), String> {
        println!("\nxtask: {self}");
        self.require_component()?;
        let status = cargo()
            .args(self.arguments.split_whitespace())
            .envs(self.environment.iter().copied())
            .status()
            .map_err(|error| format!("{self}: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("{self} ({status})")) }
    }

    fn require_component(&self) -> Result<(), String> {
        let Some(component) = self.component else { return Ok(()) };
        let subcommand = self.arguments.split_whitespace().next().unwrap_or_default();
        if cargo().args([subcommand, "--version"]).output().is_ok_and(|output| output.status.success()) {
            return Ok(());
        }
        Err(format!("{self} needs {component}; install it: rustup component add {component}"))
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in self.environment {
            write!(formatter, "{name}='{value}' ")?;
        }
        write!(formatter, "cargo {}", self.arguments)
    }
}

fn cargo_says(argument: &str) -> Option<String> {
    let output = cargo().arg(argument).stderr(Stdio::inherit()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The cargo that runs this program, in the root of the workspace.
fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}
