//! Changes of tenants.

use quiver_control::{Change, Control, ObjectError};

use crate::cookies::challenge::set_secret;
use crate::expiry::{end_sessions_of, review_sessions_of};
use crate::interface::no_space;
use crate::node::lifecycle::{LIFECYCLE, TCP_CHECK};
use crate::pressure::Watermarks;
use crate::room::{Room, secret};
use crate::service::{CHAIN_MAX, Chain, Services};
use crate::slow_path::SlowPaths;
use crate::tenant::{CookieRules, EntryMode, TENANTS_MAX, TcpChecks, Tenant, TenantRow, Tenants, next_revision};
use crate::timeouts::Timeouts;

/// Highest share of the table, in percent, that a watermark may be.
const ADAPTIVE_MAX: u32 = 1000;

/// Maximum segment sizes that answers with cookies may announce.
const MSS_RANGE: std::ops::RangeInclusive<u16> = 536..=8960;

/// Checks a tenant on its own.
pub(crate) fn check(tenant: &Tenant) -> Result<(), ObjectError> {
    for (field, services) in [("forward", &tenant.forward), ("reverse", &tenant.reverse)] {
        if services.len() > CHAIN_MAX {
            let what = format!("there are {} services", services.len());
            return Err(ObjectError::field(field, what).remedy(format!("name at most {CHAIN_MAX}")));
        }
    }
    let limits = [
        ("sessions-max", tenant.sessions_max, "a tenant without sessions forwards nothing"),
        ("source-sessions-max", tenant.source_sessions_max, "sources without sessions send nothing"),
    ];
    if let Some((field, _, what)) = limits.into_iter().find(|(_, most, _)| *most == Some(0)) {
        return Err(ObjectError::field(field, what).remedy("say 1 or more, or leave it out"));
    }
    let (start, end) = (tenant.adaptive_start, tenant.adaptive_end);
    if end > ADAPTIVE_MAX {
        let error = ObjectError::field("adaptive-end", format!("{end} % of the table is out of range"));
        return Err(error.remedy(format!("say at most {ADAPTIVE_MAX}")));
    }
    if start >= end && (start, end) != (0, 0) {
        let error = ObjectError::field("adaptive-end", format!("it is not above adaptive-start ({start} %)"));
        return Err(error.remedy("say more than that, or 0 for both, so that timeouts do not shrink"));
    }
    check_cookies(tenant)?;
    let mut names: Vec<_> = tenant.timeouts.iter().map(|timeout| &timeout.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ObjectError::field("timeouts", format!("`{}` is set twice", pair[0])).remedy("set it once")),
        None => Ok(()),
    }
}

/// Checks that SYNs of a tenant can be answered by cookies, if they are to be.
fn check_cookies(tenant: &Tenant) -> Result<(), ObjectError> {
    if !MSS_RANGE.contains(&tenant.syn_cookies_mss) {
        let error = ObjectError::field("syn-cookies-mss", format!("{} is out of range", tenant.syn_cookies_mss));
        return Err(error.remedy(format!("say {} to {}", MSS_RANGE.start(), MSS_RANGE.end())));
    }
    if tenant.syn_cookies.is_none() {
        return Ok(());
    }
    if tenant.entry == EntryMode::SessionFirst {
        let error = ObjectError::field(
            "syn-cookies",
            "no policy is asked before a SYN is answered: the entry is session-first",
        );
        return Err(error.remedy("set the entry to policy-first, or leave syn-cookies out"));
    }
    let follows = |services: &[String]| services.iter().any(|name| [LIFECYCLE, TCP_CHECK].contains(&name.as_str()));
    for (field, services) in [("forward", &tenant.forward), ("reverse", &tenant.reverse)] {
        // A chain without services drops all packets, and answers none.
        if !services.is_empty() && !follows(services) {
            let error = ObjectError::field(field, "syn-cookies need a service that follows TCP connections");
            return Err(error.remedy(format!("name {LIFECYCLE} or {TCP_CHECK}, or leave syn-cookies out")));
        }
    }
    Ok(())
}

