//! Sessions: the protocol's order, its limits, and clients that do not keep to it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::ready;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use futures_util::FutureExt;
use quiver_compat::session::{Hangup, REQUEST_MAX};
use quiver_compat::trace::{self, TraceFiles};
use quiver_compat::{Api, Caller, Message, Refusal, Retval, Session, Subscribers, Text, Wire, add};
use quiver_control::cli::Output;
use quiver_control::files::FileError;
use quiver_control::object::Moment;
use quiver_control::{Control, LocalFuture};
use quiver_testkit::executor::Executor;

/// Add one.
#[derive(Message, Clone, Debug)]
#[message(request, reply = TestAddReply)]
struct TestAdd {
    number: u32,
    colour: TestColour,
}

/// The sum.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(reply)]
struct TestAddReply {
    number: u32,
}

/// Answer after so many seconds.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct TestLater {
    seconds: u32,
}

/// A colour.
#[derive(Wire, Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
enum TestColour {
    #[value("RED")]
    Red = 1,
}

/// Numbers up to this one.
#[derive(Message, Clone, Debug)]
#[message(dump, details = TestCountDetails)]
struct TestCountDump {
    count: u32,
}

/// One of them.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(details)]
struct TestCountDetails {
    number: u32,
    filler: [u8; 1000],
}

/// Be told of numbers, or not.
#[derive(Message, Clone, Debug)]
#[message(request, events(TestEvent))]
struct WantTestEvents {
    enable_disable: u32,
    pid: u32,
}

/// A number.
#[derive(Message, Clone, Debug, PartialEq)]
#[message(event)]
struct TestEvent {
    number: u32,
}

/// A message of VPP's that no room has, by its name.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct StnAddDelRule {
    is_add: bool,
}

/// Open to who knows the word.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct TestOpen {
    number: u32,
    #[secret]
    word: Text<8>,
    more: u32,
    command: String,
}

/// On whose behalf?
#[derive(Message, Clone, Debug)]
#[message(request, reply = TestAuthorReply)]
struct TestAuthor;

/// This one's.
#[derive(Message, Clone, Debug, Default)]
#[message(reply)]
struct TestAuthorReply {
    author: Text<64>,
}

struct Room(Subscribers<TestEvent>);

/// The room's state, and how many details were made.
fn control() -> (Control, Rc<Cell<u32>>) {
    hosted(&Executor::new(0))
}

/// The same, hosted by this one.
fn hosted(executor: &Executor) -> (Control, Rc<Cell<u32>>) {
    let control = executor.control();
    let made = Rc::new(Cell::new(0));
    let counted = made.clone();
    let events = add(&control, "test", (1, 0, 0), |file| {
        file.request(|_, add: TestAdd| {
            let number = add.number.checked_add(1);
            let refusal = || Refusal::new(Retval::LIMIT_EXCEEDED, "number: there is no larger one");
            number.map(|number| TestAddReply { number }).ok_or_else(refusal)
        });
        file.dump(move |_, dump: TestCountDump| {
            let counted = counted.clone();
            (0..dump.count).map(move |number| {
                counted.set(counted.get() + 1);
                TestCountDetails { number, filler: [7; 1000] }
            })
        });
        file.call(|call, want: WantTestEvents| {
            call.control.room::<Room>().0.set(&call.client, want.pid, want.enable_disable != 0);
            Ok(())
        });
        file.request(|control, _: TestAuthor| Ok(TestAuthorReply { author: control.author().to_string().into() }));
        file.event::<TestEvent>()
    });
    control.insert_room(Room(Subscribers::new(events)));
    (control, made)
}

fn framed(number: u16, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0xaa; 8];
    out.extend((bytes.len() as u32 + 2).to_be_bytes());
    out.extend([0xbb; 4]);
    out.extend(number.to_be_bytes());
    out.extend(bytes);
    out
}

fn hello() -> Vec<u8> {
    hello_of("somebody")
}

fn hello_of(name: &str) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend(name.as_bytes());
    bytes.resize(4 + 64, 0);
    framed(15, &bytes)
}

