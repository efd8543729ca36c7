//! Client operations on all routes of a table at once, multicast routes included.

use std::collections::{HashMap, HashSet};

use quiver_compat::Refusal;
use quiver_control::Control;
use quiver_ip::api::{Sweep, follow};
use quiver_ip::fib::TableId;

use crate::family::Multicast;
use crate::objects::MulticastRoute;
use crate::table::{Key, key};

/// Routes that are marked, in the tables that are being replaced.
struct Marked<F: Multicast>(HashMap<TableId, HashSet<Key<F>>>);

pub(super) fn register<F: Multicast>(control: &Control) {
    control.insert_room(Marked::<F>(HashMap::new()));
    follow::<F>(control, |control, table, sweep| {
        let gone = match sweep {
            Sweep::Begin => {
                control.room_mut::<Marked<F>>().0.insert(table, all::<F>(control, table));
                return Ok(());
            }
            Sweep::End => control.room_mut::<Marked<F>>().0.remove(&table).unwrap_or_default(),
            Sweep::Flush => all::<F>(control, table),
        };
        delete::<F>(control, gone)
    });
}

/// A route shall be there.
pub(super) fn keep<F: Multicast>(control: &Control, key: &Key<F>) {
    if let Some(marked) = control.room_mut::<Marked<F>>().0.get_mut(&key.0) {
        marked.remove(key);
    }
}

fn all<F: Multicast>(control: &Control, table: TableId) -> HashSet<Key<F>> {
    let all = control.objects().all::<MulticastRoute<F>>();
    all.iter().map(|route| key(route)).filter(|key| key.0 == table).collect()
}

fn delete<F: Multicast>(control: &Control, keys: HashSet<Key<F>>) -> Result<(), Refusal> {
    for (table, group, source) in keys {
        let key = (table.into(), group, source);
        // Meanwhile somebody else may have deleted it.
        if control.objects().get::<MulticastRoute<F>>(&key).is_some() {
            control.delete::<MulticastRoute<F>>(&key)?;
        }
    }
    Ok(())
}
