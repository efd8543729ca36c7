//! `snort create-instance`, `snort delete instance`, `snort attach`, `snort detach`, `snort disconnect`, `show snort`.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Listing, Matches, Output, Reply};
use quiver_interface::{Direction, InterfaceName, Interfaces, walk};
use serde_json::json;

use crate::attachment::SnortAttachment;
use crate::clients::disconnect;
use crate::instance::{Instance, InstanceName, OnDisconnect, SnortInstance};
use crate::pair::Pair;
use crate::room::Snort;
use crate::verdict::Verdict;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<OnDisconnect>());
    let create = "snort create-instance {name <name:text> | queue-size <queue-size:u32> \
                  | queues-per-thread <queues-per-thread:u16> | on-disconnect <on-disconnect:snort-on-disconnect> \
                  | bypass-seconds <bypass-seconds:u32>}";
    let help = "Create an inspection instance, to which an inspector attaches by its name.";
    commands.add(Command::new(create, help, self::create).arguments_of::<SnortInstance>());
    let delete = "snort delete instance <snort-instances>";
    let help = "Delete an inspection instance that no inspector has, and detach its interfaces.";
    commands.add(Command::new(delete, help, self::delete));
    for (word, is_attach, help) in [
        ("attach", true, "Inspect packets of an interface: those that it receives, sends, or both."),
        ("detach", false, "End the inspection of packets of an interface."),
    ] {
        let syntax =
            format!("snort {word} {{instance <snort-instances> | interface <interface> | input | output | inout}}");
        let command = Command::new(syntax, help, move |control, given| attach(control, given, is_attach));
        let command = command.argument("input", "packets that the interface receives");
        let command = command.argument("output", "packets that it sends");
        commands.add(command.argument("inout", "both"));
    }
    let client = "snort disconnect client <number:u32>";
    let command = Command::new(
        client,
        "Disconnect an inspector; its packets are treated as the instance says.",
        disconnect_client,
    );
    commands.add(command.argument("number", "number of the inspector, as `show snort clients` has it"));
    let instance = "snort disconnect instance <snort-instances>";
    commands.add(Command::new(instance, "Disconnect the inspectors of an instance.", disconnect_instance));
    let show = "Show inspection instances, their queue pairs and counts by verdict.";
    commands.add(Command::waiting("show snort instances", show, show_instances));
    let show = "Show the interfaces whose packets are inspected.";
    commands.add(Command::waiting("show snort interfaces", show, show_interfaces));
    commands.add(Command::new(
        "show snort clients",
        "Show connected inspectors and the instances that each has.",
        show_clients,
    ));
}

fn create(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let name: String = given.get("name")?;
    let mut instance = SnortInstance::new(name);
    if control.objects().get::<SnortInstance>(&instance.name).is_some() {
        return Err(CommandError::new(format!("instance '{}' already exists; choose another name", instance.name)));
    }
    instance.queue_size = given.find("queue-size")?.unwrap_or(instance.queue_size);
    instance.queues_per_thread = given.find("queues-per-thread")?.unwrap_or(instance.queues_per_thread);
    instance.on_disconnect = given.find("on-disconnect")?.unwrap_or(instance.on_disconnect);
    instance.bypass_seconds = given.find("bypass-seconds")?.unwrap_or(instance.bypass_seconds);
    control.put(instance)?;
    Ok(Reply::done())
}

/// Whether an inspector has a queue pair of an instance.
pub(crate) fn is_in_use(control: &Control, name: &str) -> bool {
    let room = control.room::<Snort>();
    let instance = room.number(name).and_then(|number| room.instance(number));
    instance.is_some_and(|instance| instance.pairs.iter().any(|pair| pair.client().is_some()))
}

fn delete(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let InstanceName(name) = given.get("snort-instances")?;
    if is_in_use(control, &name) {
        let what = format!("instance '{name}' has a connected client; run `snort disconnect instance {name}` first");
        return Err(CommandError::new(what));
    }
    control.delete_with_users::<SnortInstance>(&name)?;
    Ok(Reply::done())
}

fn attach(control: &Control, given: &Matches, is_attach: bool) -> Result<Reply, CommandError> {
    let (instance, interface): (InstanceName, InterfaceName) = (given.get("snort-instances")?, given.get("interface")?);
    let both = given.has("inout");
    let directions = [(Direction::Rx, given.has("input") || both), (Direction::Tx, given.has("output") || both)];
    let wanted: Vec<Direction> = directions.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|it| it.0).collect();
    if wanted.is_empty() {
        return Err(CommandError::new("no direction is given; write input, output or inout"));
    }
    for direction in wanted {
        match is_attach {
            true => {
                control.put(SnortAttachment { interface: interface.clone(), direction, instance: instance.clone() })?;
            }
            false => detach(control, &interface, direction, &instance)?,
        }
    }
    Ok(Reply::done())
}

fn detach(
    control: &Control,
    interface: &InterfaceName,
    direction: Direction,
    instance: &InstanceName,
) -> Result<(), CommandError> {
    let key = (interface.clone(), direction);
    if control.objects().get::<SnortAttachment>(&key).is_none_or(|known| known.instance != *instance) {
        let what = format!(
            "interface {interface} is not assigned to snort instance {instance} ({direction}); see `show snort interfaces`"
        );
        return Err(CommandError::new(what));
    }
    Ok(control.delete::<SnortAttachment>(&key)?)
}

fn disconnect_client(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let client: u32 = given.get("number")?;
    if !control.room::<Snort>().clients().contains_key(&client) {
        return Err(CommandError::new(format!("unknown client '{client}'; see `show snort clients`")));
    }
    disconnect(control, client);
    Ok(Reply::done())
}

