//! Lines against grammars: abbreviations, options, errors, completion, help.

use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use crate::ports::{self, PortName, port};
use quiver_control::cli::{ArgumentKind, Command, CommandError, Matches, Output, Reply, Scripts, exec_from};
use quiver_control::files::{FileError, Reach};
use quiver_control::transaction::Author;
use quiver_control::{Control, LocalFuture};
use quiver_testkit::executor::Executor;

/// A control side with commands that say what they were given.
fn system() -> (Executor, Control) {
    let (executor, control) = ports::control();
    control.commands().add_kind(ArgumentKind::of::<PortName>());
    let tell = |grammar: &'static str, arguments: &'static [&'static str]| {
        Command::new(grammar, "Tell.", move |_, matches: &Matches| {
            let told = arguments.iter().map(|name| Ok(format!("{name}={:?}", matches.all::<String>(name)?)));
            let told = told.collect::<Result<Vec<_>, CommandError>>()?;
            Ok(Reply::text(told.join(" ")))
        })
    };
    for command in [
        tell("set interface state <port> (up|down)", &["port"]).argument("port", "the port to set"),
        tell("set interface mtu <mtu:u16> <port>", &["mtu", "port"]),
        tell("show interface [<port>...]", &["port"]),
        tell("show interface addresses", &[]),
        tell("show ip fib [table <table:u32>] [<prefix:ip4-prefix>]", &["table", "prefix"]),
        tell("create switch <id:u32> {learn <learn:bool> | tag <tag:text> | del}", &["id", "learn", "tag"]),
        tell("[please] reset", &[]),
        tell("clear switches", &[]),
        tell("clear switch tag <id:u32>", &["id"]),
        tell("clear stock", &[]),
    ] {
        control.commands().add(command);
    }
    control.commands().check().unwrap();
    control.put(port("p1")).unwrap();
    control.put(port("addr")).unwrap();
    (executor, control)
}

fn run(line: &str) -> Result<String, CommandError> {
    let (executor, control) = system();
    executor.block_on(control.commands().run(&control, line, &Output::default())).map(|reply| reply.text)
}

/// Error text, the word that it points at, and the expected words.
fn error(line: &str) -> (String, String, Vec<String>) {
    let error = run(line).unwrap_err();
    let place = error.place.unwrap();
    (error.what, line[place].to_owned(), error.expected)
}

