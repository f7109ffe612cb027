//! Stampede.
