//! The messages of `ip.api` about where punted packets go.

use std::net::IpAddr;

use quiver_compat::types::{Address, AddressFamily, FibPath, InterfaceIndex, NONE};
use quiver_compat::{Message, Refusal, Wire};
use quiver_control::Control;
use quiver_interface::api::name;
use quiver_interface::{InterfaceId, LOCAL};
use quiver_ip::api::{by_family, configured, known};
use quiver_ip::fib::Path;
use quiver_ip::{Ip, RoutePath};

use crate::family::Punted;
use crate::redirect::{PuntRedirect, Receiver, Redirects};

pub(super) fn register(control: &Control) {
    quiver_compat::add(control, "ip", (3, 2, 0), |file| {
        file.request(|control, request: IpPuntRedirect| {
            by_family!(request.punt.nh.is_ip6(), change(control, &request))
        });
        file.request(|control, request: AddDelIpPuntRedirectV2| {
            by_family!(request.punt.af == AddressFamily::Ip6, change_v2(control, &request))
        });
        file.dump(|control, request: IpPuntRedirectDump| {
            by_family!(request.is_ipv6, dump(control, request.sw_if_index))
        });
        file.dump(|control, request: IpPuntRedirectV2Dump| {
            by_family!(request.af == AddressFamily::Ip6, dump_v2(control, request.sw_if_index))
        });
    });
}

/// Where the punted packets of an interface go: to a host on a link.
#[derive(Wire, Clone, Debug, Default, PartialEq)]
#[wire(name = "punt_redirect")]
pub(super) struct RedirectTo {
    pub rx_sw_if_index: InterfaceIndex,
    pub tx_sw_if_index: InterfaceIndex,
    pub nh: Address,
}

/// The same by any paths.
#[derive(Wire, Clone, Debug, Default)]
#[wire(name = "punt_redirect_v2")]
pub(super) struct RedirectBy {
    pub rx_sw_if_index: InterfaceIndex,
    pub af: AddressFamily,
    #[count(u32, "n_paths")]
    pub paths: Vec<FibPath>,
}

/// Adds or deletes the punt redirect of one interface, or the default for all, to one next hop.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpPuntRedirect {
    pub punt: RedirectTo,
    #[default(true)]
    pub is_add: bool,
}

/// Dumps the punt redirects of a family.
#[derive(Message, Clone, Debug)]
#[message(dump, details = IpPuntRedirectDetails)]
pub(super) struct IpPuntRedirectDump {
    pub sw_if_index: InterfaceIndex,
    pub is_ipv6: bool,
}

/// Describes one punt redirect: its receiving interface and its first path.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
pub(super) struct IpPuntRedirectDetails {
    pub punt: RedirectTo,
}

/// Adds or deletes the punt redirect of one interface, or the default for all, with several paths.
#[derive(Message, Clone, Debug)]
#[message(request, name = "add_del_ip_punt_redirect_v2")]
pub(super) struct AddDelIpPuntRedirectV2 {
    #[default(true)]
    pub is_add: bool,
    pub punt: RedirectBy,
}

/// Dumps the punt redirects of a family, with all paths.
#[derive(Message, Clone, Debug)]
#[message(dump, name = "ip_punt_redirect_v2_dump", details = IpPuntRedirectV2Details)]
pub(super) struct IpPuntRedirectV2Dump {
    pub sw_if_index: InterfaceIndex,
    pub af: AddressFamily,
}

/// Describes one punt redirect: its receiving interface and its paths.
#[derive(Message, Clone, Debug)]
#[message(details, name = "ip_punt_redirect_v2_details")]
pub(super) struct IpPuntRedirectV2Details {
    pub punt: RedirectBy,
}

/// The interface whose packets are meant: all ones stand for all.
fn receiver(control: &Control, index: InterfaceIndex) -> Result<Receiver, Refusal> {
    if index.0 == NONE { Ok(Receiver::All) } else { name(control, index).map(Receiver::Interface) }
}

