//! Descriptors that quiverd was started with, by name (sd_listen_fds(3)): a way to devices that it has no right to make itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use quiver_control::Control;

use crate::LinuxError;

/// The descriptors that were passed to a daemon. It keeps them as long as it runs and lends duplicates, so that an interface can
/// be deleted and made again. All handles of one control side are one store.
#[derive(Clone, Default)]
pub struct Passed(Rc<RefCell<BTreeMap<String, Vec<OwnedFd>>>>);

impl Passed {
    /// The store of a control side.
    pub fn of(control: &Control) -> Passed {
        if !control.has_room::<Passed>() {
            control.insert_room(Passed::default());
        }
        control.room::<Passed>().clone()
    }

    /// Adds descriptors. Those of one name belong together, in this order.
    pub fn add(&self, descriptors: impl IntoIterator<Item = (String, OwnedFd)>) {
        let mut store = self.0.borrow_mut();
        descriptors.into_iter().for_each(|(name, descriptor)| store.entry(name).or_default().push(descriptor));
    }

    /// Duplicates of the descriptors of a name, at least one.
    pub fn lend(&self, name: &str) -> Result<Vec<OwnedFd>, LinuxError> {
        let store = self.0.borrow();
        let Some(descriptors) = store.get(name) else {
            return Err(LinuxError::NoDescriptor { name: name.into(), passed: store.keys().cloned().collect() });
        };
        let lent = descriptors.iter().map(OwnedFd::try_clone).collect::<Result<_, _>>();
        lent.map_err(|error| LinuxError::refused(format!("duplicate descriptor {name}"), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn duplicates_are_lent_and_a_missing_name_is_told_with_those_that_were_passed() {
        let store = Passed::default();
        assert!(store.lend("wan").expect_err("there is none").remedy().contains("none was passed"));
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let (other, _) = std::io::pipe().expect("a pipe");
        store.add([("wan".into(), writer.into()), ("lan".into(), other.into())]);
        for _ in 0..2 {
            let [lent]: [OwnedFd; 1] = store.lend("wan").expect("it was passed").try_into().expect("one");
            std::fs::File::from(lent).write_all(b"x").expect("it is open");
            let mut byte = [0];
            reader.read_exact(&mut byte).expect("it was written");
        }
        let error = store.lend("dmz").expect_err("there is none");
        assert_eq!(error.to_string(), "no descriptor of the name dmz was passed to quiverd");
        assert!(error.remedy().contains("lan, wan"), "{}", error.remedy());
    }
}
