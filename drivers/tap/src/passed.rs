//! A TAP device whose descriptors were passed to quiverd: it may be in a namespace that quiverd has no right to enter.
//!
//! Whoever made the device configures it there. Here it is checked, lent to one interface at a time, and its carrier says whether
//! an interface uses it.

use std::os::fd::OwnedFd;

use libc::{EBADFD, IFF_NO_PI, IFF_TAP, IFF_TUN, IFF_VNET_HDR};
use quiver_control::{Control, ObjectError};
use quiver_linux::{LinuxError, Passed};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat, major, minor};

use crate::device::{self, About};
use crate::object::Tap;

/// The device file of TUN and TAP (Documentation/admin-guide/devices.txt).
const TUN: (u32, u32) = (10, 200);

/// Reason why passed descriptors are not used.
#[derive(Debug, thiserror::Error)]
enum DescriptorError {
    #[error(transparent)]
    Linux(#[from] LinuxError),
    #[error("descriptor {0} is no TAP device")]
    NoDevice(String),
    #[error("the device of descriptor {0} was deleted, or none was attached")]
    Detached(String),
    #[error("descriptor {0} is a TUN device, whose packets have no Ethernet header")]
    Tun(String),
    #[error("descriptor {0} was attached without {1}")]
    Flags(String, &'static str),
    #[error("descriptors of the name {0} belong to two devices, {1} and {2}")]
    Devices(String, String, String),
    #[error("{given} descriptors of the name {name} were passed, one for each queue")]
    Queues { name: String, given: usize },
    #[error("descriptor {0} is used by {1}")]
    Used(String, String),
}

impl DescriptorError {
    /// The error of the object.
    fn error(&self) -> ObjectError {
        const ATTACH: &str = "attach it by TUNSETIFF with IFF_TAP | IFF_NO_PI | IFF_VNET_HDR";
        let remedy = match self {
            DescriptorError::Linux(error) => error.remedy(),
            DescriptorError::NoDevice(_) => format!("open /dev/net/tun, and {ATTACH}"),
            DescriptorError::Detached(_) => format!("start quiverd anew with another one: {ATTACH}"),
            DescriptorError::Tun(_) | DescriptorError::Flags(..) => ATTACH.into(),
            DescriptorError::Devices(..) => "give the descriptors of each device a name of their own".into(),
            DescriptorError::Queues { given, .. } => format!("set rx-queues to {given}"),
            DescriptorError::Used(..) => "pass another one, or delete that interface".into(),
        };
        let field = if let DescriptorError::Queues { .. } = self { "rx-queues" } else { "descriptor" };
        ObjectError::field(field, self.to_string()).remedy(remedy)
    }
}

/// A device with a descriptor for each queue.
pub(crate) struct Device {
    pub about: About,
    pub queues: Vec<OwnedFd>,
}

/// Refuses fields that would configure a device in a namespace that is not known.
pub(crate) fn check(tap: &Tap) -> Result<(), ObjectError> {
    let Some(descriptor) = &tap.descriptor else { return Ok(()) };
    // The separator of LISTEN_FDNAMES, and control characters, are in no name (sd_listen_fds(3)).
    if descriptor.is_empty() || descriptor.contains(|c: char| c == ':' || c.is_control()) {
        let what = format!("'{descriptor}' is no name of a descriptor");
        return Err(ObjectError::field("descriptor", what).remedy("name one of LISTEN_FDNAMES"));
    }
    let fields = [
        ("host-namespace", tap.host_namespace.is_some()),
        ("host-interface", tap.host_interface.is_some()),
        ("host-mac", tap.host_mac.is_some()),
        ("host-mtu", tap.host_mtu.is_some()),
        ("host-bridge", tap.host_bridge.is_some()),
        ("host-ip4-address", tap.host_ip4_address.is_some()),
        ("host-ip4-gateway", tap.host_ip4_gateway.is_some()),
        ("host-ip6-address", tap.host_ip6_address.is_some()),
        ("host-ip6-gateway", tap.host_ip6_gateway.is_some()),
    ];
    match fields.into_iter().find(|(_, is_set)| *is_set) {
        Some((field, _)) => {
            Err(ObjectError::field(field, "the Linux side of a descriptor is not quiverd's to configure")
                .remedy(format!("set this where the device was made, and leave out {field} or descriptor")))
        }
        None => Ok(()),
    }
}

/// Refuses a descriptor that another interface uses.
pub(crate) fn check_free(control: &Control, tap: &Tap) -> Result<(), ObjectError> {
    let Some(name) = &tap.descriptor else { return Ok(()) };
    let all = control.objects().all::<Tap>();
    match all.iter().find(|other| other.name != tap.name && other.descriptor == tap.descriptor) {
        Some(other) => Err(DescriptorError::Used(name.clone(), other.name.clone()).error()),
        None => Ok(()),
    }
}

/// Checks that the descriptors of a TAP were passed, and are those of one device.
pub(crate) fn needs(passed: &Passed, tap: &Tap, name: &str) -> Result<(), ObjectError> {
    look(passed, tap, name).map(drop).map_err(|error| error.error())
}

/// Takes a device into use.
pub(crate) fn open(control: &Control, tap: &Tap, name: &str) -> Result<Device, ObjectError> {
    check_free(control, tap)?;
    let passed = Passed::of(control);
    let device = look(&passed, tap, name).map_err(|error| error.error())?;
    let refused = |error: LinuxError| DescriptorError::from(error).error();
    for queue in &device.queues {
        // Workers never wait for a packet.
        let flags = fcntl_getfl(queue).and_then(|flags| fcntl_setfl(queue, flags | OFlags::NONBLOCK));
        flags.map_err(|error| refused(LinuxError::refused(format!("set up descriptor {name}"), error)))?;
        device::set_up(queue, &device.about.name, tap.gso).map_err(refused)?;
    }
    device.queues.iter().take(1).for_each(|queue| show_use(queue, true));
    Ok(device)
}

/// Shows the Linux side whether an interface uses the device: by its carrier.
pub(crate) fn show_use(queue: &OwnedFd, is_used: bool) {
    if let Err(error) = device::set_carrier(queue, is_used) {
        tracing::debug!("the carrier of a passed TAP device cannot be set: {error}");
    }
}

/// Looks at descriptors; nothing changes.
fn look(passed: &Passed, tap: &Tap, name: &str) -> Result<Device, DescriptorError> {
    let descriptors = passed.lend(name)?;
    let mut found: Option<About> = None;
    for descriptor in &descriptors {
        let about = identify(descriptor, name)?;
        match &found {
            Some(first) if first.name != about.name || first.mac != about.mac => {
                return Err(DescriptorError::Devices(name.into(), first.name.clone(), about.name));
            }
            Some(_) => {}
            None => found = Some(about),
        }
    }
    if descriptors.len() != usize::from(tap.rx_queues.get()) {
        return Err(DescriptorError::Queues { name: name.into(), given: descriptors.len() });
    }
    let about = found.ok_or_else(|| DescriptorError::NoDevice(name.into()))?;
    Ok(Device { about, queues: descriptors })
}

/// Describes the TAP device of a descriptor.
fn identify(descriptor: &OwnedFd, name: &str) -> Result<About, DescriptorError> {
    let no_device = || DescriptorError::NoDevice(name.into());
    // Other drivers have other requests of the same numbers.
    let file = fstat(descriptor).map_err(|_| no_device())?;
    if FileType::from_raw_mode(file.st_mode) != FileType::CharacterDevice
        || (major(file.st_rdev), minor(file.st_rdev)) != TUN
    {
        return Err(no_device());
    }
    let about = device::about(descriptor).map_err(|error| match error.raw_os_error() {
        Some(EBADFD) => DescriptorError::Detached(name.into()),
        _ => DescriptorError::from(LinuxError::refused(format!("ask for the device of descriptor {name}"), error)),
    })?;
    let has = |flag| about.flags & flag != 0;
    if has(IFF_TUN) && !has(IFF_TAP) {
        return Err(DescriptorError::Tun(name.into()));
    }
    let wanted = [(IFF_TAP, "IFF_TAP"), (IFF_NO_PI, "IFF_NO_PI"), (IFF_VNET_HDR, "IFF_VNET_HDR")];
    match wanted.into_iter().find(|(flag, _)| !has(*flag)) {
        Some((_, flag)) => Err(DescriptorError::Flags(name.into(), flag)),
        None => Ok(about),
    }
}
