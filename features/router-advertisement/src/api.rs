//! VPP's messages about router advertisements: `ip6_nd.api`, `rd_cp.api`.
//!
//! - `host`: those of hosts, who ask for routers and learn from them; `event`: what clients are told.

use quiver_compat::types::{InterfaceIndex, Prefix};
use quiver_compat::{Message, Refusal, Retval, Wire};
use quiver_control::{Control, Time};
use quiver_interface::api::wanted;
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_ip::Ip6;
use quiver_wire::{InterfaceAddress, PrefixError, V6};

use self::host::speaking;
use crate::advertiser::Advertisers;
use crate::config::{AdvertisedPrefix, INFINITE, RouterAdvertisements};
use crate::routers::Routers;
use crate::setting::{Setting, lifetimes, restart};

pub(crate) mod event;
mod host;

pub(crate) fn register(control: &Control) {
    let listeners = quiver_compat::add(control, "ip6_nd", (1, 1, 0), |file| {
        file.request(configure);
        file.request(configure_prefix);
        file.dump(dump);
        host::add_messages(file)
    });
    control.room_mut::<Routers>().listeners = listeners;
    quiver_compat::add(control, "rd_cp", (1, 0, 1), host::add_autoconfiguration);
}

/// Configures the router advertisements of an interface. A zero field stays unchanged; others are set, or with
/// `is_no` reset.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SwInterfaceIp6ndRaConfig {
    sw_if_index: InterfaceIndex,
    suppress: u8,
    managed: u8,
    other: u8,
    ll_option: u8,
    send_unicast: u8,
    cease: u8,
    is_no: bool,
    default_router: u8,
    max_interval: u32,
    min_interval: u32,
    lifetime: u32,
    initial_count: u32,
    initial_interval: u32,
}

/// Adds, changes or deletes a prefix that an interface advertises.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SwInterfaceIp6ndRaPrefix {
    sw_if_index: InterfaceIndex,
    prefix: Prefix,
    use_default: bool,
    no_advertise: bool,
    off_link: bool,
    no_autoconfig: bool,
    no_onlink: bool,
    is_no: bool,
    val_lifetime: u32,
    pref_lifetime: u32,
}

/// A prefix that is advertised. Its lifetimes do not run down, so they never expire.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
struct Ip6ndRaPrefix {
    prefix: Prefix,
    onlink_flag: bool,
    autonomous_flag: bool,
    val_lifetime: u32,
    pref_lifetime: u32,
    valid_lifetime_expires: f64,
    pref_lifetime_expires: f64,
    decrement_lifetime_flag: bool,
    no_advertise: bool,
}

/// Dumps the router advertisement settings of one interface, or of all if the index is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, details = SwInterfaceIp6ndRaDetails)]
struct SwInterfaceIp6ndRaDump {
    sw_if_index: InterfaceIndex,
}

/// Describes the router advertisements of one interface: settings, prefixes, counters, and times in seconds.
#[derive(Message, Clone, Debug)]
#[message(details)]
struct SwInterfaceIp6ndRaDetails {
    sw_if_index: InterfaceIndex,
    cur_hop_limit: u8,
    adv_managed_flag: bool,
    adv_other_flag: bool,
    adv_router_lifetime: u16,
    adv_neighbor_reachable_time: u32,
    adv_retransmit_interval: u32,
    adv_link_mtu: u32,
    send_radv: bool,
    cease_radv: bool,
    send_unicast: bool,
    adv_link_layer_address: bool,
    max_radv_interval: f64,
    min_radv_interval: f64,
    last_radv_time: f64,
    last_multicast_time: f64,
    next_multicast_time: f64,
    initial_adverts_count: u32,
    initial_adverts_interval: f64,
    initial_adverts_sent: bool,
    n_advertisements_sent: u32,
    n_solicitations_rcvd: u32,
    n_solicitations_dropped: u32,
    #[count(u32, "n_prefixes")]
    prefixes: Vec<Ip6ndRaPrefix>,
}

fn configure(control: &Control, request: SwInterfaceIp6ndRaConfig) -> Result<(), Refusal> {
    let interface = speaking(control, request.sw_if_index)?;
    let setting = Setting {
        no: request.is_no,
        // Whoever ceases says so once more, as whoever is suppressed does here.
        suppress: request.suppress != 0 || request.cease != 0,
        managed: request.managed != 0,
        other: request.other != 0,
        hide_link_layer: request.ll_option != 0,
        send_unicast: request.send_unicast != 0,
        lifetime: Some(request.lifetime).filter(|_| request.default_router != 0),
        max_interval: request.max_interval,
        min_interval: request.min_interval,
        initial_count: request.initial_count,
        initial_interval: request.initial_interval,
    };
    Ok(setting.apply(control, interface)?)
}

