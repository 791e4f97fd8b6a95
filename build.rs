//! How the program is linked.

use std::env;

/// Has the program stand at a fixed address where the linker can do that: tens of thousands of addresses need no
/// change each time it is executed then, which is a fifth of the time that `prereg --version` takes. Libraries,
/// heap and stacks stand at random places as ever.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |part: &str| env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
