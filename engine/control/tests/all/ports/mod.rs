//! Two small rooms for tests: ports, and switches that refer to ports and to another switch. They log what they are
//! asked to apply, and fail where a test says so.

#![allow(dead_code, reason = "each test takes what it needs")]

use quiver_control::cli::Reply;
use quiver_control::config::{ConfigError, Scope};
use quiver_control::transaction::{Terms, TransactionError};
use quiver_control::{Change, Control, Kind, Object, ObjectError, Record, reference};
use quiver_testkit::executor::Executor;

reference! {
    /// The name of a port.
    pub struct PortName(String) in "port";
}

reference! {
    /// The number of a switch.
    pub struct SwitchId(u32) in "switches";
}

/// A port.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "ports", provides = "port")]
pub struct Port {
    /// Its name.
    #[key]
    pub name: PortName,
    /// The largest frame.
    #[default(1500)]
    pub mtu: u16,
    /// The line it hangs on.
    #[fixed]
    #[default("a".to_owned())]
    pub line: String,
}

/// A port's membership.
#[derive(Record, Clone, Debug, PartialEq)]
pub struct Member {
    /// The port.
    pub port: PortName,
    /// Members of one group do not hear each other.
    #[default(0)]
    pub group: u8,
}

/// A switch.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "switches")]
pub struct Switch {
    /// Its number.
    #[key]
    pub id: u32,
    /// Its ports.
    pub members: Vec<Member>,
    /// The switch above it.
    pub uplink: Option<SwitchId>,
}

/// A lease in a pool: a kind with two key fields, the first of which may be the number of a switch.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "leases")]
pub struct Lease {
    /// The pool.
    #[key]
    #[follows("switches")]
    pub pool: u32,
    /// The address.
    #[key]
    pub address: std::net::Ipv4Addr,
}

/// Applied changes, and the step that is to fail.
#[derive(Default)]
pub struct Log {
    pub applied: Vec<String>,
    pub fail_at: Option<usize>,
    /// Whether to panic there instead.
    pub panics: bool,
}

pub fn apply<O: Object>(control: &Control, change: Change<'_, O>) -> Result<(), ObjectError> {
    let line = match change {
        Change::Create(object) => format!("+ {}", object.id()),
        Change::Update { new, .. } => format!("~ {}", new.id()),
        Change::Delete(object) => format!("- {}", object.id()),
    };
    let mut log = control.room_mut::<Log>();
    match log.fail_at {
        Some(0) => {
            log.fail_at = None;
            assert!(!log.panics, "planted");
            return Err(ObjectError::whole("planted"));
        }
        Some(steps) => log.fail_at = Some(steps - 1),
        None => {}
    }
    log.applied.push(line);
    Ok(())
}

pub fn control() -> (Executor, Control) {
    let executor = Executor::new(1);
    let control = executor.control();
    control.insert_room(Log::default());
    // Switches first: the order of changes comes from references, not from this.
    control.objects().add(Kind::new(apply::<Switch>));
    control.objects().add(Kind::new(apply::<Port>).check(|port| match port.mtu {
        64.. => Ok(()),
        mtu => Err(ObjectError::field("mtu", format!("{mtu} is too small")).remedy("at least 64")),
    }));
    control.objects().add(Kind::new(apply::<Lease>));
    (executor, control)
}

pub fn port(name: &str) -> Port {
    Port::new(PortName(name.to_owned()))
}

pub fn switch(id: u32, ports: &[&str]) -> Switch {
    let member = |name: &&str| Member { port: PortName((*name).to_owned()), group: 0 };
    Switch { members: ports.iter().map(member).collect(), ..Switch::new(id) }
}

/// Changes applied since the last call.
pub fn applied(control: &Control) -> Vec<String> {
    std::mem::take(&mut control.room_mut::<Log>().applied)
}

/// Applies a file that needs no confirmation and may be empty.
pub fn apply_file(executor: &Executor, control: &Control, file: &str, text: &str) -> Result<Reply, Vec<ConfigError>> {
    let terms = Terms { allow_empty: true, ..Terms::default() };
    problems(executor.block_on(control.apply(file, text, terms)))
}

/// Compares a file with what runs.
pub fn diff_file(executor: &Executor, control: &Control, file: &str, text: &str) -> Result<Reply, Vec<ConfigError>> {
    problems(executor.block_on(control.diff(file, text, Scope::Whole)))
}

fn problems(result: Result<Reply, TransactionError>) -> Result<Reply, Vec<ConfigError>> {
    result.map_err(|error| match error {
        TransactionError::Refused(problems) => problems,
        other => panic!("{other}"),
    })
}
