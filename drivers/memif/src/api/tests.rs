//! The messages, by clients of daemons that are joined.

use std::time::Duration;

use quiver_compat::Caller;
use quiver_interface::Events;
use quiver_testkit::crossing;
use quiver_testkit::daemon::{Daemon, Rooms, Setup};

use super::*;
use crate::config::MemifSocketId;

const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);

/// A daemon, and a client of it.
struct End {
    daemon: Daemon,
    caller: Caller,
}

impl End {
    fn new() -> End {
        let register = |control: &Control| {
            quiver_interface::register(control).map_err(|error| error.to_string())?;
            crossing::register(control).map_err(|error| error.to_string())?;
            crate::register(control).map_err(|error| error.to_string())
        };
        let daemon = Daemon::new(Rooms::without_wires(register, Events::answer), Setup::default()).expect("a daemon");
        let caller = Caller::connect(daemon.control());
        End { daemon, caller }
    }
    fn sockets(&mut self) -> Vec<(u32, String)> {
        let all = self.caller.dump(&MemifSocketFilenameDump);
        all.into_iter().map(|details| (details.socket_id, details.socket_filename.0)).collect()
    }
    fn name(&mut self, socket_id: u32, filename: &str) -> Result<u32, Retval> {
        let socket_filename = filename.to_owned();
        let request = MemifSocketFilenameAddDelV2 { is_add: true, socket_id, socket_filename };
        self.caller.request(&request).map(|reply| reply.socket_id)
    }
    fn forget(&mut self, socket_id: u32) -> Result<(), Retval> {
        let request = MemifSocketFilenameAddDelV2 { is_add: false, socket_id, socket_filename: String::new() };
        self.caller.request(&request).map(drop)
    }
}

fn wanted(role: Role, id: u32, socket_id: u32) -> MemifCreateV2 {
    MemifCreateV2 {
        role,
        mode: Mode::Ethernet,
        rx_queues: 0,
        tx_queues: 0,
        id,
        socket_id,
        ring_size: 0,
        buffer_size: 0,
        no_zero_copy: false,
        use_dma: false,
        hw_addr: MacAddress::ZERO,
        secret: "".into(),
    }
}

#[test]
fn sockets_get_numbers_and_lose_them() {
    let mut end = End::new();
    let [default] = &end.sockets()[..] else { panic!("one") };
    let default = default.clone();
    assert_eq!(default.0, 0);
    assert_eq!(end.name(7, "@seven"), Ok(7));
    assert_eq!(end.name(NONE, "@free"), Ok(1));
    let older =
        |is_add, socket_id, name: &str| MemifSocketFilenameAddDel { is_add, socket_id, socket_filename: name.into() };
    assert!(end.caller.request(&older(true, 9, "@nine")).is_ok());
    let named = |id, name: &str| (id, name.to_owned());
    let all = [default, named(1, "abstract:free"), named(7, "abstract:seven"), named(9, "abstract:nine")];
    assert_eq!(end.sockets(), all);
    // The same again is no mistake, another name is.
    assert_eq!(end.name(7, "@seven"), Ok(7));
    assert_eq!(end.name(7, "@eight"), Err(Retval::INVALID_ARGUMENT));
    for id in [0, NONE] {
        assert_eq!(end.caller.request(&older(true, id, "@x")).err(), Some(Retval::INVALID_ARGUMENT));
        assert_eq!(end.forget(id), Err(Retval::INVALID_ARGUMENT));
    }
    assert_eq!(end.name(0, "@x"), Err(Retval::INVALID_ARGUMENT));
    assert_eq!(end.name(8, ""), Err(Retval::INVALID_VALUE));
    assert_eq!(end.forget(3), Err(Retval::INVALID_ARGUMENT));

    end.caller.request(&wanted(Role::Slave, 0, 7)).expect("a free number");
    assert_eq!(end.forget(7), Err(Retval::INVALID_VALUE), "an interface uses it");
    assert_eq!(end.forget(1), Ok(()));
    assert!(end.caller.request(&older(false, 9, "")).is_ok());
    assert_eq!(end.sockets().len(), 2);
}

#[test]
fn sockets_are_in_the_folder_of_the_daemon() {
    let (mut end, folder) = (End::new(), tempfile::tempdir().expect("a folder"));
    crate::sockets_in(end.daemon.control(), folder.path());
    assert_eq!(end.name(1, "deep/below/one.sock"), Ok(1));
    let below = |name: &str| folder.path().join(name).display().to_string();
    assert_eq!(end.sockets(), [(0, below("memif.sock")), (1, below("deep/below/one.sock"))]);
    assert_eq!(end.name(2, &below("memif.sock")), Err(Retval::INVALID_VALUE), "that is socket 0");
    assert_eq!(end.name(2, &"long/".repeat(20)), Err(Retval::INVALID_VALUE), "no socket has a path of so many bytes");
    for socket in [0, 1] {
        end.caller.request(&wanted(Role::Master, 0, socket)).expect("it listens");
    }
    assert!(folder.path().join("deep/below/one.sock").exists() && folder.path().join("memif.sock").exists());
    // Elsewhere no folder is made.
    let elsewhere = tempfile::tempdir().expect("a folder").path().join("one.sock").display().to_string();
    assert_eq!(end.name(3, &elsewhere), Ok(3));
    assert_eq!(end.caller.request(&wanted(Role::Master, 0, 3)).err(), Some(Retval::INVALID_VALUE));
}

