//! `cargo xtask instructions`: how many instructions a packet takes on each path, by way, vector and level, counted by
//! callgrind and compared with what was kept. The same program takes the same number on a busy machine, so this can be a
//! test where ticks cannot. Of the connection generator's rows it is how many a connection takes. Callgrind does not know AVX-512: there `cargo xtask disassemble` counts the loops' instructions.

mod callgrind;
mod connections;
mod counted;
mod turns;

use std::path::Path;

use quiver_kept::{Counts, KeptCounts, Outcome};

pub use counted::run as run_counted;

/// Counts all paths.
const PATHS: &str = "";
/// Counts connections in place of paths.
const CONNECTIONS: &str = "connections";

/// The levels that callgrind can run.
const LEVELS: [&str; 2] = ["baseline", "avx2"];

/// Counts everything on each level and compares it with the rows of a file, or writes these anew. Returns whether it wrote
/// them.
pub fn run(file: &Path, compiler: &str) -> Result<bool, String> {
    let here: Vec<_> = quiver_testkit::levels::here().map(|(level, _)| level).collect();
    if let Some(missing) = LEVELS.iter().find(|level| !here.contains(level)) {
        println!("skipped: this CPU does not have {missing}, of which there are rows");
        return Ok(false);
    }
    let mut counts = Counts::new();
    for level in LEVELS {
        for count in callgrind::counts(level)? {
            let callgrind::Count { path, way, vector, packets, instructions } = count;
            let each = instructions as f64 / packets as f64;
            println!("{level:<9} {path:<30} {way:<24} {vector:>4} {each:>9.2}");
            counts.insert([path, way, vector, level.to_owned()].to_vec(), (100.0 * each).round() / 100.0);
        }
    }
    let columns = ["path", "way", "vector", "level"];
    let kept =
        KeptCounts::read(file, &columns, "instructions", "cargo xtask instructions").map_err(|e| e.to_string())?;
    match kept.settle(compiler, counts, quiver_kept::update_is_asked()).map_err(|error| error.to_string())? {
        Outcome::Same(count) => println!("{count} counts, each within 2 % of its row"),
        Outcome::Skipped(sentence) => println!("{sentence}"),
        Outcome::Written(count) => {
            println!("{}: {count} rows of rustc {compiler}", file.display());
            return Ok(true);
        }
        Outcome::Changed(problems) => return Err(format!("instructions per packet\n{}", problems.join("\n"))),
    }
    Ok(false)
}
