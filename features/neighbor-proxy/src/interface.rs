//! The interfaces on which others are answered for.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_interface::{InterfaceId, InterfaceName, Interfaces};
use quiver_ip::Ip;
use quiver_neighbor::{Protocol, Question, ReceivedMessage, answer, answer_for, is_ours, learn};
use quiver_wire::{V4, V6};

use crate::on_link::is_here;
use crate::{mirror, ranges};

/// A protocol in which others are answered for.
pub trait Proxied: Protocol {
    /// The kind of the interfaces.
    const PROXIES: &'static str;
    /// Whether a sender that uses one of our addresses is learned: the reply is for a host that shares the address.
    const MIRRORS: bool;

    /// Switches an interface's further needs on or off.
    fn set(control: &Control, id: InterfaceId, on: bool) -> Result<(), ObjectError>;
    /// Whether a request is answered by proxy: for an address that is not ours and not known to be on the link.
    fn is_answered(control: &Control, id: InterfaceId, question: &Question<Self>) -> bool;
}

impl Proxied for V4 {
    const PROXIES: &'static str = "arp-proxies";
    const MIRRORS: bool = false;

    fn set(_: &Control, _: InterfaceId, _: bool) -> Result<(), ObjectError> {
        Ok(())
    }
    fn is_answered(control: &Control, id: InterfaceId, question: &Question<V4>) -> bool {
        ranges::has(control, id, question.target)
    }
}

impl Proxied for V6 {
    const PROXIES: &'static str = mirror::PROXIES;
    const MIRRORS: bool = true;

    fn set(control: &Control, id: InterfaceId, on: bool) -> Result<(), ObjectError> {
        mirror::set(control, id, on)
    }
    fn is_answered(control: &Control, id: InterfaceId, question: &Question<V6>) -> bool {
        mirror::is_answered(control, id, question)
    }
}

/// Proxying interface: it answers ARP requests for the ranges of its table (RFC 1027), or neighbor solicitations for
/// all hosts on other links (RFC 4389).
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = F::PROXIES)]
pub struct NeighborProxy<F: Proxied> {
    /// Name of the interface.
    #[key]
    pub interface: InterfaceName,
    /// Those of two families are two.
    pub family: PhantomData<F>,
}

impl<F: Proxied> NeighborProxy<F> {
    /// The interface of this name.
    pub fn on(interface: InterfaceName) -> NeighborProxy<F> {
        NeighborProxy { interface, family: PhantomData }
    }
}

/// The interfaces.
struct Answering<F: Proxied>(BTreeSet<InterfaceId>, PhantomData<F>);

pub(crate) fn register<F: Proxied>(control: &Control) {
    control.insert_room(Answering::<F>(BTreeSet::new(), PhantomData));
    control.objects().add(Kind::new(apply::<F>));
    answer::<F>(control, hear::<F>);
}

fn apply<F: Proxied>(control: &Control, change: Change<'_, NeighborProxy<F>>) -> Result<(), ObjectError> {
    let (proxy, on) = match change {
        Change::Create(new) | Change::Update { new, .. } => (new, true),
        Change::Delete(old) => (old, false),
    };
    let id = control.room::<Interfaces>().id_of(&proxy.interface.0)?;
    F::set(control, id, on)?;
    let all = &mut control.room_mut::<Answering<F>>().0;
    _ = if on { all.insert(id) } else { all.remove(&id) };
    Ok(())
}

/// Answers a request for another host's address. Its sender is going to send packets to us, so it is learned.
fn hear<F: Proxied>(control: &Control, heard: &ReceivedMessage<F>) -> bool {
    let id = heard.interface;
    let is_proxy = control.room::<Answering<F>>().0.contains(&id);
    let Some(question) = Some(&heard.message).filter(|_| is_proxy).and_then(F::question_in) else { return false };
    if is_ours::<F>(control, (id, question.target)) || is_here::<F>(control, (id, question.target)) {
        return false;
    }
    let is_own = control.room::<Ip<F>>().current().is_own(id, question.sender);
    if !F::is_answered(control, id, &question) {
        return false;
    }
    if F::MIRRORS || !is_own {
        question.mac.into_iter().for_each(|mac| learn::<F>(control, (id, question.sender), mac, true));
    }
    answer_for::<F>(control, heard, &question)
}