fn change<F: Punted>(control: &Control, request: &IpPuntRedirect) -> Result<(), Refusal> {
    let RedirectTo { rx_sw_if_index, tx_sw_if_index, nh } = request.punt;
    let interface = receiver(control, rx_sw_if_index)?;
    let via = Some(nh.in_family::<F>()?).filter(|via| *via != F::UNSPECIFIED);
    let by = Some(name(control, tx_sw_if_index)?);
    let path = RoutePath::<F> { via, interface: by, ..RoutePath::default() };
    set(control, interface, request.is_add.then(|| vec![path]))
}

fn change_v2<F: Punted>(control: &Control, request: &AddDelIpPuntRedirectV2) -> Result<(), Refusal> {
    let interface = receiver(control, request.punt.rx_sw_if_index)?;
    let paths = request.punt.paths.iter().map(|path| configured::<F>(path, control));
    let paths = if request.is_add { Some(paths.collect::<Result<_, _>>()?) } else { None };
    set(control, interface, paths)
}

fn set<F: Punted>(control: &Control, interface: Receiver, paths: Option<Vec<RoutePath<F>>>) -> Result<(), Refusal> {
    match paths {
        Some(paths) => Ok(control.put(PuntRedirect { interface, paths })?),
        // As VPP: what is not there may be deleted.
        None if control.objects().get::<PuntRedirect<F>>(&interface).is_some() => {
            Ok(control.delete::<PuntRedirect<F>>(&interface)?)
        }
        None => Ok(()),
    }
}

/// The redirects of an interface, or of all; those for all interfaces come first, as in VPP.
fn redirects<F: Punted>(
    control: &Control,
    wanted: InterfaceIndex,
) -> impl Iterator<Item = Option<(InterfaceIndex, Vec<Path<F>>)>> + use<F> {
    let is_wanted = move |id: InterfaceId| wanted.0 == NONE || wanted == id.into();
    let control = control.clone();
    Redirects::<F>::walk(&control.clone()).map(move |(id, group)| {
        let index = if id == LOCAL { InterfaceIndex(NONE) } else { id.into() };
        let ip = control.room::<Ip<F>>();
        is_wanted(id).then(|| (index, ip.fib.groups.get(group).map_or(vec![], |group| group.paths.to_vec())))
    })
}

/// Steps of a dump.
type Steps<D> = Box<dyn Iterator<Item = Option<D>>>;

fn dump<F: Punted>(control: &Control, wanted: InterfaceIndex) -> Steps<IpPuntRedirectDetails> {
    let details = |(rx_sw_if_index, paths): (InterfaceIndex, Vec<Path<F>>)| {
        let first = paths.first().map(known);
        let tx = first.as_ref().map_or(NONE, |path| path.sw_if_index);
        let family = if F::VERSION == 6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 };
        let nh: IpAddr = first.map_or(F::UNSPECIFIED.into(), |path| path.nh.address.get(family));
        let punt = RedirectTo { rx_sw_if_index, tx_sw_if_index: InterfaceIndex(tx), nh: nh.into() };
        IpPuntRedirectDetails { punt }
    };
    Box::new(redirects::<F>(control, wanted).map(move |redirect| redirect.map(details)))
}

fn dump_v2<F: Punted>(control: &Control, wanted: InterfaceIndex) -> Steps<IpPuntRedirectV2Details> {
    let af = if F::VERSION == 6 { AddressFamily::Ip6 } else { AddressFamily::Ip4 };
    let details = move |(rx_sw_if_index, paths): (InterfaceIndex, Vec<Path<F>>)| {
        let paths = paths.iter().map(known).collect();
        IpPuntRedirectV2Details { punt: RedirectBy { rx_sw_if_index, af, paths } }
    };
    Box::new(redirects::<F>(control, wanted).map(move |redirect| redirect.map(details)))
}
