//! The hosts for which bridge domains answer requests: the commands, and events about the requests' senders.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_control::{Control, ObjectError, Time};
use quiver_engine::Generations;
use quiver_engine::channel::Inbox;
use quiver_interface::Events;

use crate::answer::Asker;
use crate::objects::{BridgeDomain, BridgeHost, DomainId};

/// A host is reported once in this time.
const AGAIN: Duration = Duration::from_secs(10);
/// Askers that are remembered for that.
const REMEMBERED: usize = 1024;

type Tell = Box<dyn Fn(&Asker)>;

/// Reports of hosts that sent requests, on the way to clients.
pub(crate) struct Asked {
    wanted: Arc<AtomicBool>,
    told: VecDeque<(Time, Asker)>,
    tell: Option<Tell>,
}

impl Asked {
    pub fn new(wanted: Arc<AtomicBool>) -> Asked {
        Asked { wanted, told: VecDeque::new(), tell: None }
    }
    /// Has `tell` hear of each asker from now on, while that is wanted.
    pub fn set(&mut self, tell: Tell) {
        self.tell = Some(tell);
    }
    /// Sets whether a client wants to know.
    pub fn want(&mut self, wanted: bool) {
        self.wanted.store(wanted, Ordering::Relaxed);
        self.told.clear();
    }
    fn hear(&mut self, now: Time, asker: Asker) {
        while self.told.front().is_some_and(|(at, _)| now.since(*at) >= AGAIN) || self.told.len() > REMEMBERED {
            self.told.pop_front();
        }
        if !self.wanted.load(Ordering::Relaxed) || self.told.iter().any(|(_, told)| *told == asker) {
            return;
        }
        self.told.push_back((now, asker));
        self.tell.iter().for_each(|tell| tell(&asker));
    }
}

pub(crate) fn register(control: &Control, asked: Asked, inbox: Inbox<Asker>, generations: Generations) {
    control.insert_room(asked);
    let listening = Events::listen(control.clone(), move |control| {
        for asker in inbox.waiting() {
            // What was asked by an interface that is no more is nobody's question.
            if generations.of(asker.interface.0) == asker.generation {
                control.room_mut::<Asked>().hear(control.now(), asker);
            }
        }
        !inbox.is_empty()
    });
    control.spawn("l2-arp-term-events", listening);
    let add = |grammar, help, run: fn(&Control, &Matches) -> Result<Reply, CommandError>| {
        let command = Command::new(grammar, help, run).arguments_of::<BridgeDomain>();
        control.commands().add(command.arguments_of::<BridgeHost>());
    };
    let help =
        "Enable or disable ARP termination of a bridge domain: it answers ARP and neighbor discovery for its hosts.";
    add("set bridge-domain arp term <id:bridge-domains> [disable]", help, set_term);
    let help = "Add a host of a bridge domain, delete it, or delete all.";
    let entry = "set bridge-domain arp entry <id:bridge-domains> (<address:ip> <mac> [del] | del-all)";
    add(entry, help, set_entry);
    let help = "Show the hosts for which bridge domains answer.";
    let show = Command::waiting("show bridge-domain arp [<id:bridge-domains>]", help, show);
    control.commands().add(show.arguments_of::<BridgeDomain>().arguments_of::<BridgeHost>());
}

fn set_term(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let DomainId(id) = matches.get("id")?;
    let on = !matches.has("disable");
    control.edit(BridgeDomain::with_defaults(control, id), |domain| domain.arp_term = on)?;
    Ok(Reply::done())
}

fn set_entry(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let domain: DomainId = matches.get("id")?;
    if matches.has("del-all") {
        clear(control, &domain)?;
        return Ok(Reply::done());
    }
    let (address, mac) = (matches.get("address")?, matches.get("mac")?);
    match matches.has("del") {
        true => control.delete::<BridgeHost>(&(domain, address))?,
        false => control.put(BridgeHost { domain, address, mac })?,
    }
    Ok(Reply::done())
}

/// The hosts of a domain, or of all.
pub(crate) fn of(control: &Control, domain: Option<DomainId>) -> impl Iterator<Item = Option<Rc<BridgeHost>>> + use<> {
    let is_of = move |host: &Rc<BridgeHost>| domain.as_ref().is_none_or(|only| *only == host.domain);
    control.walk::<BridgeHost>().map(move |host| Some(host).filter(&is_of))
}

/// Forgets all hosts of a domain.
pub(crate) fn clear(control: &Control, domain: &DomainId) -> Result<(), ObjectError> {
    let keys = of(control, Some(domain.clone())).flatten().map(|host| (host.domain.clone(), host.address));
    let keys: Vec<(DomainId, IpAddr)> = keys.collect();
    keys.iter().try_for_each(|key| control.delete::<BridgeHost>(key))
}

async fn show(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let hosts = of(&control, matches.find::<DomainId>("id")?);
    let mut rows = Rows::new(&control, &output, ["BD-ID", "IP", "Mac-Address"]);
    let row = |host: Rc<BridgeHost>| [Cell::from(host.domain.0), Cell::of(host.address), Cell::of(host.mac.get())];
    rows.each(hosts, |host| host.map(row)).await;
    Ok(rows.end())
}
