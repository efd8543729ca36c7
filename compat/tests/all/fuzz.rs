//! Fuzz targets of this room: fuzz/README.md says how they are run.

use std::rc::Rc;

use quiver_compat::Session;
use quiver_compat::startup::known::SETTINGS;
use quiver_compat::startup::{Machine, Source, Startup, looks_like};
use quiver_compat::terminal::{self, Event};
use quiver_testkit::executor::Executor;

/// Any text is a `startup.conf`, or an error inside it. One that is read says the same when its blanks are others, and as
/// a command line where it has no comments.
#[test]
fn startup_text() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            startup(text);
        }
    });
}

/// As `startup_text`, but of the words that sections know.
#[test]
fn startup_sentences() {
    let forms = SETTINGS.iter().flat_map(|setting| setting.form.split_whitespace().chain([setting.section]));
    let mut words: Vec<&str> = forms.filter(|word| !word.starts_with(['<', '(', '{'])).collect();
    words.extend([
        "{",
        "{",
        "}",
        "}",
        "7",
        "64M",
        "1,2-3",
        "0x6",
        "on",
        "onupdate-interval",
        "/a/b",
        "#",
        "\n",
        "\\",
        "é",
    ]);
    bolero::check!().with_max_len(64).for_each(|bytes: &[u8]| {
        let sentence: Vec<&str> = bytes.iter().map(|byte| words[usize::from(*byte) * words.len() / 256]).collect();
        startup(&sentence.join(" "));
        startup(&format!("{} }}", sentence.join(" ")));
    });
}

fn startup(text: &str) {
    let read = |text: &str| {
        let mut startup = Startup::default();
        startup.read(Source::File("startup.conf"), text).map(|()| startup)
    };
    let _ = looks_like(text);
    let machine = Machine { cores: 2, runtime_folder: "/run/vpp".into() };
    let found = read(text);
    if let Err(error) = &found {
        assert!(error.to_string().starts_with("line "), "{error}");
    }
    let Ok(found) = found else { return };
    let options = found.options(&machine);
    // Reading a text twice gives the same options.
    let mut twice = found.clone();
    twice.read(Source::File("startup.conf"), text).expect("it was read before");
    assert_eq!(twice.options(&machine), options, "{text}");
    if !text.contains(['#', '\\']) {
        let spaced =
            read(&text.replace('{', " {\n").replace('}', "\t} ")).expect("blanks around braces change nothing");
        assert_eq!(spaced.options(&machine), options, "{text}");
        let mut line = Startup::default();
        line.read(Source::CommandLine, text).expect("it has no comments");
        assert_eq!(line.options(&machine), options, "{text}");
    }
}

/// All that a session says to bytes that come in pieces of this length, and whether it has ended.
fn answers(bytes: &[u8], piece: usize) -> (Vec<u8>, bool) {
    let control = Executor::new(0).control();
    quiver_compat::add(&control, "test", (0, 0, 0), |_| ());
    let (mut session, mut output) = (Session::new(control), vec![]);
    for piece in bytes.chunks(piece) {
        session.receive(piece);
        loop {
            let more = session.work();
            output.extend(session.output());
            let length = session.output().len();
            session.sent(length);
            if !more && length == 0 {
                break;
            }
        }
        if session.end().is_some() {
            return (output, true);
        }
    }
    (output, false)
}

/// Whatever comes, in whatever pieces, is answered alike.
#[test]
fn stream() {
    // Else hardly any input would get past the handshake.
    let hello = [&[0; 8][..], &70u32.to_be_bytes(), &[0; 4], &15u16.to_be_bytes(), &[0; 68]].concat();
    bolero::check!().for_each(|bytes: &[u8]| {
        let bytes = match bytes.split_first() {
            Some((first, rest)) if first & 1 == 0 => [&hello[..], rest].concat(),
            _ => bytes.to_vec(),
        };
        assert_eq!(answers(&bytes, bytes.len().max(1)), answers(&bytes, 7));
    });
}

/// Whatever a client of the command line sends, in pieces of any size, its session goes on: each command is done before the
/// next one, lines are told their end by a NUL, once or more often, and what waits is bounded.
#[test]
fn terminal_bytes() {
    bolero::check!().with_max_len(512).for_each(|bytes: &[u8]| {
        let Some((choice, bytes)) = bytes.split_first() else { return };
        let settings = terminal::Settings {
            prompt: "vpp# ".to_owned(),
            banner: "hello".to_owned(),
            has_pager: choice & 1 == 0,
            line_mode: choice & 2 != 0,
            pager_lines: 50,
            history: 3,
        };
        let mut session = terminal::Session::new(Rc::new(settings));
        session.take_output();
        if choice & 4 != 0 {
            session.receive(b"\xff\xfa\x18\0xterm\xff\xf0\xff\xfa\x1f\0\x08\0\x05\xff\xf0");
        }
        let is_line_mode = choice & 2 != 0;
        let (mut commands, mut nuls) = (0, 0);
        for (turn, part) in bytes.chunks(1 + usize::from(choice >> 3)).enumerate() {
            session.receive(part);
            while let Some(event) = session.event() {
                match event {
                    Event::Run(line) => {
                        assert!(!line.trim().is_empty() && !line.starts_with([' ', '\n']));
                        commands += 1;
                        if session.event() != Some(Event::Interrupt) {
                            session.print(&"é answer\n".repeat(turn % 60));
                        }
                        session.done();
                    }
                    Event::Interrupt => panic!("nothing runs"),
                    Event::Complete(line) => {
                        let begun = line.rfind(' ').map_or(0, |blank| blank + 1);
                        session.complete(begun, &[(format!("{}x", &line[begun..]), true), ("<y>".to_owned(), false)]);
                    }
                    Event::Quit => return,
                }
            }
            let output = session.take_output();
            nuls += output.iter().filter(|byte| **byte == 0).count();
            if session.patience().is_some() && turn % 3 == 0 {
                session.silence();
            }
        }
        let all = if is_line_mode && session.patience().is_none() { commands.min(1)..=commands } else { 0..=commands };
        assert!(all.contains(&nuls), "{nuls} NULs for {commands} commands");
    });
}
