//! How much machine code stages and products are, by instruction set: `quiver-disassemble sizes`, for `cargo xtask bench products`.

use std::collections::BTreeSet;
use std::path::Path;

use crate::binary::{Binary, loaded};
use crate::kernel::{self, LEVELS};
use crate::{FUSED, RELAYED, registered};

/// Prints a line for each kind of kernel and level, from a program whose symbols name types, and two for a whole program:
/// what, level, chains or stages, instances, bytes; with tabs between them.
pub fn print(file: &Path, release: &Path) -> Result<(), String> {
    let binary = Binary::read(file).map_err(|error| error.to_string())?;
    let kernels = registered()?;
    let is_product = |name: &str| name.starts_with(FUSED) || name.starts_with(RELAYED);
    type IsOf<'a> = &'a dyn Fn(&str) -> bool;
    let kinds: [(&str, IsOf); 3] = [
        ("stages, as nodes", &|name| !is_product(name)),
        ("products over frames", &|name| name.starts_with(FUSED)),
        ("products over relays", &|name| name.starts_with(RELAYED)),
    ];
    for (what, is_of) in kinds {
        let of: Vec<_> = kernels.iter().filter(|(name, _)| is_of(name)).collect();
        for level in LEVELS {
            let facts = of.iter().map(|(_, kernel)| kernel::check(&binary, kernel, level, &BTreeSet::new()).0);
            let (instances, bytes) =
                facts.fold((0, 0), |(instances, bytes), facts| (instances + facts.copies, bytes + facts.bytes));
            println!("{what}\t{}\t{}\t{instances}\t{bytes}", level.name, of.len());
        }
    }
    let (code, all) = loaded(release).map_err(|error| error.to_string())?;
    println!("quiverd, its code\tall\t\t\t{code}");
    println!("quiverd, all that is loaded\tall\t\t\t{all}");
    Ok(())
}