#[test]
fn words_are_abbreviated_as_long_as_they_are_unique() {
    for (line, told) in [
        ("set interface state p1 up", r#"port=["p1"]"#),
        ("se int st p1 u", r#"port=["p1"]"#),
        ("sh int", "port=[]"),
        ("show interface p1 addr", r#"port=["p1", "addr"]"#),
        // The name of what exists comes before an abbreviation, the full word before both.
        ("show interface addr", r#"port=["addr"]"#),
        ("show interface addre", ""),
        ("sh ip f 10.0.0.0/8", r#"table=[] prefix=["10.0.0.0/8"]"#),
        ("sh ip f t 7 10.0.0.0/8", r#"table=["7"] prefix=["10.0.0.0/8"]"#),
        // Of two words, one ends a command.
        ("cl sw", ""),
        ("cl switch t 1", r#"id=["1"]"#),
        ("", ""),
    ] {
        assert_eq!(run(line).as_deref(), Ok(told), "{line}");
    }
}

#[test]
fn options_stand_in_any_order_each_once() {
    assert_eq!(run("create switch 1").unwrap(), "id=[\"1\"] learn=[] tag=[]");
    assert_eq!(run("cr sw 1 tag \"a b\" learn 0").unwrap(), r#"id=["1"] learn=["0"] tag=["a b"]"#);
    assert_eq!(run("cr sw 1 d l on").unwrap(), r#"id=["1"] learn=["on"] tag=[]"#);
    let (what, word, _) = error("create switch 1 learn 0 learn 1");
    assert_eq!((what.as_str(), word.as_str()), ("'learn' cannot stand here", "learn"));
}

#[test]
fn errors_point_at_the_word_and_say_what_is_expected() {
    let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(error("s interface"), ("'s' is ambiguous: set, show".into(), "s".into(), words(&["set", "show"])));
    assert_eq!(
        error("clear s"),
        ("'s' is ambiguous: stock, switch, switches".into(), "s".into(), words(&["stock", "switch", "switches"]))
    );
    assert_eq!(
        error("show intefrace p1"),
        (
            "'intefrace' cannot stand here; did you mean 'interface'?".into(),
            "intefrace".into(),
            words(&[
                "commands",
                "configuration",
                "differences",
                "history",
                "interface",
                "ip",
                "macro",
                "object",
                "schema",
                "transaction"
            ])
        )
    );
    assert_eq!(
        error("set interface state p9 up"),
        ("there is no port 'p9'; did you mean 'p1'?".into(), "p9".into(), words(&["<port> (the name of one port)"]))
    );
    assert_eq!(
        error("set interface state p1"),
        ("the command is not complete".into(), String::new(), words(&["down", "up"]))
    );
    assert_eq!(
        error("rest"),
        (
            "'rest' cannot stand here; did you mean 'reset'?".into(),
            "rest".into(),
            words(&[
                "apply", "clear", "comment", "confirm", "create", "define", "echo", "exec", "please", "reset",
                "rollback", "set", "show", "undefine", "wait"
            ])
        )
    );
    assert_eq!(
        error("reset now"),
        ("'now' is not expected: the command is complete before it".into(), "now".into(), words(&[]))
    );
    let (what, word, _) = error("set interface mtu 70000 p1");
    assert_eq!((what.as_str(), word.as_str()), ("'70000' does not fit: expected a number from 0 to 65535", "70000"));
    let (what, word, _) = error("show ip fib 10.0.0.0/33");
    assert_eq!(word, "10.0.0.0/33");
    assert!(what.contains("write a number from 0 to 32"), "{what}");
    let (what, word, _) = error("create switch 1 tag \"open");
    assert_eq!((what.as_str(), word.as_str()), ("this quote is never closed", "\"open"));
}

#[test]
fn completion_knows_words_and_what_exists() {
    let (_, control) = system();
    let complete = |line: &str| {
        let (start, words) = control.commands().complete(&control, line);
        (start, words.into_iter().map(|completion| completion.word).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(complete("s"), (0, "set show".into()));
    assert_eq!(
        complete("show "),
        (5, "commands configuration differences history interface ip macro object schema transaction".into())
    );
    assert_eq!(complete("sh inter"), (3, "interface".into()));
    assert_eq!(complete("set int st "), (11, "addr p1".into()));
    assert_eq!(complete("set int st p"), (11, "p1".into()));
    assert_eq!(complete("set int st p1 "), (14, "down up".into()));
    assert_eq!(complete("create switch "), (14, "<id>".into()));
    assert_eq!(complete("create switch 1 learn 0 "), (24, "del tag".into()));
    assert_eq!(complete("create switch 1 learn "), (22, "true false".into()));
    assert_eq!(complete("bogus "), (6, String::new()));
}

#[test]
fn help_comes_from_the_same_grammar() {
    assert_eq!(run("set interface ?").unwrap(), "Word   Meaning\nmtu    Tell.\nstate  Tell.");
    assert_eq!(
        run("set interface state ?").unwrap(),
        "Word    Meaning\n<port>  the port to set (the name of one port)"
    );
    // Of few commands `help` says what they do, and what can follow.
    assert_eq!(
        run("help set interface mtu").unwrap(),
        format!("set interface mtu <mtu:u16> <port>\n  Tell.\n\n{}", run("set interface mtu ?").unwrap())
    );
    let help = run("help sh int").unwrap();
    assert!(help.starts_with("show interface") && help.ends_with(&run("sh int ?").unwrap()), "{help}");
    // A word that is only begun is explained as by `?`.
    assert_eq!(run("help s").unwrap(), run("s?").unwrap());
    let all = run("?").unwrap();
    assert!(all.contains("\nset       2 commands\n") && all.contains("\nreset     Tell.\n"), "{all}");
    assert!(run("show interface ?").unwrap().contains("<enter>"));
}

#[test]
fn parts_come_one_by_one_and_wait_for_a_slow_reader() {
    let (executor, control) = system();
    control.commands().add(Command::waiting(
        "count <to:u32>",
        "Count.",
        async |control: Control, matches: Matches, output: Output| {
            for number in 0..matches.get::<u32>("to")? {
                control.sleep(Duration::from_millis(1)).await;
                output.send(Reply::text(number.to_string())).await;
            }
            Ok(Reply::text("end"))
        },
    ));
    let output = Output::default();
    let (reader, slow) = (output.clone(), control.clone());
    let task = control.spawn("reader", async move {
        let mut next = 0;
        while let Some(part) = reader.next().await {
            assert_eq!(part.text, next.to_string());
            next += 1;
            slow.sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(next, 100);
    });
    let reply = executor.block_on(control.commands().run(&control, "count 100", &output)).unwrap();
    assert_eq!(reply.text, "end");
    executor.run_for(Duration::from_secs(1));
    assert!(task.has_ended());
}

#[test]
fn a_text_may_have_several_commands_and_the_first_that_fails_ends_it() {
    let (executor, control) = system();
    let said = |text: &str| executor.block_on(control.commands().run_script(&control, text));
    let (answers, end) = said("echo a # one\n\nsh int p1\necho { b\n c }\n");
    assert_eq!((answers.as_str(), end), ("a\nport=[\"p1\"]\n{ b c }\n", Ok(())));
    let text = "echo é\n  set interface state p9 up\necho b";
    let (answers, end) = said(text);
    let error = end.unwrap_err();
    assert_eq!(answers, format!("é\n{error}\n"));
    assert_eq!(&text[error.place.unwrap()], "p9");
}

/// A file that runs others, and itself.
struct Files;

impl Scripts for Files {
    fn read(&self, _: Reach, path: &Path) -> LocalFuture<Result<String, FileError>> {
        let text = match path.to_str() {
            Some("a") => Ok("echo begin # a\nexec b\ncomment { all\n of it }\necho end".to_owned()),
            Some("b") => Ok("wait 0.5\nset interface state p1 up\n".to_owned()),
            Some("bad") => Ok("echo begin\n\nfrobnicate\necho end".to_owned()),
            Some("macros") => Ok("define port p1\ndefine line set interface\n$(line) state $(port) up".to_owned()),
            Some("itself") => Ok("exec itself".to_owned()),
            Some("slow") => return Box::pin(std::future::pending()),
            _ => Err(FileError::refused(path, io::ErrorKind::NotFound.into())),
        };
        Box::pin(std::future::ready(text))
    }
}

#[test]
fn files_of_commands_are_run_and_their_errors_name_file_and_line() {
    let (executor, control) = system();
    let said = |text: &str| executor.block_on(control.commands().run_script(&control, text));
    assert!(said("exec a").1.unwrap_err().what.contains("reads no files"));
    exec_from(&control, Rc::new(Files));
    let begin = control.now();
    assert_eq!(said("exec a\necho c"), ("begin\nport=[\"p1\"]\nend\nc\n".to_owned(), Ok(())));
    assert_eq!(control.now().since(begin), Duration::from_millis(500));
    let (answers, end) = said("exec bad");
    let what = end.unwrap_err().what;
    assert!(what.starts_with("bad:3: `frobnicate`: 'frobnicate' cannot stand here"), "{what}");
    assert_eq!(answers, format!("begin\n{what}\n"));
    assert!(said("exec none").1.unwrap_err().what.starts_with("none: "));
    let begin = control.now();
    assert!(said("exec slow").1.unwrap_err().what.starts_with("slow takes too long to be read"));
    assert_eq!(control.now().since(begin), Duration::from_secs(10), "nobody waits for ever");
    assert!(said("exec itself").1.unwrap_err().what.contains("does it run itself?"));
    assert!(said("wait 1e9").1.unwrap_err().what.contains("expected seconds"));
}

#[test]
fn macros_stand_for_text_and_an_error_shows_the_line_as_it_became() {
    let (executor, control) = system();
    let said = |control: &Control, text: &str| executor.block_on(control.commands().run_script(control, text));
    exec_from(&control, Rc::new(Files));
    assert_eq!(said(&control, "exec macros"), ("port=[\"p1\"]\n".to_owned(), Ok(())));
    let other = control.by(Author::new("somebody else"));
    let what = said(&other, "echo $(port)").1.unwrap_err().what;
    assert!(what.starts_with("macro port is not defined"), "{what}");
    let line = "echo before\n$(line) mtu much $(port)";
    let error = said(&control, line).1.unwrap_err();
    let (what, place) = (error.what, error.place.unwrap());
    assert!(what.ends_with("; with its macros the line is `set interface mtu much p1`"), "{what}");
    assert_eq!(&line[place], "$(line) mtu much $(port)");
    assert_eq!(
        said(&control, "define both \\$(line) $(port)\nshow macro noevaluate").0,
        "\
        both                $(line) p1\nline                set interface\nport                p1\n"
    );
    assert!(said(&control, "show macro").0.starts_with("both                set interface p1\n"));
    assert_eq!(said(&control, "undefine both\nundefine line\nshow macro").0, "port                p1\n");
    assert!(said(&control, "undefine line").1.unwrap_err().what.contains("macro line is not defined"));
    assert!(said(&control, "define a-b 1").1.unwrap_err().what.contains("letters, digits and `_` only"));
}

#[test]
fn of_a_missing_feature_it_is_said_that_it_is_missing() {
    let (executor, control) = system();
    for (words, feature) in
        [("nat44", "NAT44"), ("show interface span", "SPAN"), ("show ip", "IP"), ("show", "anything")]
    {
        control.commands().add_missing(words, format!("no {feature}"));
    }
    let error = |line: &str| {
        let output = Output::default();
        let error = executor.block_on(control.commands().run(&control, line, &output)).unwrap_err();
        (error.what, line[error.place.unwrap()].to_owned(), error.expected)
    };
    assert_eq!(error("nat44 add pool"), ("no NAT44".to_owned(), "nat44".to_owned(), vec![]));
    assert_eq!(error("sh int span"), ("no SPAN".to_owned(), "sh int span".to_owned(), vec![]));
    // Where something else is wrong, that is said.
    assert!(error("nat4 add").0.contains("cannot stand here"));
    assert!(error("show interface p1 span").0.contains("span"));
    assert!(error("show ip fib table x").0.contains("'x'"));
    assert!(error("show ip").0.contains("not complete"));
    assert!(error("show nothing").0.contains("'nothing' cannot stand here"));
}

#[test]
fn groups_tell_repeated_parts_apart() {
    let (executor, control) = system();
    let route = |_: &Control, matches: &Matches| {
        let paths = matches.groups("via").into_iter().map(|path| {
            let hop: String = path.get("next-hop")?;
            Ok(format!("{hop} {:?}", path.find::<u8>("weight")?))
        });
        Ok(Reply::text(paths.collect::<Result<Vec<_>, CommandError>>()?.join(", ")))
    };
    control.commands().add(Command::new(
        "route (via <next-hop:ip4> [weight <weight:u8>])... [<port>]",
        "Route.",
        route,
    ));
    let line = "route via 10.0.0.1 weight 2 via 10.0.0.2 p1";
    let reply = executor.block_on(control.commands().run(&control, line, &Output::default())).unwrap();
    assert_eq!(reply.text, "10.0.0.1 Some(2), 10.0.0.2 None");
}

#[test]
#[should_panic(expected = "the grammar of the command 'a (b': ')' is missing")]
fn a_malformed_grammar_is_told_at_start() {
    system().1.commands().add(Command::new("a (b", "", |_, _| Ok(Reply::done())));
}

#[test]
fn an_unknown_type_is_told_at_start() {
    let (_, control) = system();
    control.commands().add(Command::new("a <b:none>", "", |_, _| Ok(Reply::done())));
    assert_eq!(
        control.commands().check().unwrap_err(),
        "the command 'a <b:none>' has an argument of the unknown type 'none'"
    );
}