/// All that a session says at once.
fn output(session: &mut Session) -> Vec<u8> {
    let mut all = vec![];
    loop {
        let more = session.work();
        all.extend(session.output());
        let length = session.output().len();
        session.sent(length);
        if !more && length == 0 {
            return all;
        }
    }
}

#[test]
fn requests_are_answered_in_order_and_refused_by_numbers() {
    let mut caller = Caller::connect(&control().0);
    let red = TestColour::Red;
    assert_eq!(caller.request(&TestAdd { number: 4, colour: red }), Ok(TestAddReply { number: 5 }));
    let refused = caller.request(&TestAdd { number: u32::MAX, colour: red });
    assert_eq!(refused, Err(Retval::LIMIT_EXCEEDED));
    let numbers = caller.dump(&TestCountDump { count: 3 }).iter().map(|one| one.number).collect::<Vec<_>>();
    assert_eq!(numbers, [0, 1, 2]);
}

#[test]
fn requests_that_need_not_wait_are_answered_in_one_turn_with_their_changes_together() {
    let executor = Executor::new(0);
    let (control, _) = hosted(&executor);
    add(&control, "later", (1, 0, 0), |file| {
        file.waiting(|control: Control, TestLater { seconds }: TestLater| async move {
            if seconds > 0 {
                control.sleep(Duration::from_secs(seconds.into())).await;
            }
            Ok(())
        });
    });
    let moments = Rc::new(RefCell::new(vec![]));
    let noted = moments.clone();
    control.objects().around_turns(move |_, moment| noted.borrow_mut().push(moment));
    let number = control.room::<Api>().id_of("test_later").expect("it was added");
    let mut session = Session::new(control);
    session.receive(&hello());
    output(&mut session);
    moments.take();
    for seconds in [0, 0, 5, 0] {
        session.receive(&framed(number, &[0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, seconds]));
    }
    // A frame's header, number, context and retval.
    let reply = 16 + 2 + 4 + 4;
    assert!(!session.work(), "it waits for the third one");
    assert_eq!((session.output().len() / reply, moments.take()), (2, vec![Moment::Before, Moment::After]));
    assert_eq!(session.changed().now_or_never(), None);
    executor.advance_to(executor.time() + Duration::from_secs(5));
    session.changed().now_or_never().expect("the time is over");
    session.work();
    assert_eq!(session.output().len() / reply, 4);
}

#[test]
fn a_request_that_cannot_be_read_is_refused_and_the_next_one_answered() {
    let (control, _) = control();
    let number = control.room::<Api>().id_of("test_add").expect("it was added");
    let mut session = Session::new(control);
    session.receive(&hello());
    output(&mut session);
    // client_index, context, number, a colour that is none; then one that ends too early; then a good one.
    for bytes in [
        &[0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 2][..],
        &[0, 0, 0, 0, 0, 0, 0, 9],
        &[0; 12],
        &[0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 1],
    ] {
        session.receive(&framed(number, bytes));
    }
    let answers = output(&mut session);
    let retvals: Vec<i32> = answers
        .chunks(16 + 2 + 12)
        .map(|reply| i32::from_be_bytes(reply[22..26].try_into().expect("four bytes")))
        .collect();
    assert_eq!(retvals, [-7, -7, -7, 0]);
    assert_eq!(session.end(), None);
}

#[test]
fn a_client_that_does_not_read_makes_only_itself_wait() {
    let (control, made) = control();
    let number = control.room::<Api>().id_of("test_count_dump").expect("it was added");
    let mut session = Session::new(control);
    session.receive(&hello());
    output(&mut session);
    let count = 100_000u32;
    session.receive(&framed(number, &[&[0; 8][..], &count.to_be_bytes()].concat()));
    while session.work() {}
    assert!(made.get() < 1000, "{} details were made for nobody", made.get());
    assert!(!session.wants_input());
    let read = output(&mut session).len();
    assert_eq!((made.get(), read), (count, count as usize * (16 + 2 + 4 + 1004)));
}