#[test]
fn guests_have_sockets_in_the_folder_of_the_daemon() {
    let (end, folder) = (End::new(), tempfile::tempdir().expect("a folder"));
    crate::sockets_in(end.daemon.control(), folder.path());
    let guest = end.daemon.control().by(quiver_control::transaction::Author::new("mallory").as_guest());
    let put = |id, filename: &str| guest.put(crate::MemifSocket { id, filename: filename.into() });
    assert_eq!(put(1, "one.sock"), Ok(()));
    assert_eq!(put(2, "@abstract"), Ok(()));
    for elsewhere in ["/run/other.sock", "../x", "deep/../../x"] {
        let refused = put(3, elsewhere).expect_err("it is none of theirs").to_string();
        assert!(refused.contains("is out of reach for clients"), "{elsewhere}: {refused}");
    }
}

#[test]
fn interfaces_of_two_daemons_find_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let filename = folder.path().join("memif.sock").display().to_string();
    let (mut master, mut slave) = (End::new(), End::new());
    for end in [&mut master, &mut slave] {
        assert_eq!(end.name(NONE, &filename), Ok(1));
    }
    let created = master.caller.request(&wanted(Role::Master, 7, 1)).expect("a free number").sw_if_index;
    let of_slave = MemifCreateV2 {
        rx_queues: 2,
        tx_queues: 1,
        ring_size: 512,
        buffer_size: 1024,
        no_zero_copy: true,
        hw_addr: MAC,
        ..wanted(Role::Slave, 7, 1)
    };
    slave.caller.request(&MemifCreate::from(of_slave)).expect("a free number");
    for end in [&mut master, &mut slave] {
        end.daemon.configure("set interface state memif1/7 up");
    }
    let up = |end: &mut End| {
        end.daemon.advance(Duration::from_millis(50)).expect("it settles");
        end.caller.dump(&MemifDump).remove(0).flags.has(IfStatusFlags::LINK_UP)
    };
    let connected = (0..1000).any(|_| {
        let both = [up(&mut master), up(&mut slave)];
        both == [true; 2]
    });
    assert!(connected, "master: {:?}", master.caller.dump(&MemifDump));

    let shown = slave.caller.dump(&MemifDump);
    let expected = MemifDetails {
        sw_if_index: InterfaceIndex(1),
        hw_addr: MAC,
        id: 7,
        role: Role::Slave,
        mode: Mode::Ethernet,
        zero_copy: false,
        socket_id: 1,
        ring_size: 512,
        buffer_size: 1024,
        flags: IfStatusFlags::ADMIN_UP | IfStatusFlags::LINK_UP,
        if_name: "memif1/7".into(),
    };
    assert_eq!(shown, [expected]);
    let configured = slave.daemon.control().objects().get::<Memif>(&"memif1/7".to_owned()).expect("configured");
    assert_eq!((configured.rx_queues.get(), configured.socket.as_ref()), (2, Some(&MemifSocketId(1))));
    // The master said nothing of rings: they are the slave's.
    let of_master = master.caller.dump(&MemifDump).remove(0);
    assert_eq!((of_master.role, of_master.ring_size, of_master.zero_copy), (Role::Master, 512, true));

    assert!(master.caller.request(&MemifDelete { sw_if_index: created }).is_ok());
    assert_eq!(master.caller.dump(&MemifDump), []);
    let again = master.caller.request(&MemifDelete { sw_if_index: created });
    assert_eq!(again.err(), Some(Retval::INVALID_SW_IF_INDEX));
}

#[test]
fn what_cannot_be_is_refused() {
    let mut end = End::new();
    end.caller.request(&wanted(Role::Slave, 3, 0)).expect("socket 0 is there always");
    let group = MacAddress([1, 0, 0, 0, 0, 1]);
    for (request, retval) in [
        (wanted(Role::Slave, 3, 0), Retval::SUBIF_ALREADY_EXISTS),
        (wanted(Role::Slave, 4, 5), Retval::INVALID_ARGUMENT),
        (MemifCreateV2 { ring_size: 1000, ..wanted(Role::Slave, 4, 0) }, Retval::INVALID_VALUE),
        (MemifCreateV2 { buffer_size: 63, ..wanted(Role::Slave, 4, 0) }, Retval::INVALID_VALUE),
        (MemifCreateV2 { hw_addr: group, ..wanted(Role::Slave, 4, 0) }, Retval::INVALID_VALUE),
    ] {
        assert_eq!(end.caller.request(&request).err(), Some(retval), "{request:?}");
    }
    assert_eq!(end.caller.dump(&MemifDump).len(), 1);
}