fn configure_prefix(control: &Control, request: SwInterfaceIp6ndRaPrefix) -> Result<(), Refusal> {
    let interface = speaking(control, request.sw_if_index)?;
    let address = request.prefix.address.in_family::<V6>()?;
    let wrong = |error: PrefixError| Refusal::new(Retval::INVALID_VALUE, format!("prefix: {error}"));
    let prefix = InterfaceAddress::<V6>::new(address, request.prefix.len).map_err(wrong)?;
    let all = control.objects().all::<AdvertisedPrefix>();
    let known = all.iter().find(|known| known.interface == interface && known.prefix.address() == address);
    if let Some(known) = known.filter(|known| known.prefix.length() != prefix.length()) {
        let what = format!("prefix: {} is known; another length cannot be", known.prefix);
        return Err(Refusal::new(Retval::INVALID_VALUE_2, what));
    }
    if request.is_no {
        let missing = || Refusal::new(Retval::INVALID_VALUE, format!("prefix: {interface} has no {prefix}"));
        let key = known.map(|known| (known.interface.clone(), known.prefix)).ok_or_else(missing)?;
        return Ok(control.delete::<AdvertisedPrefix>(&key)?);
    }
    let mut wanted = AdvertisedPrefix::new(interface.clone(), prefix);
    if !request.use_default {
        (wanted.valid, wanted.preferred) = lifetimes(Some((request.val_lifetime, request.pref_lifetime)));
        wanted.advertise = !request.no_advertise;
        wanted.on_link = !request.off_link && !request.no_onlink;
        wanted.autonomous = !request.no_autoconfig;
    }
    control.put(wanted)?;
    Ok(restart(control, &interface)?)
}

fn dump(
    control: &Control,
    request: SwInterfaceIp6ndRaDump,
) -> impl Iterator<Item = Option<SwInterfaceIp6ndRaDetails>> + use<> {
    let control = control.clone();
    wanted(&control.clone(), request.sw_if_index).map(move |id| {
        let speaks = control.room::<Ip6>().speaks(id);
        speaks.then(|| details(&control, id))
    })
}

fn details(control: &Control, id: InterfaceId) -> SwInterfaceIp6ndRaDetails {
    let (interfaces, now) = (control.room::<Interfaces>(), control.now());
    let own = control.room::<Advertisers>().get(id).cloned().unwrap_or_default();
    let config = own.config.unwrap_or_else(|| RouterAdvertisements::new(InterfaceName(interfaces.name(id))));
    let ago = |moment: Option<Time>| moment.map_or(0.0, |moment| now.since(moment).as_secs_f64());
    SwInterfaceIp6ndRaDetails {
        sw_if_index: id.into(),
        cur_hop_limit: config.hop_limit,
        adv_managed_flag: config.managed,
        adv_other_flag: config.other,
        adv_router_lifetime: config.lifetime,
        adv_neighbor_reachable_time: 0,
        adv_retransmit_interval: 0,
        adv_link_mtu: interfaces.get(id).map_or(0, |interface| interface.mtu_of(6).into()),
        send_radv: own.told.is_some(),
        cease_radv: false,
        send_unicast: config.send_unicast,
        adv_link_layer_address: config.source_link_layer,
        max_radv_interval: config.max_interval.into(),
        min_radv_interval: config.min_interval.into(),
        last_radv_time: ago(own.last_answer),
        last_multicast_time: ago(own.last_multicast),
        next_multicast_time: own.next.map_or(0.0, |next| next.since(now).as_secs_f64()),
        initial_adverts_count: config.initial_count.into(),
        initial_adverts_interval: config.initial_interval.into(),
        initial_adverts_sent: own.last_multicast.is_some() && own.initial == 0,
        n_advertisements_sent: own.sent,
        n_solicitations_rcvd: own.solicited,
        n_solicitations_dropped: own.dropped,
        prefixes: own.prefixes.iter().map(told).collect(),
    }
}

fn told(of: &AdvertisedPrefix) -> Ip6ndRaPrefix {
    Ip6ndRaPrefix {
        prefix: Prefix { address: of.prefix.address().into(), len: of.prefix.length() },
        onlink_flag: of.on_link,
        autonomous_flag: of.autonomous,
        val_lifetime: of.valid,
        pref_lifetime: of.preferred,
        valid_lifetime_expires: 0.0,
        pref_lifetime_expires: 0.0,
        decrement_lifetime_flag: of.valid != INFINITE,
        no_advertise: !of.advertise,
    }
}

#[cfg(test)]
mod tests;
