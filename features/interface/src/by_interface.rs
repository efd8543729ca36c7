//! A value for each interface, as control sets it and workers read it: by the interface's number, as far as there are any that
//! are not the usual one.

use quiver_engine::{Domain, Publisher, Snapshot};

use crate::interfaces::InterfaceId;

/// The values.
pub struct ByInterface<T: Send + Sync + 'static> {
    published: Publisher<Vec<T>>,
    usual: T,
}

impl<T: Clone + Send + Sync + 'static> ByInterface<T> {
    /// The usual value for all of them.
    pub fn new(domain: &Domain, usual: T) -> ByInterface<T> {
        ByInterface { published: Publisher::new(domain, vec![]), usual }
    }
    /// What workers read: beyond its end all interfaces have the usual value.
    pub fn snapshot(&self) -> Snapshot<Vec<T>> {
        self.published.snapshot()
    }
    /// That of one interface.
    pub fn at(&self, interface: InterfaceId) -> &T {
        self.published.current().get(interface.index()).unwrap_or(&self.usual)
    }
    /// Gives an interface another one.
    pub fn set(&mut self, interface: InterfaceId, value: T) {
        let usual = &self.usual;
        self.published.update(|values| {
            let mut values = values.clone();
            values.resize(values.len().max(interface.index() + 1), usual.clone());
            values[interface.index()] = value.clone();
            values
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_keep_the_usual_value() {
        let mut values = ByInterface::new(&Domain::new(), 7);
        values.set(InterfaceId(2), 1);
        assert_eq!([0, 1, 2, 3].map(|interface| *values.at(InterfaceId(interface))), [7, 7, 1, 7]);
    }
}
