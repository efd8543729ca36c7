//! Sessions with clients of both kinds.

use super::*;

const IAC: u8 = 255;

fn settings() -> Settings {
    Settings {
        prompt: "vpp# ".to_owned(),
        banner: "hello".to_owned(),
        has_pager: true,
        line_mode: false,
        pager_lines: 1000,
        history: 50,
    }
}

/// Telnet subnegotiation by which a client sends its terminal type.
fn terminal_type(name: &str) -> Vec<u8> {
    [&[IAC, 250, 24, 0][..], name.as_bytes(), &[IAC, 240]].concat()
}

/// A session that knows its client, and has greeted it.
fn session(terminal: &str) -> Session {
    let mut session = Session::new(Rc::new(settings()));
    assert_eq!(session.take_output(), telnet::GREETING);
    session.receive(&terminal_type(terminal));
    session.receive(&[IAC, 250, 31, 0, 40, 0, 4, IAC, 240]);
    session
}

fn said(session: &mut Session) -> String {
    String::from_utf8(session.take_output()).expect("text")
}

fn run(line: &str) -> Option<Event> {
    Some(Event::Run(line.to_owned()))
}

#[test]
fn vppctl_has_its_answers_and_nothing_else() {
    let mut session = session("vppctl");
    assert_eq!(said(&mut session), "");
    // As `vppctl show version` sends it.
    session.receive(b"show version \n\0");
    assert_eq!(session.event(), run("show version"));
    session.receive(b"show int\nquit\n");
    assert_eq!(session.event(), None, "one after the other");
    session.print("Quiver\n0.1");
    session.done();
    assert_eq!(session.event(), run("show int"));
    assert_eq!(said(&mut session), "Quiver\r\n0.1\r\n", "there is more to come");
    session.done();
    assert_eq!(session.event(), Some(Event::Quit));
    let mut session = self::session("vppctl");
    session.receive(b"set x\n");
    assert_eq!(session.event(), run("set x"));
    session.done();
    assert_eq!((session.event(), said(&mut session).as_str()), (None, "\0"), "for an empty answer, too");
    assert_eq!((session.event(), said(&mut session).as_str()), (None, ""), "once");
}

#[test]
fn a_line_goes_on_within_braces_and_ends_when_nothing_more_comes() {
    let mut session = session("vppctl");
    session.receive(b"new {\n\tname x\n}\n # a comment {\nshow");
    assert_eq!(session.event(), run("new {\n name x\n}"));
    session.done();
    assert_eq!(session.event(), run("# a comment {"));
    session.done();
    assert_eq!((session.event(), session.patience()), (None, Some(LINE_ENDS)));
    session.silence();
    assert_eq!(session.event(), run("show"));
    session.done();
    assert_eq!((session.event(), session.patience()), (None, None));
}

#[test]
fn a_terminal_has_prompt_echo_history_and_quits() {
    let mut session = session("XTERM");
    assert_eq!(said(&mut session), "\rhello\r\nvpp# ");
    session.receive(b"sho\x7fow x\r");
    assert_eq!(session.event(), run("show x"));
    assert_eq!(said(&mut session), "sho\u{8} \u{8}ow x\r\n");
    session.print("one\ntwo\n");
    session.done();
    assert_eq!(said(&mut session), "one\r\ntwo\r\nvpp# ");
    session.receive(b"\x1b[A\r");
    assert_eq!(session.event(), run("show x"));
    session.receive(b"\x03");
    assert_eq!(session.event(), Some(Event::Interrupt));
    session.done();
    said(&mut session);
    session.receive(b"new {\r}\rq\r");
    assert_eq!(session.event(), run("new {\n}"));
    assert_eq!(said(&mut session), "new {\r\n> }\r\n");
    session.done();
    assert_eq!(session.event(), Some(Event::Quit));
}

#[test]
fn a_long_answer_is_read_page_by_page_or_left() {
    let mut session = session("xterm");
    session.receive(b"a\r");
    session.event();
    said(&mut session);
    session.print("1\n2\n3\n4\n");
    assert_eq!(said(&mut session), "1\r\n2\r\n3\r\n\u{1b}[1m-- more -- (1-3/4)\u{1b}[0m");
    session.done();
    assert_eq!(said(&mut session), "", "the reader has not read it all");
    session.receive(b" ");
    assert_eq!(session.event(), None);
    assert!(said(&mut session).ends_with("\r4\r\nvpp# "));
    session.receive(b"b\r");
    session.event();
    session.print("1\n2\n3\n4\n5\n6\n7\n8\n");
    session.receive(b"q");
    assert_eq!(session.event(), Some(Event::Interrupt), "whoever leaves while it runs needs no more");
    session.done();
    assert!(said(&mut session).ends_with("\rvpp# "));
    session.receive(b"set terminal pager off\rc\r");
    assert_eq!(session.event(), run("c"));
    said(&mut session);
    session.print("1\n2\n3\n4\n");
    session.done();
    assert_eq!(said(&mut session), "1\r\n2\r\n3\r\n4\r\nvpp# ");
}

#[test]
fn words_are_completed_or_listed() {
    let mut session = session("dumb");
    said(&mut session);
    session.receive(b"show in\t");
    assert_eq!(session.event(), Some(Event::Complete("show in".into())));
    session.complete(5, &[("interface".into(), true), ("interrupt".into(), true)]);
    assert_eq!(said(&mut session), "show inter");
    session.receive(b"\t");
    session.event();
    session.complete(5, &[("interface".into(), true), ("interrupt".into(), true)]);
    assert_eq!(said(&mut session), "\r\ninterface  interrupt\r\nvpp# show inter");
    session.receive(b"f\t");
    session.event();
    session.complete(5, &[("interface".into(), true)]);
    assert_eq!(said(&mut session), "face ");
    session.receive(b"\t\r");
    session.event();
    session.complete(15, &[("<name>".into(), false)]);
    assert!(said(&mut session).ends_with("<name>\r\nvpp# show interface "));
    assert_eq!(session.event(), run("show interface"));
}

#[test]
fn whoever_says_nothing_is_a_terminal_in_the_end_and_lines_may_be_for_all() {
    let mut unknown = Session::new(Rc::new(settings()));
    unknown.receive(b"show\n");
    assert_eq!((unknown.event(), unknown.patience()), (None, Some(NEGOTIATION)));
    unknown.silence();
    assert_eq!(unknown.event(), run("show"));
    let mut lines = Session::new(Rc::new(Settings { line_mode: true, ..settings() }));
    lines.receive(b"show\n");
    assert_eq!(lines.event(), run("show"));
    lines.done();
    assert_eq!((lines.event(), lines.take_output()), (None, vec![0]));
}
