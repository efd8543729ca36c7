//! Fuzz targets of this room: no line and no file makes it panic, errors point inside them, and what it writes or
//! offers it also takes. How to run: fuzz/README.md.

use crate::ports::{self, PortName, Switch, apply_file, control, diff_file, port, switch};
use quiver_control::Control;
use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply};
use quiver_control::protocol;
use quiver_control::transaction::Version;
use quiver_testkit::executor::Executor;
use quiver_testkit::growth::assert_linear;

/// A system with a command for each part of the notation.
fn system() -> (Executor, Control) {
    let (executor, control) = control();
    for name in ["p1", "up", "a b"] {
        control.put(port(name)).unwrap();
    }
    control.put(switch(1, &["p1"])).unwrap();
    control.commands().add_kind(ArgumentKind::of::<PortName>());
    let done = |_: &Control, _: &Matches| -> Result<Reply, CommandError> { Ok(Reply::done()) };
    for grammar in [
        "set interface state <port> (up|down)",
        "set interface mtu <mtu:u16> <port>",
        "show interface [<port>...] [verbose]",
        "show interface addresses",
        "ip route (add|del) <prefix:ip4-prefix> (via <hop:ip4> [<port>] | table <table:u32>)...",
        "create switch <id:u32> {learn <learn:bool> | tag <tag:text> | (a|b [c])... | del}",
        "comment <text>...",
    ] {
        control.commands().add(Command::new(grammar, "Do nothing.", done));
    }
    control.commands().check().unwrap();
    (executor, control)
}

/// Any line is a command or an error.
#[test]
fn command_text() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(line) = std::str::from_utf8(bytes) {
            command(line);
        }
    });
}

/// As `command_text`, but of words that the grammars know, and of pieces of them.
#[test]
fn command_sentences() {
    const WORDS: [&str; 40] = [
        "set",
        "interface",
        "state",
        "p1",
        "up",
        "down",
        "mtu",
        "1500",
        "show",
        "verbose",
        "addresses",
        "ip",
        "route",
        "add",
        "del",
        "10.0.0.0/8",
        "via",
        "10.0.0.1",
        "table",
        "7",
        "create",
        "switch",
        "learn",
        "true",
        "tag",
        "a",
        "b",
        "c",
        "comment",
        "s",
        "sh",
        "int",
        "\"a b\"",
        "\"",
        "?",
        "help",
        "x",
        "-1",
        "é",
        "99999999999",
    ];
    bolero::check!().with_max_len(32).for_each(|bytes: &[u8]| {
        // A space follows each word but the last, of which every second input takes only the beginning.
        let words: Vec<&str> = bytes.iter().map(|byte| WORDS[usize::from(*byte) % WORDS.len()]).collect();
        let mut line = words.join(" ");
        if bytes.last().is_some_and(|byte| byte % 2 == 1) {
            line.pop();
        }
        command(&line);
    });
}

fn command(line: &str) {
    let (executor, control) = system();
    let run = |line: &str| executor.block_on(control.commands().run(&control, line, &Output::default()));
    if let Err(error) = run(line)
        && let Some(place) = error.place
    {
        assert!(line.get(place.clone()).is_some(), "{place:?} is not inside '{line}'");
    }
    let (start, words) = control.commands().complete(&control, line);
    assert!(line.is_char_boundary(start));
    // A question mark asks for help instead, and behind a comment or another line is another command.
    for completion in words.iter().filter(|completion| completion.insert && !line.contains(['?', '#', '\n'])) {
        let completed = format!("{}{} ", &line[..start], completion.word);
        // What was offered is taken: if anything is wrong, it is what is missing behind it.
        // An error that points nowhere is the command's own: the line fitted.
        if let Err(CommandError { place: Some(place), what, .. }) = run(&completed) {
            assert!(place.start >= start + completion.word.len(), "'{completed}': {what}");
        }
    }
}

/// A script's commands stand in it where they say, with blanks for comments, and each is one command when it is read again.
#[test]
fn scripts() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        let mut end = 0;
        for piece in quiver_control::cli::script(text) {
            assert!(piece.start >= end && piece.text.trim() == piece.text, "{piece:?}");
            end = piece.start + piece.text.len();
            let stands = &text.as_bytes()[piece.start..end];
            assert!(
                stands.iter().zip(piece.text.bytes()).all(|(theirs, ours)| *theirs == ours || ours == b' '),
                "{piece:?}"
            );
            assert_eq!(text[..piece.start].matches('\n').count() + 1, piece.line);
            let again: Vec<_> = quiver_control::cli::script(&piece.text).collect();
            assert_eq!(again, [quiver_control::cli::Piece { line: 1, start: 0, text: piece.text.clone() }]);
        }
    });
}

