//! What compiles, and what the compiler says of what does not.
//!
//! `TRYBUILD=overwrite cargo test -p stampede-tests --test ui` writes the messages anew; they are rustc's, so they are
//! compared on the toolchain that CI uses.

#[test]
fn compiles_or_says_why_not() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
