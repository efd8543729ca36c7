//! Where versions are kept.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::ready;
use std::io;

use super::Text;
use crate::time::LocalFuture;

/// Keeps texts by number: files in the daemon, memory in tests. Each operation has happened whole, and for good, when
/// its future is ready; whatever happens before then, it has happened whole or not at all.
pub trait Store {
    /// The numbers that there are, in any order.
    fn list(&self) -> LocalFuture<io::Result<Vec<u64>>>;
    /// Reads a text.
    fn read(&self, number: u64) -> LocalFuture<io::Result<Text>>;
    /// Writes a text, a head and a body, in place of the one of this number if there is one. The body may be very long.
    fn write(&self, number: u64, head: String, body: Text) -> LocalFuture<io::Result<()>>;
    /// Removes a text.
    fn remove(&self, number: u64) -> LocalFuture<io::Result<()>>;
}

/// A store that ends with the daemon.
#[derive(Default)]
pub struct Memory(RefCell<BTreeMap<u64, Text>>);

impl Store for Memory {
    fn list(&self) -> LocalFuture<io::Result<Vec<u64>>> {
        Box::pin(ready(Ok(self.0.borrow().keys().copied().collect())))
    }
    fn read(&self, number: u64) -> LocalFuture<io::Result<Text>> {
        let text = self.0.borrow().get(&number).cloned();
        Box::pin(ready(text.ok_or_else(|| io::ErrorKind::NotFound.into())))
    }
    fn write(&self, number: u64, head: String, body: Text) -> LocalFuture<io::Result<()>> {
        self.0.borrow_mut().insert(number, Text::from(head + &body));
        Box::pin(ready(Ok(())))
    }
    fn remove(&self, number: u64) -> LocalFuture<io::Result<()>> {
        self.0.borrow_mut().remove(&number);
        Box::pin(ready(Ok(())))
    }
}
