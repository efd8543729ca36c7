//! `create host-interface`, `delete host-interface`, `show af-packet`.

use std::rc::Rc;

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::Interfaces;
use quiver_linux::LinkState;

use crate::config::{HostInterface, HostInterfaces};

const CREATE: &str = "create host-interface name <linux:text> { if-name <if-name:text> | hw-addr <hw-addr:mac> | netns <netns:text> \
    | num-rx-queues <num-rx-queues:u16> }";

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add(
        Command::new(CREATE, "Create a host interface on a Linux interface.", create)
            .argument("linux", "Linux name of the interface")
            .argument("if-name", "name that you choose, such as wan; default: host- and the Linux name")
            .argument("hw-addr", "MAC address; default: that in Linux")
            .argument("netns", "network namespace of the Linux interface, by name or path")
            .argument("num-rx-queues", "number of receive queues"),
    );
    commands.add(
        Command::waiting(
            "delete host-interface name <linux:text>",
            "Delete a host interface; the Linux interface stays.",
            delete,
        )
        .argument("linux", "Linux name of the interface"),
    );
    commands.add(Command::waiting("show af-packet", "Show the host interfaces and their Linux names.", show));
}

fn create(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let linux = matches.get::<String>("linux")?;
    let host = match matches.find::<String>("if-name")? {
        Some(name) => HostInterface { host_interface: Some(linux), ..HostInterface::new(name) },
        None => HostInterface::of(&linux),
    };
    if control.room::<Interfaces>().find(&host.name).is_some() {
        let error = CommandError::new(format!("there is an interface {} already; delete it first", host.name));
        return Err(error.at(matches.place(if host.host_interface.is_some() { "if-name" } else { "linux" })));
    }
    let name = host.name.clone();
    control.put(HostInterface {
        namespace: matches.find("netns")?,
        mac: matches.find("hw-addr")?,
        rx_queues: matches.find("num-rx-queues")?.unwrap_or(host.rx_queues),
        ..host
    })?;
    Ok(Reply::text(name))
}

async fn delete(control: Control, matches: Matches, _: Output) -> Result<Reply, CommandError> {
    let linux = matches.get::<String>("linux")?;
    let missing =
        || CommandError::new(format!("no host interface uses {linux}; `show af-packet` lists those that are used"));
    let host = HostInterface::find(&control, &linux).ok_or_else(|| missing().at(matches.place("linux")))?;
    control.delete_in_turns::<HostInterface>(&host.name).await?;
    Ok(Reply::done())
}

async fn show(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let titles = ["Name", "Linux interface", "Namespace", "Linux's MAC", "Linux's MTU", "Queues", "State"];
    let mut rows = Rows::new(&control, &output, titles);
    let row = |host: Rc<HostInterface>| {
        let room = control.room::<HostInterfaces>();
        let linked = room.links.get(&host.name);
        let state = match linked.map(|linked| linked.state) {
            Some(LinkState::Running) => "running",
            Some(LinkState::Down) => "down",
            Some(LinkState::Moved | LinkState::Gone) | None => {
                "error: Linux has it no more; it is made anew when it has"
            }
        };
        Some([
            Cell::from(host.name.clone()),
            Cell::from(host.linux()),
            Cell::from(host.namespace.clone()),
            Cell::from(linked.map(|linked| linked.link.mac.to_string())),
            Cell::from(linked.map(|linked| linked.link.mtu)),
            Cell::from(host.rx_queues.get()),
            Cell::from(state),
        ])
    };
    rows.each(control.walk::<HostInterface>(), row).await;
    Ok(rows.end())
}