#[test]
fn messages_that_no_room_has_are_answered_all_the_same() {
    let (control, _) = control();
    let mut session = Session::new(control.clone());
    session.receive(&hello());
    output(&mut session);
    let api = |name: &str| control.room::<Api>().id_of(name).expect("VPP has it");
    let (request, reply) = (api("vxlan_add_del_tunnel_v3"), api("vxlan_add_del_tunnel_v3_reply"));
    let dump = api("vxlan_tunnel_v2_dump");
    session.receive(&framed(request, &[0, 0, 0, 0, 0, 0, 0, 5]));
    session.receive(&framed(dump, &[0, 0, 0, 0, 0, 0, 0, 6]));
    let answer = output(&mut session);
    // The reply of VPP 26.10 has context, retval and an interface.
    let expected = [&reply.to_be_bytes()[..], &5u32.to_be_bytes(), &(-9i32).to_be_bytes(), &[0; 4]].concat();
    assert_eq!(answer[16..], expected);
}

/// The names and checksums that a client finds.
fn table(session: &mut Session) -> Vec<(u16, String)> {
    session.receive(&hello());
    // The frame; number, client_index, context, response, index, count; then a number and 64 bytes of name each.
    let entry = |entry: &[u8]| {
        let name = String::from_utf8_lossy(&entry[2..]);
        (u16::from_be_bytes([entry[0], entry[1]]), name.trim_end_matches('\0').to_owned())
    };
    output(session)[16 + 20..].chunks(66).map(entry).collect()
}

#[test]
fn a_client_of_another_release_finds_the_checksums_of_that_one() {
    let (control, _) = control();
    let mut ours = Session::new(control.clone());
    let mut theirs = Session::new(control).of_release(Some("25.10".parse().expect("it is known")));
    let (mine, other) = (table(&mut ours), table(&mut theirs));
    let changed: Vec<_> = mine.iter().zip(&other).filter(|(mine, other)| mine != other).collect();
    let names: Vec<_> = changed.iter().map(|(mine, other)| (mine.1.as_str(), other.1.as_str())).collect();
    let lldp = ("lldp_details_a14ac395", "lldp_details_c2d226cd");
    assert!(names.contains(&lldp) && names.len() == 5, "{names:?}");
    assert!(changed.iter().all(|(mine, other)| mine.0 == other.0), "numbers are the same");
    // A request of theirs, refused in the words that theirs has.
    let (number, _) = other.iter().find(|(_, name)| name == "cnat_set_snat_policy_d3e6eaf4").expect("as 25.10 has it");
    theirs.receive(&framed(*number, &[0, 0, 0, 0, 0, 0, 0, 5, 1]));
    assert_eq!(output(&mut theirs)[16 + 2..], [0, 0, 0, 5, 0xff, 0xff, 0xff, 0xf7]);
}

#[test]
fn a_room_that_comes_late_answers_what_clients_know_already() {
    let control = Executor::new(0).control();
    add(&control, "test", (1, 0, 0), |_| ());
    Caller::connect(&control);
    let awaited = control.room::<Api>().id_of("stn_add_del_rule");
    add(&control, "stn", (1, 0, 0), |file| file.request(|_, _: StnAddDelRule| Ok(())));
    assert_eq!(control.room::<Api>().id_of("stn_add_del_rule"), awaited);
    Caller::connect(&control).request(&StnAddDelRule { is_add: true }).map(drop).expect("it is answered now");
}

#[test]
fn events_come_to_those_who_asked_until_they_do_not_want_them_or_do_not_read() {
    let (control, _) = control();
    let (mut one, mut other) = (Caller::connect(&control), Caller::connect(&control));
    let want = |enable_disable| WantTestEvents { enable_disable, pid: 3 };
    let tell = |number| control.room::<Room>().0.tell(&TestEvent { number });
    one.request(&want(1)).map(|_| ()).expect("done");
    one.request(&want(1)).map(|_| ()).expect("done");
    tell(1);
    assert_eq!(one.events::<TestEvent>(), [TestEvent { number: 1 }], "once, however often it asked");
    assert_eq!(other.events::<TestEvent>(), []);
    one.request(&want(0)).map(|_| ()).expect("done");
    tell(2);
    assert_eq!(one.events::<TestEvent>(), []);
    drop(one);
    other.request(&want(1)).map(|_| ()).expect("done");
    (0..1_000_000).for_each(tell);
    assert!(other.has_ended(), "16 MB wait for it");
}

