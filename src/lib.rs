//! prereg.