/// Any text is a configuration or errors inside it.
#[test]
fn configuration_text() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            configuration(text);
        }
    });
}

/// As `configuration_text`, but of lines that a configuration may have.
#[test]
fn configuration_sentences() {
    const LINES: [&str; 32] = [
        "ports:",
        "switches:",
        "leases:",
        "- name: p1",
        "- name: p2",
        "  mtu: 9000",
        "  mtu: 10",
        "  mtu: big",
        "  line: b",
        "  line: \"\\u00e9: #\"",
        "- id: 1",
        "- id: 2",
        "  members:",
        "  - port: p1",
        "  - port: p2",
        "    group: 3",
        "  members: [{port: p1, group: 1}, {port: p2}]",
        "  uplink: 1",
        "  uplink: 2",
        "  uplink:",
        "- {pool: 1, address: 10.0.0.1}",
        "- {pool: 1, address: 10.0.0.2}",
        "- pool: -1",
        "  unknown: [1, 2, {a: b}]",
        "- name: '1'",
        "- name: ''",
        "# comment",
        "",
        "---",
        "- *a",
        "- !t x",
        "\t",
    ];
    bolero::check!().with_max_len(24).for_each(|bytes: &[u8]| {
        let lines: Vec<&str> = bytes.iter().map(|byte| LINES[usize::from(*byte) % LINES.len()]).collect();
        configuration(&lines.join("\n"));
    });
}

fn configuration(text: &str) {
    let (executor, control) = control();
    match apply_file(&executor, &control, "file", text) {
        Ok(_) => {
            let saved = control.save();
            assert_eq!(diff_file(&executor, &control, "saved", &saved.text).unwrap().text, "", "{}", saved.text);
            let (executor, other) = ports::control();
            apply_file(&executor, &other, "saved", &saved.text).unwrap();
            assert_eq!(other.save(), saved);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            assert!(control.objects().all::<Switch>().is_empty(), "nothing is left of a refused file");
            // YAML takes a carriage return for a line's end, too.
            let lines = 1 + text.matches(['\n', '\r']).count();
            for error in errors {
                assert!((1..=lines).contains(&error.at.line), "{error}\n{text}");
                assert!(error.at.column >= 1, "{error}");
            }
        }
    }
}

/// Any bytes are a request or an error.
#[test]
fn requests() {
    bolero::check!().for_each(|bytes: &[u8]| {
        if let Ok(request) = protocol::read_request(bytes) {
            let written = serde_json::to_vec(&request).unwrap();
            assert_eq!(protocol::read_request(&written), Ok(request));
        }
    });
}

/// Any text is a version or none, and a version is written as it is read.
#[test]
fn versions() {
    bolero::check!().for_each(|bytes: &[u8]| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        if let Ok((version, configuration)) = Version::read(text) {
            let written = version.head() + configuration;
            let (again, rest) = Version::read(&written).unwrap();
            // Of a time, seconds are kept.
            assert_eq!((again.head() + rest, rest), (written.clone(), configuration), "{text}");
        }
    });
}

// Inputs of a kind that makes careless readers slow.

#[test]
fn long_lines_are_refused_in_time() {
    let (executor, control) = system();
    for word in ["p1 ", "a ", "via 10.0.0.1 ", "\" ", "\"\\", "x", "é"] {
        for start in ["show interface ", "create switch 1 ", "ip route add 1.0.0.0/8 ", "comment ", ""] {
            assert_linear(&format!("{start:?} {word:?}"), 8 * 1024, |length| {
                let line = format!("{start}{}", word.repeat(length / word.len()));
                let _ = executor.block_on(control.commands().run(&control, &line, &Output::default()));
                control.commands().complete(&control, &line);
            });
        }
    }
}

#[test]
fn long_files_are_refused_in_time() {
    let (executor, control) = control();
    for piece in [
        "[",
        "{",
        "- ",
        "a: ",
        "? ",
        "\"",
        "'",
        "#",
        "\n",
        " ",
        "a\n",
        "a: 1\n",
        "- a\n",
        "&a ",
        "|\n ",
        "[a,",
        "{a: ",
        "\\",
        "ports:\n",
        "ports: [",
        "- name: x\n",
        "{}, ",
        "!",
        "%",
        "---\n",
        "\t",
        "é",
        "a: b: ",
    ] {
        for start in ["", "ports: [", "ports:\n", "ports: \""] {
            assert_linear(&format!("{start:?} {piece:?}"), 1 << 17, |length| {
                let text = format!("{start}{}", piece.repeat(length / piece.len()));
                let _ = diff_file(&executor, &control, "long", &text);
            });
        }
    }
}