/// The chain of services by their names, for packets that are checked strictly or not.
fn chain(control: &Control, (field, names): (&str, &[String]), is_strict: bool) -> Result<Chain, ObjectError> {
    let services = control.room::<Services>();
    let mut numbers = vec![];
    for name in names {
        let number = services.number(name).ok_or_else(|| {
            let known: Vec<_> = services.named().map(|(_, service)| service.name).collect();
            ObjectError::field(field, format!("there is no service `{name}`"))
                .remedy(format!("name some of {}", known.join(", ")))
        })?;
        if numbers.contains(&number) {
            return Err(ObjectError::field(field, format!("`{name}` is named twice")).remedy("name it once"));
        }
        numbers.push(number);
    }
    let is_terminal = |number: &u8| services.all()[usize::from(*number)].is_terminal;
    if let Some(place) = numbers.iter().position(is_terminal).filter(|place| place + 1 < numbers.len()) {
        let what = format!("`{}` ends the chain, but `{}` stands behind it", names[place], names[place + 1]);
        return Err(ObjectError::field(field, what).remedy(format!("move `{}` to the end", names[place])));
    }
    Ok(services.chain(&numbers, is_strict))
}

pub(crate) fn apply(control: &Control, change: Change<'_, Tenant>) -> Result<(), ObjectError> {
    let (tenant, is_wanted) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    if !is_wanted {
        let slot = control.room_mut::<Tenants>().remove(tenant.id);
        slot.into_iter().for_each(|slot| end_sessions_of(control, slot));
        return Ok(());
    }
    let is_strict = tenant.tcp == TcpChecks::Strict;
    let chain = |field, names: &[String]| chain(control, (field, names), is_strict);
    let chains = [chain("forward", &tenant.forward)?, chain("reverse", &tenant.reverse)?];
    let slow_paths = SlowPaths::of(control, &tenant.slow_path)?;
    let timeouts = {
        let known = control.room::<Timeouts>();
        if let Some(own) = tenant.timeouts.iter().find(|own| known.number(&own.name).is_none()) {
            let names: Vec<_> = known.all().iter().map(|timeout| timeout.name).collect();
            return Err(ObjectError::field("timeouts", format!("there is no timeout `{}`", own.name))
                .remedy(format!("name some of {}", names.join(", "))));
        }
        tenant.timeouts(&known)
    };
    let judges = match tenant.entry {
        EntryMode::SessionFirst => Chain::default(),
        EntryMode::PolicyFirst => control.room::<Services>().judges(&chains[0], tenant.syn_cookies.is_some()),
    };
    if let Some(sessions) = control.room::<Room>().sessions().filter(|_| tenant.source_sessions_max.is_some()) {
        sessions.count_sources(secret()).map_err(no_space)?;
    }
    if let Some(sessions) = control.room::<Room>().sessions().filter(|_| is_strict) {
        sessions.keep_windows().map_err(no_space)?;
    }
    if tenant.syn_cookies.is_some() {
        set_secret(control);
    }
    if let Some(sessions) = control.room::<Room>().sessions().filter(|_| tenant.syn_cookies.is_some()) {
        sessions.keep_proxies().map_err(no_space)?;
    }
    let mut tenants = control.room_mut::<Tenants>();
    let slot = match tenants.slot(tenant.id) {
        Some(slot) => slot,
        None => tenants.new_slot(tenant.id).ok_or_else(|| {
            ObjectError::whole(format!("there are {TENANTS_MAX} tenants already")).remedy("delete one of them")
        })?,
    };
    let old = tenants.row(slot);
    let (id, context) = (tenant.id, tenant.context());
    let revision = if old.judges == judges { old.revision } else { next_revision(old.revision) };
    let new = TenantRow {
        is_there: true,
        id,
        context,
        sessions_max: tenant.sessions_max.unwrap_or_default(),
        source_sessions_max: tenant.source_sessions_max.unwrap_or_default(),
        is_strict,
        watermarks: Watermarks { start: tenant.adaptive_start, end: tenant.adaptive_end },
        revision,
        judges,
        chains,
        timeouts,
        closing: None,
        slow_paths,
        cookies: tenant.syn_cookies.map(|watermark| CookieRules { watermark, mss: tenant.syn_cookies_mss }),
    };
    tenants.set(slot, new);
    drop(tenants);
    let counts_sources = old.source_sessions_max == 0 && new.source_sessions_max > 0;
    if old.is_there && (counts_sources || (old.context, old.timeouts) != (new.context, new.timeouts)) {
        review_sessions_of(control, slot);
    }
    Ok(())
}
