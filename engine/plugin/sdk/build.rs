//! Tells the SDK which compiler builds it, for `show plugins`.

fn main() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = std::process::Command::new(rustc).arg("--version").output();
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    // `rustc 1.95.0 (59807616e 2026-04-14)` without what stands in brackets.
    let version = said.split(" (").next().unwrap_or_default();
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo:rustc-env=QUIVER_BUILT_BY={version}, opt-level {level}");
    println!("cargo:rerun-if-changed=build.rs");
}
