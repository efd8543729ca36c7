//! `sfdp tenant`, `set sfdp ... tenant`, `show sfdp tenant`, and what tenants have: `show sfdp services`, `show sfdp timeouts`.

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Cell, Command, CommandError, Matches, Output, Reply, Rows, Table};
use serde_json::json;

use crate::metrics::Cookie;
use crate::pressure::Watermarks;
use crate::record::{Direction, State};
use crate::service::{Chain, Services, in_order};
use crate::slow_path::SlowPath;
use crate::tenant::{CookieRules, EntryMode, TcpChecks, Tenant, TenantId, Tenants};
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
    let set = "set sfdp source-sessions-max tenant <session-tenants> (<max:u32> | none)";
    let help =
        "Set how many sessions each source address of a tenant may have begun at a time; or have none limit them.";
    commands.add(Command::new(set, help, set_source_sessions_max));
    let set = "set sfdp adaptive tenant <session-tenants> (start <start:u32> end <end:u32> | none)";
    let help = "Have timeouts of a tenant shrink while the table of sessions is fuller than a share; or not.";
    let set = Command::new(set, help, set_adaptive);
    let set = set.argument("start", "percent of the table from which on they shrink, such as 60");
    commands.add(set.argument("end", "percent at which nothing would be left of them, such as 120"));
    let set = "set sfdp tcp tenant <session-tenants> (compatible | strict)";
    let set = Command::new(set, "Set how segments of a tenant's TCP connections are checked.", set_tcp);
    let set = set.argument("compatible", "by flags and the numbers of FINs, as in VPP");
    commands.add(set.argument("strict", "by windows and RFC 5961 as well"));
    let set = "set sfdp entry tenant <session-tenants> (session-first | policy-first)";
    let set = Command::new(set, "Set when a tenant's sessions are stored.", set_entry);
    let set = set.argument("session-first", "with their first packet, whatever the chain does with it");
    commands.add(set.argument("policy-first", "once services that judge let the first packet pass"));
    let set = "set sfdp syn-cookies tenant <session-tenants> (watermark <watermark:u32> [mss <mss:u16>] | none)";
    let help = "Have SYNs of a tenant answered by cookies while it has more sessions without an answer; or not.";
    let set = Command::new(set, help, set_syn_cookies);
    let set = set.argument("watermark", "sessions without an answer there may be until then; 0: all SYNs are");
    commands.add(set.argument("mss", "maximum segment size that the answers announce, by default 1440"));
    let show = Command::waiting(
        "show sfdp tenant [<session-tenants> [detail]]",
        "Show tenants with their services and timeouts; of one also its counters.",
        show_tenants,
    );
    commands.add(show.argument("detail", "timeouts, too"));
    commands.add(Command::new("show sfdp services", "Show the services of chains.", show_services));
    commands.add(Command::new("show sfdp timeouts", "Show timeouts and their defaults.", show_timeouts));
}

fn add_tenant(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let id: u32 = given.get("id")?;
    if control.objects().get::<Tenant>(&id).is_some() {
        return Err(CommandError::new(format!("there is a tenant {id} already")).at(given.place("id")));
    }
    control.put(Tenant::of_vpp(id, given.find("context")?))?;
    Ok(Reply::done())
}

fn delete_tenant(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let TenantId(id) = given.get("session-tenants")?;
    control.delete::<Tenant>(&id)?;
    Ok(Reply::done())
}

/// The tenant that a command names.
pub(crate) fn tenant(control: &Control, given: &Matches) -> Result<Tenant, CommandError> {
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

fn set_source_sessions_max(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.source_sessions_max = given.find("max")?;
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_entry(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.entry = if given.has("policy-first") { EntryMode::PolicyFirst } else { EntryMode::SessionFirst };
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_adaptive(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.adaptive_start = given.find("start")?.unwrap_or_default();
    tenant.adaptive_end = given.find("end")?.unwrap_or_default();
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_syn_cookies(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.syn_cookies = given.find("watermark")?;
    if let Some(mss) = given.find("mss")? {
        tenant.syn_cookies_mss = mss;
    }
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_tcp(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.tcp = if given.has("strict") { TcpChecks::Strict } else { TcpChecks::Compatible };
    control.put(tenant)?;
    Ok(Reply::done())
}

fn set_timeout(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let mut tenant = tenant(control, given)?;
    tenant.set_timeout(&given.get::<String>("name")?, given.get("seconds")?);
    control.put(tenant)?;
    Ok(Reply::done())
}

/// Names of a chain's services.
pub(crate) fn services(control: &Control, chain: &Chain) -> String {
    let services = control.room::<Services>();
    let names = chain.services().iter().filter_map(|number| services.all().get(usize::from(*number)));
    let names: Vec<_> = names.map(|service| service.name).collect();
    if names.is_empty() { services.all()[usize::from(crate::service::DROP)].name.to_owned() } else { names.join(",") }
}

/// A limit, for people.
fn limit(most: u32) -> String {
    if most == 0 { "any number".to_owned() } else { format!("at most {most}") }
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
    let Watermarks { start, end } = row.watermarks;
    let shrink = if row.watermarks.are_off() { "never".to_owned() } else { format!("from {start} % to {end} %") };
    let checks = if row.is_strict { TcpChecks::Strict } else { TcpChecks::Compatible };
    let cookies = row.cookies.map_or("never".to_owned(), |CookieRules { watermark, mss }| {
        format!("from {watermark} sessions without an answer on, MSS {mss}")
    });
    let known = control.room::<Timeouts>();
    let timeouts: Vec<_> = known.all().iter().zip(row.timeouts).collect();
    let live: Vec<_> =
        State::ALL.iter().zip(counts.live).map(|(state, count)| format!("{count} {}", state.name())).collect();
    let mut lines = vec![
        format!("tenant: {id}"),
        format!("  context: {}", row.context),
        format!("  forward services: {forward}"),
        format!("  reverse services: {reverse}"),
        format!("  entry: {}", row.entry()),
        format!("  sessions there may be: {}", limit(row.sessions_max)),
        format!("  sessions of a source: {}", limit(row.source_sessions_max)),
        format!("  timeouts shrink: {shrink}"),
        format!("  checks of TCP: {checks}"),
        format!("  SYN cookies: {cookies}"),
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
    let of_cookies = || Cookie::NAMES.into_iter().zip(counts.cookies);
    if row.cookies.is_some() {
        lines.extend(of_cookies().map(|(name, count)| format!("  SYN cookies, {name}: {count}")));
    }
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
        "evicted-sessions": counts.evicted, "entry": row.entry().to_string(),
        "sessions-max": row.sessions_max, "source-sessions-max": row.source_sessions_max,
        "tcp": checks.to_string(), "adaptive-start": start, "adaptive-end": end,
        "incoming-packets": counts.incoming.packets, "incoming-bytes": counts.incoming.bytes, "timeouts": timeouts,
        "sessions": by_name(State::ALL.iter().map(|state| state.name()).zip(counts.live)),
        "syn-cookies": row.cookies.map(|rules| rules.watermark), "syn-cookies-counted": by_name(of_cookies()),
        "denied": by_name(counts.denied.iter().filter_map(|(reason, count)| Some((reason.name()?, *count)))),
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
    for (number, service) in control.room::<Services>().named() {
        table.row([Cell::from(u64::from(number)), Cell::from(service.name), Cell::from(service.is_terminal)]);
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
