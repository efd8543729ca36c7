//! `create tap`, `delete tap`, `show tap`.

use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::{InterfaceName, Interfaces};
use quiver_linux::LinkState;

use crate::config::Taps;
use crate::object::Tap;

const CREATE: &str = "create tap { (id <id:u32> | if-name <if-name:text>) | hw-addr <hw-addr:mac> | host-ns <host-ns:text> \
    | host-if-name <host-if-name:text> | host-mac-addr <host-mac-addr:mac> | host-mtu-size <host-mtu-size:u16> \
    | host-bridge <host-bridge:text> | host-ip4-addr <host-ip4-addr:ip4-address> | host-ip4-gw <host-ip4-gw:ip4> \
    | host-ip6-addr <host-ip6-addr:ip6-address> | host-ip6-gw <host-ip6-gw:ip6> \
    | num-rx-queues <num-rx-queues:u16> | descriptor <descriptor:text> | (gso | no-gso) }";

pub(crate) fn register(control: &Control) {
    let create = Command::new(CREATE, "Create a TAP interface.", create)
        .argument("id", "number in the name after tap; default: the lowest free one")
        .argument("if-name", "name that you choose, such as wan")
        .argument("gso", "pass unsegmented TCP packets (default)")
        .argument("no-gso", "have Linux segment packets and fill in checksums");
    let fields = [
        ("hw-addr", "mac"),
        ("host-ns", "host-namespace"),
        ("host-if-name", "host-interface"),
        ("host-mac-addr", "host-mac"),
        ("host-mtu-size", "host-mtu"),
        ("host-bridge", "host-bridge"),
        ("host-ip4-addr", "host-ip4-address"),
        ("host-ip4-gw", "host-ip4-gateway"),
        ("host-ip6-addr", "host-ip6-address"),
        ("host-ip6-gw", "host-ip6-gateway"),
        ("num-rx-queues", "rx-queues"),
        ("descriptor", "descriptor"),
    ];
    let documented = <Tap as quiver_control::Record>::record_fields();
    let create = fields.into_iter().fold(create, |command, (word, field)| {
        match documented.iter().find(|documented| documented.name == field) {
            Some(documented) => command.argument(word, documented.doc),
            None => command,
        }
    });
    let commands = control.commands();
    commands.add(create);
    commands.add(Command::waiting("delete tap <interface>", "Delete a TAP interface.", delete));
    commands.add(Command::waiting("show tap [<interface>]", "Show TAP interfaces and their Linux side.", show));
}

fn create(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let (id, chosen) = (matches.find::<u32>("id")?, matches.find::<String>("if-name")?);
    let name = chosen.or_else(|| id.map(|id| format!("tap{id}"))).unwrap_or_else(|| free_name(control));
    if control.room::<Interfaces>().find(&name).is_some() {
        let (word, other) = if id.is_some() { ("id", "id") } else { ("if-name", "name") };
        let error = CommandError::new(format!("there is an interface {name} already; choose another {other}"));
        return Err(error.at(matches.place(word)));
    }
    let tap = Tap::new(name.clone());
    control.put(Tap {
        mac: matches.find("hw-addr")?,
        rx_queues: matches.find("num-rx-queues")?.unwrap_or(tap.rx_queues),
        gso: !matches.has("no-gso"),
        host_namespace: matches.find("host-ns")?,
        host_interface: matches.find("host-if-name")?,
        host_mac: matches.find("host-mac-addr")?,
        host_mtu: matches.find("host-mtu-size")?,
        host_bridge: matches.find("host-bridge")?,
        host_ip4_address: matches.find("host-ip4-addr")?,
        host_ip4_gateway: matches.find("host-ip4-gw")?,
        host_ip6_address: matches.find("host-ip6-addr")?,
        host_ip6_gateway: matches.find("host-ip6-gw")?,
        descriptor: matches.find("descriptor")?,
        ..tap
    })?;
    Ok(Reply::text(name))
}

pub(crate) fn free_name(control: &Control) -> String {
    control.room_mut::<Interfaces>().free_name("tap")
}

/// The TAP of this name; an error if the interface is of another kind.
fn named(control: &Control, matches: &Matches) -> Result<Option<Rc<Tap>>, CommandError> {
    let Some(InterfaceName(name)) = matches.find("interface")? else { return Ok(None) };
    let tap = control.objects().get::<Tap>(&name);
    let other = || CommandError::new(format!("{name} is no TAP interface")).at(matches.place("interface"));
    tap.ok_or_else(other).map(Some)
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    if let Some(tap) = named(&control, &matches)? {
        control.delete_in_turns::<Tap>(&tap.name).await?;
    }
    Ok(Reply::done())
}

async fn show(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let only = named(&control, &matches)?.map(|tap| tap.name.clone());
    let titles = [
        "Name",
        "Host interface",
        "Host namespace",
        "Host MAC",
        "Host MTU",
        "Queues",
        "GSO",
        "Descriptor",
        "Host side",
    ];
    let mut rows = Rows::new(&control, &output, titles);
    let row = |tap: Rc<Tap>| {
        let room = control.room::<Taps>();
        let linked = room.links.get(&tap.name);
        let state = match linked.map(|linked| linked.state) {
            Some(LinkState::Running) => "running",
            Some(LinkState::Down) => "down",
            Some(LinkState::Moved) => "moved to another namespace",
            Some(LinkState::Gone) if tap.descriptor.is_some() => "gone: start quiverd with a new descriptor",
            Some(LinkState::Gone) | None => "gone: made anew when its namespace is there",
        };
        Some([
            Cell::from(tap.name.clone()),
            Cell::from(linked.map_or(tap.host_name(), |linked| linked.watch.name())),
            Cell::from(tap.host_namespace.clone()),
            Cell::from(linked.map(|linked| linked.link.mac.to_string())),
            Cell::from(linked.filter(|_| tap.descriptor.is_none()).map(|linked| linked.link.mtu)),
            Cell::from(tap.rx_queues.get()),
            Cell::from(tap.gso),
            Cell::from(tap.descriptor.clone()),
            Cell::from(state),
        ])
    };
    rows.each(control.walk_of::<Tap>(only.as_ref()), row).await;
    Ok(rows.end())
}
