//! The Linux device behind a TAP interface: made in its namespace, with a descriptor for each queue, or passed as descriptors. One
//! that was made lives as long as the descriptors are open.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use quiver_linux::{Capability, LinuxError, Namespace};
use quiver_wire::MacAddress;

/// Options for opening the device.
pub struct Request<'a> {
    /// Its name in Linux.
    pub name: &'a str,
    /// Its queues.
    pub queues: usize,
    /// Whether Linux may hand over packets whose checksums are missing, and long ones to be cut later.
    pub offload: bool,
}

const DEVICE: &str = "/dev/net/tun";
/// Offloads of kernels before 6.2.
const OFFLOADS: u32 = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
/// Those of UDP, since 6.2.
const UDP_OFFLOADS: u32 = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// Makes the device and returns its queues.
pub fn create(namespace: &Namespace, request: &Request) -> Result<Vec<OwnedFd>, LinuxError> {
    // The descriptor belongs to the namespace in which it was opened, and so does the device.
    namespace.within(|| (0..request.queues).map(|queue| open(namespace, request, queue)).collect())?
}

fn open(namespace: &Namespace, request: &Request, queue: usize) -> Result<OwnedFd, LinuxError> {
    let name = request.name;
    let refused = |error: Error| match error.kind() {
        // The device is there, and not one that another process waits to share.
        ErrorKind::ResourceBusy | ErrorKind::InvalidInput | ErrorKind::AlreadyExists => {
            LinuxError::LinkExists { name: name.into(), namespace: namespace.name().into() }
        }
        _ => LinuxError::of_right(format!("make the TAP device {name}"), error, Capability::NetAdmin),
    };
    let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
    let file = file.map_err(|error| match error.kind() {
        // The file is there without its driver, or not at all.
        ErrorKind::NotFound => LinuxError::NoDevice(DEVICE),
        _ if error.raw_os_error() == Some(libc::ENXIO) || error.raw_os_error() == Some(libc::ENODEV) => {
            LinuxError::NoDevice(DEVICE)
        }
        ErrorKind::PermissionDenied => LinuxError::ClosedDevice(DEVICE),
        _ => LinuxError::refused(format!("open {DEVICE}"), error),
    })?;
    let mut flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    if request.queues > 1 {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    if queue == 0 {
        // Without it an idle device of that name would silently become ours.
        flags |= libc::IFF_TUN_EXCL;
    }
    let mut interface = request_of(name, flags);
    // SAFETY: TUNSETIFF reads and writes one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut interface) }).map_err(refused)?;
    let fd = OwnedFd::from(file);
    set_up(&fd, name, request.offload)?;
    Ok(fd)
}

/// Sets the header of packets, and which offloads Linux may leave to quiverd. Needs no right but the descriptor.
pub fn set_up(fd: &OwnedFd, name: &str, wants_offload: bool) -> Result<(), LinuxError> {
    let refused = |error| LinuxError::refused(format!("set the offload header of {name}"), error);
    set(fd, libc::TUNSETVNETHDRSZ, size_of::<quiver_wire::VirtioNetHeader>() as libc::c_int).map_err(refused)?;
    set(fd, libc::TUNSETVNETLE, 1).map_err(refused)?;
    offload(fd, wants_offload).map_err(|e| LinuxError::refused(format!("set the offloads of {name}"), e))
}

/// A device, as its descriptor describes it.
#[derive(Debug, PartialEq, Eq)]
pub struct About {
    /// Its name in its namespace.
    pub name: String,
    /// Flags with which the descriptor was attached to it: `IFF_TAP` and others.
    pub flags: libc::c_int,
    /// Address of the Linux side.
    pub mac: MacAddress,
}

/// Describes the device of a descriptor of `/dev/net/tun`. An error of EBADFD if it has none, or has none any more.
pub fn about(fd: &OwnedFd) -> Result<About, Error> {
    let mut interface = request_of("", 0);
    // SAFETY: TUNGETIFF writes one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNGETIFF, &raw mut interface) })?;
    let name: Vec<u8> = interface.ifr_name.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    // SAFETY: TUNGETIFF fills in this member of the union; any bytes are a valid number.
    let flags = libc::c_int::from(unsafe { interface.ifr_ifru.ifru_flags });
    // SAFETY: SIOCGIFHWADDR reads and writes one `ifreq`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut interface) })?;
    // SAFETY: SIOCGIFHWADDR fills in this member of the union; any bytes are a valid address.
    let address = unsafe { interface.ifr_ifru.ifru_hwaddr }.sa_data;
    let mac = MacAddress(std::array::from_fn(|at| address[at] as u8));
    Ok(About { name: String::from_utf8_lossy(&name).into_owned(), flags, mac })
}

/// Says whether a program serves the device: without a carrier Linux sends nothing there. Linux before 4.20 cannot be told.
pub fn set_carrier(fd: &OwnedFd, is_served: bool) -> Result<(), Error> {
    match set(fd, libc::TUNSETCARRIER, libc::c_int::from(is_served)) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        told => told,
    }
}

fn request_of(name: &str, flags: libc::c_int) -> libc::ifreq {
    // SAFETY: `ifreq` is plain data, for which zeros are valid.
    let mut interface: libc::ifreq = unsafe { std::mem::zeroed() };
    // One byte stays zero, the end of the name; longer names were refused before.
    let last = interface.ifr_name.len() - 1;
    for (to, from) in interface.ifr_name[..last].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    interface.ifr_ifru.ifru_flags = flags as libc::c_short;
    interface
}

/// Sets a number of the device.
fn set(fd: &OwnedFd, what: libc::c_ulong, value: libc::c_int) -> Result<(), Error> {
    // SAFETY: these requests read one `int`, which outlives the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), what, &raw const value) })
}

fn offload(fd: &OwnedFd, wanted: bool) -> Result<(), Error> {
    // SAFETY: TUNSETOFFLOAD takes its bits by value.
    let set = |bits: u32| check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TUNSETOFFLOAD, libc::c_ulong::from(bits)) });
    match wanted {
        false => set(0),
        true => set(OFFLOADS | UDP_OFFLOADS).or_else(|_| set(OFFLOADS)),
    }
}

fn check(result: libc::c_int) -> Result<(), Error> {
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}
