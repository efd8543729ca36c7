//! `sfdp tenant`, `set sfdp ...`, `show sfdp ...`, `show session`, `clear session`, `kill sfdp session`.

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell, Command, CommandError, Matches, Output, Reply, Rows, Table};
use quiver_interface::InterfaceName;
use quiver_ip::api::by_family;
use quiver_wire::IpProtocol;
use serde_json::json;

use crate::expiry::{Which, end_session, end_sessions};
use crate::interface::{SessionInterface, Tracked};
use crate::listing::{self, Listed};
use crate::node::lifecycle::Blocks;
use crate::record::{Direction, State};
use crate::room::Room;
use crate::service::{Chain, Services, in_order};
use crate::shown::{FILTERS, Filter, ends, format, id, protocol, state, with_filters};
use crate::slow_path::SlowPath;
use crate::tcp::FirstWithoutSyn;
use crate::tenant::{TENANTS_MAX, Tenant, TenantId, Tenants};
use crate::timeouts::Timeouts;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
    commands.add_kind(ArgumentKind::of::<TenantId>());
    let add = "sfdp tenant add <id:u32> [context <context:u32>]";
    commands.add(Command::new(add, "Add a tenant, by default with its number as context.", add_tenant));
    commands.add(Command::new("sfdp tenant del <session-tenants>", "Delete a tenant and its sessions.", delete_tenant));
    let set = "set sfdp services tenant <session-tenants> <service:text>... (forward | reverse)";
    let set = Command::new(set, "Set the services that process a tenant's packets of one direction.", set_services);
    let set = set.argument("service", "as `show sfdp services` lists them");
    let set = set.argument("forward", "packets from initiators");
    commands.add(set.argument("reverse", "packets from responders"));
    let set = "set sfdp timeout tenant <session-tenants> <name:text> <seconds:u32>";
    let set = Command::new(set, "Set a timeout of a tenant.", set_timeout);
    commands.add(set.argument("name", "such as tcp-established").argument("seconds", "0: when it is looked at next"));
    let set = "set sfdp sessions-max tenant <session-tenants> (<max:u32> | none)";
    let help = "Set how many sessions a tenant may have at a time; or have the table alone limit them.";
    commands.add(Command::new(set, help, set_sessions_max));
    let set = "set sfdp interface-input <interface> tenant <session-tenants> {ip6 | disable}";
    let help = "Have packets of a family that an interface receives belong to sessions of a tenant; or no longer.";
    let set = Command::new(set, help, set_input).argument("ip6", "IPv6 packets instead of IPv4 packets");
    commands.add(set.argument("disable", "forward them without sessions"));
    let set = "set sfdp tcp-check fsol-non-syn (remove | security)";
    let set = Command::new(set, "Set what becomes of TCP sessions whose first packet is no SYN.", set_first);
    let set = set.argument("remove", "forward the packet, and end the session (default)");
    commands.add(set.argument("security", "drop packets until the timeout `security` has passed"));
    let line = "(kill sfdp session | clear session) (all | [index] <number:u32>)";
    let kill = Command::waiting(line, "End all sessions, or the one with an index.", kill);
    commands.add(kill.argument("number", "index of the session, as `show session` lists it"));
    let show = format!("show (session | sfdp session-table [unsafe-show-all]) {{{FILTERS} | max <max:u32> | verbose}}");
    let show = Command::waiting(&show, "Show sessions, of all tenants or as selected.", show_sessions);
    let show = with_filters(show).argument("max", "at most so many");
    let show = show.argument("verbose", "age in seconds, packets and bytes of both directions, too");
    commands.add(show.argument("unsafe-show-all", "the same; all sessions are shown anyway"));
    let show = "show (sfdp session-detail | session detail) <id:text>";
    let show = Command::new(show, "Show one session, with its services and counters.", show_detail);
    commands.add(show.argument("id", "id of the session, such as 0x100000000"));
    let show = Command::waiting(
        "show sfdp tenant [<session-tenants> [detail]]",
        "Show tenants with their services and timeouts; of one also its counters.",
        show_tenants,
    );
    commands.add(show.argument("detail", "timeouts, too"));
    commands.add(Command::new("show sfdp services", "Show the services of chains.", show_services));
    commands.add(Command::new("show sfdp timeouts", "Show timeouts and their defaults.", show_timeouts));
    commands.add(Command::new("show sfdp status", "Show how many sessions there are and may be.", show_status));
    let show = "show sfdp tcp session-table [tenant <session-tenants>]";
    commands.add(Command::waiting(show, "Show TCP sessions and what was seen of them.", show_tcp));
}

