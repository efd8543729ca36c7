//! `mld-input`: checks queries of routers (RFC 3810, 6.2) and passes them to control. `icmp6-input`, where they come
//! from, has checked their checksums. Reports of other listeners matter to querying routers only; this one does not
//! query.

use quiver_engine::channel::Outbox;
use quiver_engine::{Context, Frame, Generations, Node, arcs};
use quiver_interface::InterfaceId;
use quiver_ip::Family;
use quiver_wire::ip6::{Options6, extension, walk};
use quiver_wire::{Header, Icmp6Type, Ip6Header, V6};

use crate::message::{Question, ROUTER_ALERT};

arcs! {
    /// Where packets go from here.
    pub enum Next {
        ReceivedQuery => done "heard",
        /// Reports that control sends.
        Send => features "interface-output",
        /// Reports of other listeners.
        OfOthers => done "of-others",
        Busy => drop "control-busy",
        TooShort => drop "too-short",
        /// It has come from another link.
        NotOfLink => drop "not-of-link",
        NoRouterAlert => drop "no-router-alert",
    }
}

/// A query that a node passes to control.
#[derive(Clone, Debug)]
pub struct ReceivedQuery {
    /// The interface.
    pub interface: InterfaceId,
    /// The interface's, when it was heard.
    pub generation: u32,
    /// The query.
    pub question: Question,
}

/// The node.
pub struct MldInput {
    /// Tells interfaces of one number apart.
    pub generations: Generations,
    /// Queue to control.
    pub heard: Outbox<ReceivedQuery>,
}

impl Node for MldInput {
    fn process(&mut self, cx: &mut Context, frame: &mut Frame) {
        for i in 0..frame.len() {
            let question = look(frame.bytes(cx.pool, i));
            frame.next[i] = match question {
                Err(next) => next.into(),
                Ok(question) => {
                    let interface = InterfaceId(frame.rx[i]);
                    let generation = self.generations.of(interface.0);
                    let is_told = self.heard.send(ReceivedQuery { interface, generation, question });
                    if is_told { Next::ReceivedQuery.into() } else { Next::Busy.into() }
                }
            };
        }
    }
}

/// The question in a packet; else where the packet goes.
fn look(packet: &[u8]) -> Result<Question, Next> {
    let (ip, rest) = Ip6Header::parse(packet).ok_or(Next::TooShort)?;
    let payload = V6::payload(packet).ok_or(Next::TooShort)?;
    let message = packet.get(payload.offset..).ok_or(Next::TooShort)?;
    if message.first() != Some(&Icmp6Type::MLD_QUERY.0) {
        return Err(Next::OfOthers);
    }
    if ip.hop_limit != 1 || !V6::is_link_local(ip.source()) {
        return Err(Next::NotOfLink);
    }
    let mut is_alert = false;
    walk(ip.next_header, rest, |kind, _, header| {
        let mut options = Options6::new(header.get(2..).unwrap_or_default());
        is_alert |=
            kind == extension::HOP_BY_HOP && options.any(|option| option.is_ok_and(|it| it.kind == ROUTER_ALERT));
    });
    if !is_alert {
        return Err(Next::NoRouterAlert);
    }
    Question::parse(message).ok_or(Next::TooShort)
}
