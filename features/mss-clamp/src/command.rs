//! `set interface tcp-mss-clamp`, `show interface tcp-mss-clamp`.

use std::marker::PhantomData;

use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Listing, Matches, Output, Reply};
use quiver_interface::{InterfaceName, Interfaces, chosen};
use quiver_wire::{V4, V6};
use serde_json::{Value, json};

use crate::config::{Clamped, Mss, MssClamp, Side};

quiver_control::choice! {
    /// Clamping of a family, as the command sets it.
    enum Wanted {
        /// Clamp received and transmitted packets.
        Enable = "enable",
        /// Clamp no packets.
        Disable = "disable",
        /// Clamp received packets.
        Rx = "rx",
        /// Clamp transmitted packets.
        Tx = "tx",
    } as "mss-clamping", "enable, disable, rx or tx";
}

pub(crate) fn register(control: &Control) {
    control.commands().add_kind(ArgumentKind::of::<Mss>());
    control.commands().add_kind(ArgumentKind::of::<Wanted>());
    let set = "set interface tcp-mss-clamp {<interface> | ip4 <ip4:mss-clamping> | ip4-mss <ip4-mss:mss> \
               | ip6 <ip6:mss-clamping> | ip6-mss <ip6-mss:mss>}";
    let help =
        "Clamp the TCP MSS that the ends announce through an interface. A family that is not given stays unchanged.";
    let set = Command::new(set, help, set_clamp).arguments_of::<MssClamp<V4>>();
    let set =
        set.argument("ip4", "direction for IPv4; enable is both").argument("ip4-mss", "segment size for IPv4 in bytes");
    let set =
        set.argument("ip6", "direction for IPv6; enable is both").argument("ip6-mss", "segment size for IPv6 in bytes");
    control.commands().add(set);
    let show = "show interface tcp-mss-clamp [<interface>]";
    control.commands().add(Command::waiting(show, "Show the TCP MSS clamps of interfaces.", show_clamps));
}

fn set_clamp(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let interface: InterfaceName = given.get("interface")?;
    // Both are read before the first is done.
    let (ip4, ip6) = (wanted::<V4>(&interface, given)?, wanted::<V6>(&interface, given)?);
    if ip4.is_none() && ip6.is_none() {
        return Err(CommandError::new("neither ip4 nor ip6 is given; give one, such as: ip4 enable ip4-mss 1400"));
    }
    set_family(control, &interface, ip4)?;
    set_family(control, &interface, ip6)?;
    Ok(Reply::done())
}

/// Change of a family's clamp, if any: none removes it.
type Change<F> = Option<Option<MssClamp<F>>>;

fn wanted<F: Clamped>(interface: &InterfaceName, given: &Matches) -> Result<Change<F>, CommandError> {
    let side = match given.find(F::NAME)? {
        None => return Ok(None),
        Some(Wanted::Disable) => return Ok(Some(None)),
        Some(Wanted::Enable) => Side::Both,
        Some(Wanted::Rx) => Side::Rx,
        Some(Wanted::Tx) => Side::Tx,
    };
    let mss: Mss = given.get(&format!("{}-mss", F::NAME))?;
    Ok(Some(Some(MssClamp { interface: interface.clone(), mss, side, family: PhantomData })))
}

/// Changes a family's clamp. As in VPP, disabling what is disabled is no error.
fn set_family<F: Clamped>(control: &Control, interface: &InterfaceName, change: Change<F>) -> Result<(), CommandError> {
    Ok(change.map_or(Ok(()), |clamp| control.assign(interface, clamp))?)
}

async fn show_clamps(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let has_chosen = given.find::<InterfaceName>("interface")?.is_some();
    let mut listing = Listing::new(&control, &output);
    for id in chosen(&control, &given)? {
        listing.step().await;
        let interfaces = control.room::<Interfaces>();
        let Some(interface) = interfaces.get(id) else { continue };
        let name = InterfaceName(interface.name.clone());
        let (ip4, ip6) = (shown::<V4>(&control, &name), shown::<V6>(&control, &name));
        if has_chosen || ip4.is_some() || ip6.is_some() {
            let said =
                |clamp: &Option<(String, Value)>| clamp.as_ref().map_or("disabled".into(), |clamp| clamp.0.clone());
            listing.line(&format!("{name}: ip4: {} ip6: {}", said(&ip4), said(&ip6)));
            let value = |clamp: Option<(String, Value)>| clamp.map_or(Value::Null, |clamp| clamp.1);
            listing.element(|| json!({"interface": name.0, "ip4": value(ip4), "ip6": value(ip6)}));
        }
    }
    Ok(listing.end())
}

fn shown<F: Clamped>(control: &Control, interface: &InterfaceName) -> Option<(String, Value)> {
    let clamp = control.objects().get::<MssClamp<F>>(interface)?;
    let side = match clamp.side {
        Side::Both => "",
        Side::Rx => " [RX]",
        Side::Tx => " [TX]",
    };
    Some((format!("{}{side}", clamp.mss), json!({"mss": clamp.mss.get(), "side": clamp.side.to_string()})))
}