#[test]
fn nonsense_ends_the_connection() {
    let (control, _) = control();
    let ends = |bytes: &[u8]| {
        let mut session = Session::new(control.clone());
        session.receive(bytes);
        output(&mut session);
        session.end().cloned()
    };
    assert!(matches!(ends(&framed(23, &[0; 8])), Some(Hangup::Nonsense(_))), "a ping before the handshake");
    assert!(matches!(ends(&framed(15, &[0; 8])), Some(Hangup::Nonsense(_))), "half a handshake");
    let mut huge = [hello(), vec![0; 16]].concat();
    let at = huge.len() - 8;
    huge[at..at + 4].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(matches!(ends(&huge), Some(Hangup::Nonsense(_))), "4 GiB");
    let leave = |number| ends(&[hello(), framed(number, &[0; 12])].concat());
    assert_eq!((leave(17), leave(18)), (Some(Hangup::Left), Some(Hangup::Left)), "GoVPP leaves by the wrong number");
    assert_eq!(ends(&hello()[..50]), None, "the rest may come");
}

#[test]
fn input_waits_in_bounded_memory() {
    let mut session = Session::new(control().0);
    session.receive(&hello());
    let mut read = 0;
    while session.wants_input() && read < 10 * REQUEST_MAX {
        // The beginning of a message that never ends.
        session.receive(&[1; 1000]);
        read += 1000;
    }
    assert!(read <= REQUEST_MAX + 2000, "{read} bytes");
}

#[test]
fn memory_is_taken_for_what_has_come_and_given_back() {
    let (control, made) = control();
    let number = |name| control.room::<Api>().id_of(name).expect("it was added");
    let (add, count) = (number("test_add"), number("test_count_dump"));
    let mut session = Session::new(control.clone());
    session.receive(&hello());
    output(&mut session);
    assert_eq!(session.held(), 0, "nothing waits");
    let message = framed(add, &[0; REQUEST_MAX - 2]);
    let (half, rest) = message.split_at(message.len() / 2);
    let mut come = 0;
    for part in half.chunks(1000) {
        session.receive(part);
        assert!(!session.work());
        come += part.len();
        assert!((come..=2 * come).contains(&session.held()), "{} bytes for {come}", session.held());
    }
    // Its answer, and the beginning of the next one.
    session.receive(&[rest, &half[..10]].concat());
    assert_eq!(output(&mut session).len(), 16 + 2 + 12);
    assert!((10..100_000).contains(&session.held()), "{} bytes for 10", session.held());
    session.receive(&half[10..]);
    session.receive(rest);
    session.receive(&framed(count, &[&[0; 8][..], &1000u32.to_be_bytes()].concat()));
    session.work();
    assert!(session.held() > 10_000, "details wait for their reader");
    output(&mut session);
    assert_eq!((session.held(), made.get()), (0, 1000));
}

#[test]
fn who_introduces_itself_again_has_another_name_and_is_the_same_client() {
    let (control, _) = control();
    let number = |name| control.room::<Api>().id_of(name).expect("it was added");
    let (want, author) = (number("want_test_events"), number("test_author"));
    let mut session = Session::new(control.clone());
    session.receive(&hello());
    let first = output(&mut session);
    session.receive(&framed(want, &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3]));
    output(&mut session);
    let mut other = Session::new(control.clone());
    other.receive(&hello());
    assert_ne!(output(&mut other)[..26], first[..26], "another client has another number");

    // An event that waits is lost as little as the wish for it.
    control.room::<Room>().0.tell(&TestEvent { number: 1 });
    session.receive(&hello_of("somebody-else"));
    control.room::<Room>().0.tell(&TestEvent { number: 2 });
    let again = output(&mut session);
    let event = 16 + 2 + 4 + 4 + 4;
    let events: Vec<u8> = again[..2 * event].chunks(event).map(|event| event[event.len() - 1]).collect();
    assert_eq!((events, &again[2 * event..]), (vec![1, 2], &first[..]), "the number, and the table");
    session.receive(&framed(author, &[0, 0, 0, 0, 0, 0, 0, 2]));
    let told = output(&mut session);
    let told = String::from_utf8_lossy(&told[16 + 2 + 8..]).trim_end_matches('\0').to_owned();
    assert!(told.ends_with(" by somebody-else") && !told.contains("somebody by"), "{told}");
    assert_eq!(session.name(), "somebody-else");
    control.room::<Room>().0.tell(&TestEvent { number: 3 });
    assert_eq!(output(&mut session).len(), event);
}