fn disconnect_instance(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let InstanceName(name) = given.get("snort-instances")?;
    disconnect_all(control, &name);
    Ok(Reply::done())
}

/// Disconnects the inspectors of an instance.
pub(crate) fn disconnect_all(control: &Control, name: &str) {
    let clients: Vec<u32> = {
        let room = control.room::<Snort>();
        let instance = room.number(name).and_then(|number| room.instance(number));
        instance.into_iter().flat_map(|instance| &instance.pairs).filter_map(|pair| pair.client()).collect()
    };
    clients.into_iter().for_each(|client| disconnect(control, client));
}

/// Counts of a pair, each with its name.
fn counts(pair: &Pair) -> [(&'static str, u64); 7] {
    let counts = &pair.counts;
    let [passed, denied] = &counts.bypassed;
    [
        ("passed without inspector", &counts.passed),
        ("bypassed", passed),
        ("denied by flow", denied),
        ("no slot", &counts.full),
        ("lost with inspector", &counts.lost),
        ("late", &counts.late),
        ("bad descriptors and verdicts", &counts.bad),
    ]
    .map(|(name, count)| (name, count.load(Relaxed)))
}

fn write_pair(text: &mut String, pair: &Pair) {
    let verdicts = Verdict::ALL.map(|verdict| (verdict, pair.counts.verdicts[verdict as usize].load(Relaxed)));
    let sum: u64 = verdicts.iter().map(|(_, count)| count).sum();
    let by: Vec<String> =
        verdicts.iter().filter(|(_, n)| *n > 0).map(|(verdict, n)| format!("{}: {n}", verdict.name())).collect();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    let client = pair.client().map_or("none".to_owned(), |client| client.to_string());
    let (size, waiting) = (pair.size(), pair.waiting());
    // A text that is a String takes everything.
    let _ = writeln!(text, "  qpair: {}.{}", pair.worker, pair.queue);
    let _ = writeln!(text, "    descriptors: total {size} free {}", size.saturating_sub(waiting as usize));
    let _ = writeln!(text, "    client: {client}");
    let _ = writeln!(text, "    packets processed: {sum}{by}");
    for (name, count) in counts(pair).iter().filter(|(_, count)| *count > 0) {
        let _ = writeln!(text, "    packets {name}: {count}");
    }
}

fn pair_json(pair: &Pair) -> serde_json::Value {
    let mut json = json!({
        "worker": pair.worker, "queue": pair.queue, "client": pair.client(), "size": pair.size(), "waiting": pair.waiting(),
    });
    for verdict in Verdict::ALL {
        json["verdicts"][verdict.name().to_lowercase()] = pair.counts.verdicts[verdict as usize].load(Relaxed).into();
    }
    for (name, count) in counts(pair) {
        json["counts"][name] = count.into();
    }
    json
}

async fn show_instances(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    let instances: Vec<Arc<Instance>> = control.room::<Snort>().instances().cloned().collect();
    for instance in instances {
        listing.step().await;
        let text = listing.text();
        let _ = writeln!(text, "instance: {} ({})", instance.name, instance.number);
        let _ = writeln!(text, "  shared memory: size {}", instance.bytes());
        let _ = writeln!(text, "  drop on disconnect: {}", u8::from(!instance.passes()));
        for pair in &instance.pairs {
            write_pair(text, pair);
        }
        listing.element(|| {
            let pairs: Vec<_> = instance.pairs.iter().map(|pair| pair_json(pair)).collect();
            let on_disconnect = if instance.passes() { "pass" } else { "drop" };
            json!({
                "name": instance.name, "number": instance.number, "memory": instance.bytes(),
                "on-disconnect": on_disconnect, "queue-pairs": pairs,
            })
        });
    }
    Ok(listing.end())
}

async fn show_interfaces(control: Control, _: Matches, output: Output) -> Result<Reply, CommandError> {
    let mut listing = Listing::new(&control, &output);
    for (direction, title) in [(Direction::Rx, "input instances:"), (Direction::Tx, "output instances:")] {
        let mut is_first = true;
        for id in walk(&control) {
            listing.step().await;
            let name = InterfaceName(control.room::<Interfaces>().name(id));
            let known = control.objects().get::<SnortAttachment>(&(name.clone(), direction));
            let Some(known) = known else { continue };
            if std::mem::take(&mut is_first) {
                listing.line(title);
            }
            listing.line(&format!("{name}:\t{}", known.instance));
            listing.element(
                || json!({"interface": name.0, "direction": direction.to_string(), "instance": known.instance.0}),
            );
        }
    }
    Ok(listing.end())
}

fn show_clients(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let room = control.room::<Snort>();
    let mut text = format!("number of clients: {}\n", room.clients().len());
    let mut all = vec![];
    for (number, client) in room.clients() {
        let [major, minor, patch, _] = client.version.to_be_bytes();
        let mode = client.mode_name();
        let _ = writeln!(text, "Client {number}");
        let _ = writeln!(text, "  DAQ version: {major}.{minor}.{patch}");
        let _ = writeln!(text, "  number of instances: {}", client.threads);
        let _ = writeln!(text, "  mode: {mode}");
        let _ = writeln!(text, "  inputs:");
        let pairs: Vec<String> =
            client.pairs().map(|(instance, worker, queue)| format!("{instance}:{worker}.{queue}")).collect();
        for pair in &pairs {
            let _ = writeln!(text, "    {pair}");
        }
        let version = format!("{major}.{minor}.{patch}");
        all.push(json!({
            "number": number, "version": version, "threads": client.threads, "mode": mode, "inputs": pairs,
        }));
    }
    Ok(Reply::new(text, all.into()))
}
