//! `show bihash`: where VPP's users look for tables that are looked up by hash.

use quiver_control::Control;
use quiver_control::cli::{Command, CommandError, Matches, Reply};

pub(crate) fn register(control: &Control) {
    let help = "Show where Quiver keeps the tables that VPP implements as bounded-index hashes.";
    control.commands().add(Command::new("show bihash", help, show));
}

fn show(_: &Control, _: &Matches) -> Result<Reply, CommandError> {
    Ok(Reply::text("There are no bihash tables. `show ip fib memory` and `show l2fib` show the tables that there are."))
}
