//! Watching links: whether packets can pass, how many and how long ones, and whether the link is still there.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rtnetlink::packet_core::{NetlinkMessage, NetlinkPayload};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::link::LinkAttribute;
use rtnetlink::sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::speed::Speed;
use crate::{Link, LinuxError, Namespace};

/// The multicast group in which the kernel tells changes of links (RTNLGRP_LINK).
const LINKS: u32 = 1;
/// Longer than any message on a link.
const MESSAGE_MAX: usize = 32 << 10;

/// State of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// Packets can pass.
    Running,
    /// It is set down, or has no carrier.
    Down,
    /// It was moved to another namespace.
    Moved,
    /// It was deleted, or its namespace is gone.
    Gone,
}

/// A link under watch.
pub struct Watch {
    name: String,
    state: LinkState,
    /// Bytes of a packet at most, from the layer 3 header on.
    mtu: u32,
    /// Linux's last answer about its speed.
    speed: Option<u32>,
    source: Source,
}

/// Where news of a link comes from.
enum Source {
    /// The kernel tells of all links of the namespace.
    Namespace(Box<Told>),
    /// The device's own descriptor, which tells only whether the device is still there.
    Descriptor(Arc<OwnedFd>),
}

/// A socket that the kernel tells of all links of a namespace.
struct Told {
    socket: Socket,
    index: u32,
    /// Linux's answers about its speed, if it has any.
    answers: Option<Speed>,
    buffer: Vec<u8>,
}

impl Watch {
    /// Begins to watch the link of this name; returns also what it is like now.
    pub fn start(namespace: &Namespace, name: &str) -> Result<(Watch, Link), LinuxError> {
        let listen = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind(&SocketAddr::new(0, 0))?;
            socket.add_membership(LINKS)?;
            socket.set_non_blocking(true)?;
            Ok(socket)
        };
        let (listening, answers) = namespace.within(|| (listen(), Speed::open()))?;
        let socket = listening.map_err(|error: std::io::Error| LinuxError::refused(format!("watch {name}"), error))?;
        // Looked at after listening began, so that no change falls between.
        let link = Link::find(namespace, name)?;
        let state = if link.running { LinkState::Running } else { LinkState::Down };
        let mut told = Told { socket, index: link.index, answers, buffer: Vec::with_capacity(MESSAGE_MAX) };
        let (name, speed) = (name.to_owned(), told.speed());
        Ok((Watch { name, state, mtu: link.mtu, speed, source: Source::Namespace(Box::new(told)) }, link))
    }

    /// Watches a device in a namespace that quiverd cannot enter, by a descriptor of the device. Whether it is up, and its MTU, stay
    /// unknown.
    pub fn of_device(descriptor: Arc<OwnedFd>, name: &str, mtu: u32) -> Watch {
        let (name, source) = (name.to_owned(), Source::Descriptor(descriptor));
        Watch { name, state: LinkState::Running, mtu, speed: None, source }
    }

    /// The name by which it was found.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Kilobits that the link carries a second, as it was when something was last told of it. None where Linux has no figure.
    pub fn speed(&self) -> Option<u32> {
        self.speed
    }

    /// The link's MTU, as the kernel told it last.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// The descriptor of a device that is watched by it.
    pub fn device(&self) -> Option<&OwnedFd> {
        match &self.source {
            Source::Namespace(_) => None,
            Source::Descriptor(device) => Some(device),
        }
    }

    /// Takes note of what the kernel told since; never waits.
    pub fn poll(&mut self) -> LinkState {
        match &mut self.source {
            Source::Namespace(told) => {
                if told.receive(&mut self.state, &mut self.mtu) {
                    self.speed = told.speed();
                }
            }
            Source::Descriptor(device) => {
                // A device without a driver behind it any more reports an error, and nothing else does.
                let mut polled = [PollFd::new(device, PollFlags::ERR)];
                let is_error = poll(&mut polled, Some(&Timespec::default())).is_ok_and(|events| events > 0);
                self.state = if is_error { LinkState::Gone } else { LinkState::Running };
            }
        }
        self.state
    }
}

impl Told {
    fn speed(&mut self) -> Option<u32> {
        self.answers.as_mut().and_then(|answers| answers.of(self.index))
    }

    /// Takes what the kernel told of the link. Whether it told anything.
    fn receive(&mut self, state: &mut LinkState, mtu: &mut u32) -> bool {
        let mut is_told = false;
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(_) => is_told |= self.take(state, mtu),
                // Too much happened at once; what comes next is told again.
                Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        is_told
    }

    /// Whether something was said of the link.
    fn take(&self, state: &mut LinkState, mtu: &mut u32) -> bool {
        let mut is_told = false;
        let mut rest = &self.buffer[..];
        while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest) {
            match &message.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) if link.header.index == self.index => {
                    let link = Link::of(link);
                    *state = if link.running { LinkState::Running } else { LinkState::Down };
                    // Not every message has it.
                    *mtu = if link.mtu > 0 { link.mtu } else { *mtu };
                    is_told = true;
                }
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::DelLink(link))
                    // The other family that uses the message is the bridges', which tells of ports.
                    if link.header.index == self.index && u8::from(link.header.interface_family) == 0 =>
                {
                    let is_new = |attribute: &LinkAttribute| matches!(attribute, LinkAttribute::NewNetnsId(_));
                    *state = if link.attributes.iter().any(is_new) { LinkState::Moved } else { LinkState::Gone };
                    is_told = true;
                }
                _ => {}
            }
            // Messages begin at multiples of four bytes.
            let length = (message.header.length as usize).next_multiple_of(4).max(4);
            rest = rest.get(length..).unwrap_or_default();
        }
        is_told
    }
}
