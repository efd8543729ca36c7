//! Two applications, each with a client of its own, over a real socket and real shared memory.

use std::time::{Duration, Instant};

use quiver_memif_client::{
    Address, Client, ClientError, EventKind, InterfaceId, Mode, PACKET_MAX, Packets, QueueError, Secret, Settings,
    SettingsError,
};

const PATIENCE: Duration = Duration::from_secs(10);

struct App {
    client: Client,
    interface: InterfaceId,
    said: Vec<EventKind>,
}
impl App {
    fn open(settings: Settings) -> App {
        let mut client = Client::new().expect("a client");
        let interface = client.open(settings).expect("an interface");
        App { client, interface, said: vec![] }
    }
    fn is_connected(&self) -> bool {
        self.client.is_connected(self.interface)
    }
    fn look(&mut self) {
        let events = self.client.wait(Some(Duration::from_millis(1))).expect("no error");
        self.said.extend(events.into_iter().map(|event| event.what));
    }
    fn send(&mut self, queue: usize, packets: &[Vec<u8>]) -> Result<usize, QueueError> {
        let tx = self.client.tx_queue(self.interface, queue).expect("connected");
        tx.send(packets.iter().map(Vec::as_slice))
    }
    /// Everything that waits.
    fn receive(&mut self, queue: usize) -> Vec<Vec<u8>> {
        let rx = self.client.rx_queue(self.interface, queue).expect("connected");
        let (mut packets, mut all) = (Packets::new(), vec![]);
        while rx.receive(&mut packets, 7).expect("honest") > 0 {
            all.extend(packets.iter().map(<[u8]>::to_vec));
        }
        all
    }
}

/// Lets both go on until it is so.
fn until(one: &mut App, other: &mut App, what: &str, is_so: impl Fn(&App, &App) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so(one, other) {
        assert!(Instant::now() < end, "{what}: {:?} {:?}", one.said, other.said);
        one.look();
        other.look();
    }
}
fn connected(one: &mut App, other: &mut App) {
    until(one, other, "connect", |one, other| one.is_connected() && other.is_connected());
}