fn add_tenant(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let id: u32 = given.get("id")?;
    if control.objects().get::<Tenant>(&id).is_some() {
        return Err(CommandError::new(format!("there is a tenant {id} already")).at(given.place("id")));
    }
    control.put(Tenant { context: given.find("context")?, ..Tenant::new(id) })?;
    Ok(Reply::done())
}

fn delete_tenant(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let TenantId(id) = given.get("session-tenants")?;
    control.delete::<Tenant>(&id)?;
    Ok(Reply::done())
}

/// The tenant that a command names.
fn tenant(control: &Control, given: &Matches) -> Result<Tenant, CommandError> {
    let TenantId(id) = given.get("session-tenants")?;
    let unknown = || CommandError::new(format!("there is no tenant {id}")).at(given.place("session-tenants"));
    control.objects().get::<Tenant>(&id).map(|tenant| Tenant::clone(&tenant)).ok_or_else(unknown)
}

fn set_services(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    let direction = Direction::reverse(given.has("reverse"));
    *tenant.services_mut(direction) = in_order(control, given.all("service")?);
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_sessions_max(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.sessions_max = given.find("max")?;
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_timeout(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.set_timeout(&given.get::<String>("name")?, given.get("seconds")?);
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_input(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    by_family!(given.has("ip6"), set_input_family(control, given))
}

fn set_input_family<F: Tracked>(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    let TenantId(id) = given.get("session-tenants")?;
    let object = (!given.has("disable")).then(|| SessionInterface::<F>::of(interface.clone(), id));
    control.assign(&interface, object)?;
    Ok(Reply::done())
}

fn set_first(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let first = if given.has("security") { FirstWithoutSyn::Security } else { FirstWithoutSyn::Remove };
    control.room::<Blocks>().set(first);
    Ok(Reply::done())
}

async fn kill(control: Control, given: Matches, _: Output) -> Result<Reply, CommandError> {
    let Some(number) = given.find::<u32>("number")? else {
        end_sessions(control, Which::All).await;
        return Ok(Reply::done());
    };
    let (worker, index) = listing::place(number);
    match end_session(control, worker, index).await {
        true => Ok(Reply::done()),
        false => Err(CommandError::new(format!("there is no session {number}")).at(given.place("number"))),
    }
}

async fn show_sessions(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let filter = Filter::of(&given)?;
    let titles = [
        "Id",
        "Index",
        "Tenant",
        "Thread",
        "Type",
        "Protocol",
        "Context",
        "Initiator",
        "Responder",
        "State",
        "Seconds",
    ];
    let more = ["Age", "Packets there", "Bytes there", "Packets back", "Bytes back"];
    let more = if given.has("verbose") { &more[..] } else { &[] };
    let mut rows = Rows::new(&control, &output, titles.iter().chain(more).copied());
    let mut left = given.find::<u32>("max")?.map_or(usize::MAX, |most| most as usize);
    for listed in listing::all(&control) {
        if left == 0 {
            break;
        }
        rows.step().await;
        let Some(listed) = listed.filter(|listed| filter.has(listed)) else { continue };
        left -= 1;
        let [initiator, responder] = ends(&control, &listed);
        let cells = [
            Cell::from(id(&listed)),
            Cell::from(listed.number()),
            Cell::from(listed.tenant.id),
            Cell::from(listed.thread()),
            Cell::from(format(&control, &listed)),
            Cell::from(protocol(&listed)),
            Cell::from(listed.key.context()),
            Cell::from(initiator),
            Cell::from(responder),
            Cell::from(state(&listed)),
            Cell::from(listed.remaining),
        ];
        let counted = listed.traffic.into_iter().flat_map(|(packets, bytes)| [packets, bytes]).map(Cell::from);
        let counted = [Cell::from(listed.age)].into_iter().chain(counted).take(more.len());
        rows.row(cells.into_iter().chain(counted));
    }
    Ok(rows.end())
}

async fn show_tcp(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let filter = Filter::of(&given)?;
    let titles = ["Id", "Tenant", "Thread", "Initiator", "Responder", "State", "Seen"];
    let mut rows = Rows::new(&control, &output, titles);
    let row = |listed: Option<Listed>| {
        let listed = listed.filter(|listed| listed.key.protocol() == IpProtocol::TCP.0 && filter.has(listed))?;
        let [initiator, responder] = ends(&control, &listed);
        let seen = crate::tcp::FLAGS.iter().filter(|(flag, _)| listed.status.flags & flag != 0);
        let seen: Vec<_> = seen.map(|(_, name)| *name).collect();
        Some([
            Cell::from(id(&listed)),
            Cell::from(listed.tenant.id),
            Cell::from(listed.thread()),
            Cell::from(initiator),
            Cell::from(responder),
            Cell::from(state(&listed)),
            Cell::from(seen.join(" ")),
        ])
    };
    rows.each(listing::all(&control), row).await;
    Ok(rows.end())
}

/// Names of a chain's services.
fn services(control: &Control, chain: &Chain) -> String {
    let services = control.room::<Services>();
    let names = chain.services().iter().filter_map(|number| services.all().get(usize::from(*number)));
    let names: Vec<_> = names.map(|service| service.name).collect();
    if names.is_empty() { services.all()[usize::from(crate::service::DROP)].name.to_owned() } else { names.join(",") }
}

fn show_detail(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let text: String = given.get("id")?;
    let wrong = |what: String| CommandError::new(what).at(given.place("id"));
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    let number = u64::from_str_radix(digits, 16)
        .map_err(|_| wrong(format!("'{text}' is no id of a session; write one such as 0x100000000")))?;
    let listed = listing::find(control, number).ok_or_else(|| wrong(format!("there is no session {text}")))?;
    let [initiator, responder] = ends(control, &listed);
    let [forward, reverse] = listed.tenant.chains.map(|chain| services(control, &chain));
    let [(forward_packets, forward_bytes), (reverse_packets, reverse_bytes)] = listed.traffic;
    let lines = [
        format!("  session id: {}", id(&listed)),
        format!("  thread index: {}", listed.thread()),
        format!("  session index: {}", listed.number()),
        format!("  tenant: {} (context {})", listed.tenant.id, listed.key.context()),
        format!("  specification: {}\t{initiator}\t-> {responder}", protocol(&listed)),
        format!("  state: {}", state(&listed)),
        format!("  expires after: {:.6}s", listed.remaining),
        format!("  forward service chain: {forward}"),
        format!("  reverse service chain: {reverse}"),
        "  counters:".to_owned(),
        "    forward flow:".to_owned(),
        format!("      bytes: {forward_bytes}"),
        format!("      packets: {forward_packets}"),
        "    reverse flow:".to_owned(),
        format!("      bytes: {reverse_bytes}"),
        format!("      packets: {reverse_packets}"),
    ];
    Ok(Reply::text(lines.join("\n")))
}

/// Numbers by name, in JSON.
fn by_name(numbers: impl Iterator<Item = (&'static str, u64)>) -> serde_json::Map<String, serde_json::Value> {
    numbers.map(|(name, number)| (name.to_owned(), number.into())).collect()
}

/// Shows a tenant with its counters. The words of the counters are those that CSIT looks for.
fn show_tenant(control: &Control, id: u32) -> Result<Reply, CommandError> {
    let tenants = control.room::<Tenants>();
    let slot = tenants.slot(id).ok_or_else(|| CommandError::new(format!("there is no tenant {id}")))?;
    let (row, counts) = (tenants.row(slot), tenants.counts(slot));
    let [forward, reverse] = row.chains.map(|chain| services(control, &chain));
    let known = control.room::<Timeouts>();
    let timeouts: Vec<_> = known.all().iter().zip(row.timeouts).collect();
    let live: Vec<_> =
        State::ALL.iter().zip(counts.live).map(|(state, count)| format!("{count} {}", state.name())).collect();
    let mut lines = vec![
        format!("tenant: {id}"),
        format!("  context: {}", row.context),
        format!("  forward services: {forward}"),
        format!("  reverse services: {reverse}"),
        "counters:".to_owned(),
        format!("  created sessions: {}", counts.created),
        format!("  removed sessions: {}", counts.removed),
        format!("  evicted sessions: {}", counts.evicted),
        format!("  sessions: {}", live.join(", ")),
        format!("  incoming packets: {}", counts.incoming.packets),
        format!("  incoming bytes: {}", counts.incoming.bytes),
    ];
    lines.extend(
        counts.denied.iter().map(|(reason, count)| format!("  denied, {}: {count}", reason.name().unwrap_or_default())),
    );
    lines.push("timeouts:".to_owned());
    lines.extend(timeouts.iter().map(|(timeout, seconds)| format!("  {}: {seconds} s", timeout.name)));
    let slow_path = control.objects().get::<Tenant>(&id).map(|tenant| tenant.slow_path.clone()).unwrap_or_default();
    if !slow_path.is_empty() {
        lines.push("slow path:".to_owned());
        lines.extend(slow_path.iter().map(|SlowPath { packets, node }| format!("  {packets}: {node}")));
    }
    let timeouts = by_name(timeouts.into_iter().map(|(timeout, seconds)| (timeout.name, seconds.into())));
    let json = json!({
        "tenant": id, "context": row.context, "forward": forward, "reverse": reverse,
        "created-sessions": counts.created, "removed-sessions": counts.removed,
        "evicted-sessions": counts.evicted,
        "sessions": by_name(State::ALL.iter().map(|state| state.name()).zip(counts.live)),
        "denied": by_name(counts.denied.iter().filter_map(|(reason, count)| Some((reason.name()?, *count)))),
        "incoming-packets": counts.incoming.packets, "incoming-bytes": counts.incoming.bytes, "timeouts": timeouts,
        "slow-path": slow_path.iter().map(|path| (path.packets.to_string(), path.node.clone().into())).collect::<serde_json::Map<_, _>>(),
    });
    Ok(Reply::new(lines.join("\n"), json))
}

async fn show_tenants(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only = given.find("session-tenants")?.map(|TenantId(id)| id);
    if let Some(id) = only.filter(|_| given.has("detail")) {
        return show_tenant(&control, id);
    }
    let mut rows = Rows::new(&control, &output, ["Tenant", "Index", "Context", "Forward", "Reverse", "Timeouts"]);
    let walk = {
        let control = control.clone();
        quiver_control::one_by_one(move |last| control.room::<Tenants>().behind(last).map(|of| (of.0, of)))
    };
    let row = |(id, slot): (u32, u16)| {
        if only.is_some_and(|only| only != id) {
            return None;
        }
        let row = control.room::<Tenants>().row(slot);
        let known = control.room::<Timeouts>();
        let timeouts = known.all().iter().zip(row.timeouts);
        let timeouts: Vec<_> = timeouts.map(|(timeout, seconds)| format!("{} {seconds} s", timeout.name)).collect();
        let [forward, reverse] = row.chains.map(|chain| services(&control, &chain));
        Some([
            Cell::from(id),
            Cell::from(u64::from(slot)),
            Cell::from(row.context),
            Cell::from(forward),
            Cell::from(reverse),
            Cell::from(timeouts.join(", ")),
        ])
    };
    rows.each(walk, row).await;
    Ok(rows.end())
}

fn show_services(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Index", "Service", "Ends a chain"]);
    for (index, service) in control.room::<Services>().all().iter().enumerate() {
        table.row([Cell::from(index), Cell::from(service.name), Cell::from(service.is_terminal)]);
    }
    Ok(table.into())
}

fn show_timeouts(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Index", "Timeout", "Seconds"]);
    for (index, timeout) in control.room::<Timeouts>().all().iter().enumerate() {
        table.row([Cell::from(index), Cell::from(timeout.name), Cell::from(timeout.seconds)]);
    }
    Ok(table.into())
}

fn show_status(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let room = control.room::<Room>();
    let defaults = room.defaults();
    let (live, most, bytes) =
        room.sessions().map_or((0, defaults.sessions, 0), |all| (all.len(), all.capacity(), all.bytes()));
    let (seconds, margin) = (defaults.interval.as_secs_f64(), room.margin());
    // The words of the first lines are VPP's.
    let (free, percent) = (most.saturating_sub(live), 100.0 * live as f64 / most.max(1) as f64);
    let text = [
        format!("max sessions: {most}"),
        format!("active sessions: {live} ({percent:.2}%)"),
        format!("free sessions: {free}"),
        format!("eviction sessions margin: {margin}"),
        format!("timer tick interval (s): {seconds:.6}"),
        format!("max tenants: {TENANTS_MAX}"),
        format!("memory of sessions (bytes): {bytes}"),
    ];
    let text = text.join("\n");
    Ok(Reply::new(
        text,
        json!({"sessions": live, "sessions-max": most, "bytes": bytes, "margin": margin, "interval-s": seconds}),
    ))
}
