//! Capabilities that quiverd may have and has not: those that its file permits, as in an image of containers (capabilities(7)).
//!
//! Files there say "permitted" and not "effective", because a program whose file says that does not start at all in a container
//! that has less.

use rustix::io::Result;
use rustix::thread::{CapabilitySets, capabilities, set_capabilities};

/// Makes all that is permitted effective, for this thread and those that it starts.
pub fn take() -> Result<()> {
    let sets = capabilities(None)?;
    match sets.effective == sets.permitted {
        true => Ok(()),
        false => set_capabilities(None, CapabilitySets { effective: sets.permitted, ..sets }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::CapabilitySet;

    #[test]
    fn what_is_permitted_becomes_effective() {
        let before = capabilities(None).unwrap();
        set_capabilities(None, CapabilitySets { effective: CapabilitySet::empty(), ..before }).unwrap();
        take().unwrap();
        let after = capabilities(None).unwrap();
        assert_eq!((after.effective, after.permitted), (before.permitted, before.permitted));
    }
}