/// A socket of this test, abstract so that nothing is left behind.
fn socket(test: &str) -> Address {
    format!("abstract:quiver-memif-client-{test}-{}", std::process::id()).parse().expect("a name")
}
fn slave(socket: &Address) -> Settings {
    Settings { retry: Duration::from_millis(20), ..Settings::slave(socket.clone(), 0) }
}
fn packets(lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<u8>> {
    lengths.into_iter().map(|length| (0..length).map(|i| (i * 7 + length) as u8).collect()).collect()
}

#[test]
fn packets_of_all_lengths_pass_both_ways() {
    let socket = socket("lengths");
    // The slave comes first: it tries until there is a master.
    let mut slave = App::open(Settings { buffer: 256, ..slave(&socket) });
    slave.look();
    let mut master = App::open(Settings::master(socket, 0));
    connected(&mut master, &mut slave);
    let sent = packets([1, 60, 255, 256, 257, 1500, 9000, 40_000, 60]);
    assert_eq!(slave.send(0, &sent), Ok(sent.len()));
    assert!(master.receive(0) == sent, "slave to master");
    assert_eq!(master.send(0, &sent), Ok(sent.len()));
    assert!(slave.receive(0) == sent, "master to slave");
    assert_eq!(master.receive(0), packets([]));
    let EventKind::Connected(peer) = &slave.said[0] else { panic!("{:?}", slave.said) };
    assert_eq!((&*peer.name, &*peer.interface), ("quiver-memif-client", "memif0"));
    assert_eq!(peer.credentials.map(|who| who.pid), i32::try_from(std::process::id()).ok());
}

#[test]
fn a_full_ring_takes_what_fits_and_goes_on_when_there_is_room() {
    let socket = socket("full");
    let mut master = App::open(Settings::master(socket.clone(), 0));
    let mut slave = App::open(Settings { log2_ring_size: 4, buffer: 64, ..slave(&socket) });
    connected(&mut master, &mut slave);
    for round in 0..5000 {
        let sent = packets((0..20).map(|i| 64 - (round + i) % 40));
        let (from, to) = if round % 2 == 0 { (&mut slave, &mut master) } else { (&mut master, &mut slave) };
        assert_eq!(from.send(0, &sent), Ok(16));
        assert_eq!(from.send(0, &sent[16..]), Ok(0));
        assert!(to.receive(0) == sent[..16]);
        assert_eq!(from.send(0, &sent[16..]), Ok(4));
        assert!(to.receive(0) == sent[16..]);
    }
    assert_eq!(slave.send(0, &packets([16 * 64 + 1])), Err(QueueError::TooLong { index: 0, length: 1025 }));
    assert_eq!(slave.send(0, &packets([16 * 64])), Ok(1));
    assert!(master.receive(0) == packets([16 * 64]));
}

#[test]
fn packets_beyond_all_bounds_are_dropped_and_counted() {
    let socket = socket("bounds");
    let mut master = App::open(Settings::master(socket.clone(), 0));
    let mut slave = App::open(slave(&socket));
    connected(&mut master, &mut slave);
    let sent = packets([PACKET_MAX + 1, 60, PACKET_MAX]);
    assert_eq!(slave.send(0, &sent), Ok(3));
    assert!(master.receive(0) == sent[1..]);
    let rx = master.client.rx_queue(master.interface, 0).expect("connected");
    assert_eq!(rx.dropped(), 1);
}

#[test]
fn queues_are_as_the_slave_asks() {
    let socket = socket("queues");
    let mut master = App::open(Settings::master(socket.clone(), 0));
    let mut slave = App::open(Settings { rx_queues: 1, tx_queues: 3, log2_ring_size: 5, ..slave(&socket) });
    connected(&mut master, &mut slave);
    assert_eq!(slave.client.queue_counts(slave.interface), (1, 3));
    assert_eq!(master.client.queue_counts(master.interface), (3, 1));
    for queue in 0..3 {
        let sent = packets([60 + queue]);
        assert_eq!(slave.send(queue, &sent), Ok(1));
        assert_eq!(master.receive(queue), sent);
    }
}

#[test]
fn a_sleeping_receiver_is_woken_and_a_busy_one_is_not() {
    let socket = socket("wake");
    let mut master = App::open(Settings::master(socket.clone(), 0));
    let mut slave = App::open(slave(&socket));
    connected(&mut master, &mut slave);
    for to_master in [true, false] {
        let (from, to) = if to_master { (&mut slave, &mut master) } else { (&mut master, &mut slave) };
        assert!(to.client.arm(), "nothing waits");
        assert_eq!(from.send(0, &packets([60])), Ok(1));
        let start = Instant::now();
        assert_eq!(to.client.wait(Some(PATIENCE)).expect("no error"), []);
        assert!(start.elapsed() < PATIENCE, "woken, not timed out");
        assert!(!to.client.arm(), "a packet waits");
        assert_eq!(to.receive(0).len(), 1);
        assert_eq!(to.client.wait(Some(Duration::ZERO)).expect("no error"), []);
    }
    // From a thread of its own.
    let (mut rx, _) = master.client.take_queues(master.interface).expect("connected");
    let sleeper = std::thread::spawn(move || (rx[0].wait(Some(PATIENCE)), rx));
    while slave.send(0, &packets([60])) == Ok(0) {}
    let (woken, mut rx) = sleeper.join().expect("no panic");
    assert_eq!(woken, Ok(true));
    assert!(matches!(rx[0].receive(&mut Packets::new(), 8), Ok(1..)));
    slave.client.close(slave.interface);
    until(&mut master, &mut slave, "end", |master, _| !master.is_connected());
    assert_eq!(rx[0].wait(None), Err(QueueError::Disconnected));
}

#[test]
fn who_goes_comes_back() {
    let socket = socket("again");
    let mut master = App::open(Settings::master(socket.clone(), 0));
    let mut slave = App::open(slave(&socket));
    for _ in 0..3 {
        connected(&mut master, &mut slave);
        let (mut rx, mut tx) = slave.client.take_queues(slave.interface).expect("connected");
        master = App::open({
            drop(master);
            Settings::master(socket.clone(), 0)
        });
        until(&mut master, &mut slave, "loss", |_, slave| {
            matches!(slave.said.last(), Some(EventKind::Disconnected(_)))
        });
        assert_eq!(rx[0].receive(&mut Packets::new(), 1), Err(QueueError::Disconnected));
        assert_eq!(tx[0].send([&[0; 60][..]]), Err(QueueError::Disconnected));
        connected(&mut master, &mut slave);
        assert_eq!(slave.send(0, &packets([60])), Ok(1));
        assert_eq!(master.receive(0), packets([60]));
        slave = App::open({
            drop(slave);
            self::slave(&socket)
        });
    }
}

#[test]
fn one_socket_has_many_interfaces_and_refuses_in_words() {
    let socket = socket("many");
    let secret = |text| Secret::new(text).expect("short");
    let mut masters = App::open(Settings { secret: secret("right"), ..Settings::master(socket.clone(), 1) });
    masters.client.open(Settings { mode: Mode::Ip, ..Settings::master(socket.clone(), 2) }).expect("a second one");
    let again = masters.client.open(Settings::master(socket.clone(), 2));
    assert!(matches!(again, Err(ClientError::InUse { id: 2, .. })));
    let cases = [
        (3, Mode::Ethernet, Secret::NONE, "unmatched interface id"),
        (1, Mode::Ethernet, Secret::NONE, "secret required"),
        (1, Mode::Ethernet, secret("wrong"), "incorrect secret"),
        (2, Mode::Ethernet, Secret::NONE, "mode mismatch"),
    ];
    for (id, mode, secret, refusal) in cases {
        let mut slave = App::open(Settings { id, mode, secret, ..slave(&socket) });
        until(&mut masters, &mut slave, refusal, |_, slave| !slave.said.is_empty());
        assert_eq!(slave.said[0], EventKind::Disconnected(format!("the peer says: {refusal}")));
    }
    let mut first = App::open(Settings { id: 1, secret: secret("right"), ..slave(&socket) });
    connected(&mut masters, &mut first);
    let mut second = App::open(Settings { id: 1, secret: secret("right"), ..slave(&socket) });
    until(&mut masters, &mut second, "taken", |_, second| !second.said.is_empty());
    assert_eq!(second.said[0], EventKind::Disconnected("the peer says: already connected".into()));
    assert!(first.is_connected());
}

#[test]
fn strangers_that_say_nothing_lock_nobody_out() {
    use quiver_memif_protocol::Channel;
    let socket = socket("strangers");
    let mut master = App::open(Settings::master(socket.clone(), 0));
    let mut silent = vec![];
    for _ in 0..200 {
        silent.extend(Channel::connect(&socket).expect("no error"));
        master.look();
    }
    assert!(silent.len() > 100);
    let mut slave = App::open(slave(&socket));
    connected(&mut master, &mut slave);
}

#[test]
fn what_cannot_be_is_refused() {
    let open = |settings: Settings| match Client::new().expect("a client").open(settings) {
        Err(ClientError::Settings { source, .. }) => Some(source),
        _ => None,
    };
    let socket = socket("settings");
    let base = || slave(&socket);
    assert_eq!(open(Settings { log2_ring_size: 15, ..base() }), Some(SettingsError::RingSize(15)));
    assert_eq!(open(Settings { buffer: 10, ..base() }), Some(SettingsError::Buffer(10)));
    let none = Settings { rx_queues: 0, tx_queues: 0, ..base() };
    assert_eq!(open(none), Some(SettingsError::Queues { rx: 0, tx: 0 }));
    let elsewhere = Settings { socket: "@x,netns_name=blue".parse().expect("a name"), ..base() };
    assert!(matches!(open(elsewhere), Some(SettingsError::Namespace(_))));
    let nowhere = Settings::master("/nowhere/at/all".parse().expect("a path"), 0);
    let error = Client::new().expect("a client").open(nowhere).expect_err("no such folder");
    assert!(error.to_string().starts_with("socket /nowhere/at/all: the system refused to bind"), "{error}");
}