#[derive(Default)]
struct Folder(RefCell<HashMap<String, Vec<u8>>>);

impl TraceFiles for Folder {
    fn folder(&self) -> PathBuf {
        PathBuf::from("/run/quiver/captures")
    }
    fn create(&self, name: &str, content: Vec<u8>) -> LocalFuture<Result<PathBuf, FileError>> {
        self.0.borrow_mut().insert(name.into(), content);
        Box::pin(ready(Ok(self.folder().join(name))))
    }
    fn read(&self, name: &str) -> LocalFuture<Result<Vec<u8>, FileError>> {
        let missing = || FileError::refused(&self.folder().join(name), io::ErrorKind::NotFound.into());
        Box::pin(ready(self.0.borrow().get(name).cloned().ok_or_else(missing)))
    }
}

#[test]
fn what_clients_ask_can_be_looked_at_and_asked_again() {
    let (control, made) = control();
    trace::save_to(&control, Rc::new(Folder::default()));
    let run = |line: &str| {
        let output = Default::default();
        let running = Box::pin(control.commands().run(&control, line, &output));
        match running.now_or_never().expect("it answers at once") {
            Ok(reply) => reply.text,
            Err(error) => error.what,
        }
    };
    let mut caller = Caller::connect(&control);
    caller.dump(&TestCountDump { count: 1 });
    run("api trace on nitems 2");
    for number in 1..=3 {
        caller.request(&TestAdd { number, colour: TestColour::Red }).map(drop).expect("it is added");
    }
    let shown = |number| {
        let (crc, context) = (TestAdd::definition().crc(), number + 1);
        format!(
            r#"{{"_msgname":"test_add","_crc":"{crc:08x}","client_index":0,"context":{context},"number":{number},"colour":"RED"}}"#
        )
    };
    assert_eq!(run("api trace dump"), [shown(2), shown(3)].join("\n"));
    assert_eq!(run("api trace status"), "on, 2 messages, 30 bytes, wrapped");
    run("api trace free");
    caller.dump(&TestCountDump { count: 1 });
    run("api trace off");
    caller.dump(&TestCountDump { count: 1 });
    assert_eq!(run("api trace save asked"), "API trace saved to /run/quiver/captures/asked");
    made.set(0);
    assert!(run("api trace replay asked").starts_with("1 messages were asked again, 0 are not known"));
    run("api trace on");
    run("api trace tx on");
    caller.request(&TestAdd { number: 4, colour: TestColour::Red }).map(drop).expect("it is added");
    run("api trace off");
    let told: serde_json::Value = serde_json::from_str(&run("api trace tx dump")).expect("one message");
    assert_eq!((&told["_msgname"], &told["retval"]), (&"test_add_reply".into(), &0.into()));
    assert_eq!(run("api trace save-json /tmp/asked.json"), "API trace saved to /run/quiver/captures/asked.json");
    assert!(run("api trace replay-json asked.json").starts_with("1 messages were asked again, 0 are not known"));
    assert!(run("api trace replay-json asked").contains("/run/quiver/captures/asked: "), "that is no JSON");
    assert!(run("api trace save ../asked").contains("is no name of a file"));
    assert!(run("api trace replay nothing").contains("/run/quiver/captures/nothing: "));
}

