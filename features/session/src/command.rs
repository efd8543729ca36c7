//! `set sfdp ...` and `show sfdp ...` of sessions, `show session`, `clear session`, `kill sfdp session`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_interface::InterfaceName;
use quiver_ip::api::by_family;
use quiver_wire::IpProtocol;
use serde_json::json;

use crate::expiry::{Which, end_session, end_sessions};
use crate::interface::{SessionInterface, Tracked};
use crate::listing::{self, Listed};
use crate::node::lifecycle::Blocks;
use crate::room::Room;
use crate::shown::{FILTERS, Filter, ends, format, id, protocol, state, with_filters};
use crate::status_field::StatusFields;
use crate::tcp::FirstWithoutSyn;
use crate::tenant::{TENANTS_MAX, TenantId};
use crate::tenant_command::services;

pub(crate) fn register(control: &Control) {
    let commands = control.commands();
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
    commands.add(Command::new("show sfdp status", "Show how many sessions there are and may be.", show_status));
    let show = "show sfdp tcp session-table [tenant <session-tenants>]";
    commands.add(Command::waiting(show, "Show TCP sessions and what was seen of them.", show_tcp));
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
    ];
    let fields = control.room::<StatusFields>();
    let kept = fields.all().iter().filter_map(|claim| {
        let text = (claim.show)(claim.field.of(listed.status))?;
        Some(format!("  {}: {text}", claim.name))
    });
    let behind = [
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
    let lines: Vec<_> = lines.into_iter().chain(kept).chain(behind).collect();
    Ok(Reply::text(lines.join("\n")))
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
