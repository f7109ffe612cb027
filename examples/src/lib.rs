//! Examples of Stampede, run from the root of the workspace:
//!
//! - `cargo run --release --example quickstart`: one annotated function, a hundred callers, one load.
//! - `cargo run --release --example nine_oclock`: at nine o'clock everybody opens the report. A thousand callers, a
//!   database with millions of rows, and seven acts that check their own numbers.