#[test]
fn traces_have_no_secrets_unless_they_are_asked_for() {
    let (control, _) = control();
    let folder = Rc::new(Folder::default());
    trace::save_to(&control, folder.clone());
    add(&control, "open", (1, 0, 0), |file| file.request(|_, _: TestOpen| Ok(())));
    let run = |line: &str| {
        let output = Default::default();
        let running = Box::pin(control.commands().run(&control, line, &output));
        running.now_or_never().expect("it answers at once").expect("it runs").text
    };
    let mut caller = Caller::connect(&control);
    let mut open = || {
        let command = "create interface memif secret abracadabra id 7".to_owned();
        let request = TestOpen { number: 7, word: "sesame".to_owned().into(), more: 9, command };
        caller.request(&request).map(drop).expect("it is done");
        run("api trace dump")
    };
    run("api trace on");
    let shown: serde_json::Value = serde_json::from_str(&open()).expect("one message");
    assert_eq!((&shown["number"], &shown["word"], &shown["more"]), (&7.into(), &"******".into(), &9.into()));
    assert_eq!(shown["command"], "create interface memif secret *********** id 7");
    run("api trace save asked");
    run("api trace save-json asked.json");
    for (name, content) in folder.0.borrow().iter() {
        let text = String::from_utf8_lossy(content);
        assert!(!text.contains("sesame") && !text.contains("abracadabra"), "{name}");
    }
    run("api trace on secrets");
    let shown = open();
    assert!(shown.contains("sesame") && shown.contains("secret abracadabra id 7"), "{shown}");
}

#[test]
fn others_have_their_turns_while_a_long_trace_is_shown_saved_asked_again_and_forgotten() {
    const MESSAGES: u32 = 10_000;
    /// Messages between two turns of others at most, on a clock that stands still.
    const TURN: u32 = 64;
    let executor = Executor::new(1);
    let (control, _) = hosted(&executor);
    trace::save_to(&control, Rc::new(Folder::default()));
    let turns = Rc::new(Cell::new(0));
    let (counted, other) = (turns.clone(), control.clone());
    control.spawn("others", async move {
        loop {
            other.yield_now().await;
            counted.set(counted.get() + 1);
        }
    });
    // What a command answers, in one text, and how many turns others had meanwhile.
    let run = |line: &str| {
        let before = turns.get();
        let (answer, done) = executor.block_on(control.commands().run_script(&control, line));
        done.expect("nothing is wrong");
        (answer, turns.get() - before)
    };
    run("api trace on");
    let mut caller = Caller::connect(&control);
    for number in 0..MESSAGES {
        caller.request(&TestAdd { number, colour: TestColour::Red }).map(drop).expect("it is added");
    }
    let (shown, amidst) = run("api trace dump");
    let numbers = shown.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    // The first one is of the caller.
    let numbers: Vec<_> = numbers.filter_map(|message| message["number"].as_u64()).collect();
    assert!(numbers.into_iter().eq(0..u64::from(MESSAGES)), "{} bytes", shown.len());
    // The last messages are shown in the turn that ends it.
    assert!(amidst + 1 >= MESSAGES / TURN, "{amidst} turns");
    for (save, replay) in [("save asked", "replay asked"), ("save-json words", "replay-json words")] {
        let amidst = run(&format!("api trace {save}")).1;
        assert!(amidst >= MESSAGES / TURN, "{save}: {amidst} turns");
        // They are read, and then asked.
        let (told, amidst) = run(&format!("api trace {replay}"));
        assert!(told.starts_with(&format!("{MESSAGES} messages were asked again")), "{told}");
        assert!(amidst >= 2 * (MESSAGES / TURN), "{replay}: {amidst} turns");
    }
    // What is forgotten while it is shown is left out.
    let output = Output::default();
    let mut showing = Box::pin(control.commands().run(&control, "api trace dump", &output));
    assert!((&mut showing).now_or_never().is_none());
    let amidst = run("api trace free").1;
    assert!(amidst >= MESSAGES / TURN, "free: {amidst} turns");
    caller.request(&TestAdd { number: MESSAGES, colour: TestColour::Red }).map(drop).expect("it is added");
    let rest = executor.block_on(showing).expect("what is there").text;
    assert!(rest.lines().count() <= TURN as usize && !rest.contains(&format!("\"number\":{MESSAGES},")), "{rest}");
}
