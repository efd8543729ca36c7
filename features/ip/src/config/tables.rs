//! Tables: their creation and deletion, their default routes, and the routes of special prefixes.

use quiver_control::{Change, Control, Kind, ObjectError};
use quiver_wire::Prefix;

use super::error::{IpError, refused};
use super::leaving::Leaving;
use super::objects::{IpTable, NoRoute, TableDefaults, TableSize, check_table};
use super::room::{Ip, Ip4, Ip6};
use super::special::{SpecialAction, SpecialPrefix};
use crate::family::Family;
use crate::fib::{FibError, Path, Size, Source, Special, TableId, Target};

/// Bytes that a table takes without routes.
const SMALL: u64 = 256 << 10;
const LARGE: u64 = 64 << 20;

pub(super) fn register<F: Family>(control: &Control) {
    control.objects().add(Kind::new(apply_table::<F>).check(check_table::<F>).memory(|table| match table.size {
        TableSize::Small => SMALL,
        TableSize::Large => LARGE,
    }));
}

pub(super) fn register_specials<F: Family>(control: &Control) {
    control.objects().add(Kind::new(apply_special::<F>));
}

/// Sets what holds of tables that do not say so themselves; to be called before there are others than table 0.
pub fn set_table_defaults(control: &Control, defaults: TableDefaults) -> Result<(), IpError> {
    control.room_mut::<Ip4>().set_defaults(defaults)?;
    Ok(control.room_mut::<Ip6>().set_defaults(defaults)?)
}

fn apply_table<F: Family>(control: &Control, change: Change<'_, IpTable<F>>) -> Result<(), ObjectError> {
    let mut ip = control.room_mut::<Ip<F>>();
    match change {
        Change::Create(table) if table.id == TableId::DEFAULT.0 => {
            if table.counters {
                return Err(
                    ObjectError::field("counters", "table 0 does not count by route").remedy("use another table")
                );
            }
            ip.set_options(table).map_err(refused)?;
        }
        Change::Create(table) => {
            control.room_mut::<Leaving<F>>().keep(table.id);
            ip.add_table(table).map_err(refused)?;
        }
        Change::Update { new, .. } => {
            // Whoever configures it wants it.
            control.room_mut::<Leaving<F>>().keep(new.id);
            ip.set_options(new).map_err(refused)?;
        }
        Change::Delete(table) if table.id == TableId::DEFAULT.0 => {
            ip.set_options(&IpTable::new(table.id)).map_err(refused)?;
        }
        Change::Delete(table) => {
            let taken = ip.fib.take_table(TableId(table.id)).map_err(refused)?;
            ip.tables.forget(TableId(table.id));
            ip.publish_tables();
            ip.fib.discard(taken);
        }
    }
    Ok(())
}

fn apply_special<F: Family>(control: &Control, change: Change<'_, SpecialPrefix<F>>) -> Result<(), ObjectError> {
    let (prefix, action) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new.prefix, Some(new.action)),
        Change::Delete(old) => (old.prefix, None),
    };
    let done = control.room_mut::<Ip<F>>().set_special(prefix, action);
    done.map_err(refused)
}

impl<F: Family> Ip<F> {
    /// Sets what holds of tables that do not say so themselves.
    fn set_defaults(&mut self, defaults: TableDefaults) -> Result<(), FibError> {
        self.tables.defaults = defaults;
        self.set_options(&IpTable::new(TableId::DEFAULT.0))
    }
    /// Adds a table with its special routes and its default route.
    pub(super) fn add_table(&mut self, table: &IpTable<F>) -> Result<(), FibError> {
        let id = TableId(table.id);
        let size = match table.size {
            TableSize::Small => Size::Small,
            TableSize::Large if self.is_rehearsed => Size::Rehearsed,
            TableSize::Large => Size::Large,
        };
        self.fib.add_table(id, size, table.counters)?;
        let special = self.add_special_routes(id).and_then(|()| self.set_options(table));
        if special.is_err()
            && let Ok(table) = self.fib.take_table(id)
        {
            // No worker has heard of it.
            self.fib.discard(table);
        }
        special
    }
    fn add_special_routes(&mut self, id: TableId) -> Result<(), FibError> {
        for (prefix, special) in self.tables.specials.routes() {
            self.fib.insert(id, prefix, Source::Special, vec![Path::to(Target::Special(special))])?;
        }
        Ok(())
    }
    /// Changes what all tables do with a special prefix; None leaves it to them.
    fn set_special(&mut self, prefix: Prefix<F>, action: Option<SpecialAction>) -> Result<(), FibError> {
        let special = self.tables.specials.set(prefix, action);
        let tables: Vec<TableId> = self.fib.tables().map(|table| table.id).collect();
        for table in tables {
            match special {
                Some(special) => {
                    self.fib.insert(table, prefix, Source::Special, vec![Path::to(Target::Special(special))])?;
                }
                None => drop(self.fib.remove(table, prefix, Source::Special)),
            }
        }
        self.publish_tables();
        Ok(())
    }
    /// Gives the router a number, by which it spreads flows otherwise than others.
    pub(super) fn set_router(&mut self, router: u32) {
        self.tables.router = router;
        self.publish_tables();
    }
    /// Sets a table's default route, link-layer broadcasts and flow hash. What the object leaves out has the default.
    fn set_options(&mut self, table: &IpTable<F>) -> Result<(), FibError> {
        let id = TableId(table.id);
        self.set_default_route(id, self.tables.no_route(table))?;
        self.tables.set(table);
        self.publish_tables();
        Ok(())
    }
    /// Gives a table a route for what has no other, or takes it away: without it, senders are told.
    fn set_default_route(&mut self, id: TableId, no_route: NoRoute) -> Result<(), FibError> {
        match no_route {
            NoRoute::Drop => {
                let paths = vec![Path::to(Target::Special(Special::Drop))];
                self.fib.insert(id, Prefix::ALL, Source::Default, paths)
            }
            NoRoute::Unreachable => {
                self.fib.remove(id, Prefix::ALL, Source::Default);
                Ok(())
            }
        }
    }
}
