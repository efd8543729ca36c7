//! A value for each interface, as control sets it and workers read it: by the interface's number, as far as there are any that
//! are not the usual one.

use quiver_engine::{Domain, Paged, Publisher, Snapshot};

use crate::interfaces::InterfaceId;

/// The values.
pub struct ByInterface<T: Send + Sync + 'static> {
    published: Publisher<Paged<T>>,
    /// The usual value.
    usual: T,
}

impl<T: Clone + Default + Send + Sync + 'static> ByInterface<T> {
    /// The default value for all of them.
    pub fn new(domain: &Domain) -> ByInterface<T> {
        ByInterface { published: Publisher::new(domain, Paged::default()), usual: T::default() }
    }
    /// The values for workers. Interfaces beyond the last page have the default value.
    pub fn snapshot(&self) -> Snapshot<Paged<T>> {
        self.published.snapshot()
    }
    /// That of one interface.
    pub fn at(&self, interface: InterfaceId) -> &T {
        self.published.current().get(interface.index()).unwrap_or(&self.usual)
    }
    /// Gives an interface another one.
    pub fn set(&mut self, interface: InterfaceId, value: T) {
        self.replace(interface, value);
    }
    /// The same; returns the one that it had.
    pub fn replace(&mut self, interface: InterfaceId, value: T) -> T {
        self.published.edit(|values| std::mem::replace(values.get_mut(interface.index()), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_keep_the_default_value() {
        let mut values = ByInterface::new(&Domain::new());
        values.set(InterfaceId(2), 7);
        assert_eq!(values.replace(InterfaceId(2), 1), 7);
        assert_eq!([0, 1, 2, 3, 70_000].map(|interface| *values.at(InterfaceId(interface))), [0, 0, 1, 0, 0]);
    }
}
