//! Plugins that fail, each in its own way: the daemon says so in a sentence, and goes on.

use crate::built;

use crate::router::{self, FORWARDED, forward, said};
use std::path::Path;

/// State of a node in `show plugins`.
fn state(daemon: &mut quiver_testkit::daemon::Daemon, node: &str) -> String {
    let rows = daemon.run("show plugins").unwrap().json;
    let row = rows.as_array().unwrap().iter().find(|row| row["node"] == node).expect("the node").clone();
    row["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_panic_in_a_feature_disables_it_and_the_arc_closes_over_it() {
    let mut daemon = router::with(&built::trial());
    daemon.configure("trial enable ip4-unicast trial-feature a");
    assert_eq!(forward(&mut daemon, &["ttl 9", "ttl 9"]).len(), 2);
    assert!(said(&mut daemon, "show plugins counters").contains("trial   seen"));
    // The whole vector is lost, by name; what comes behind it is forwarded.
    assert_eq!(forward(&mut daemon, &["ttl 9", "ttl 66", "ttl 9"]), [""; 0]);
    assert_eq!(daemon.drops()[&("trial-feature", "plugin-failed")], 3);
    assert_eq!(state(&mut daemon, "trial-feature"), "disabled: it panicked: packet 1 has a TTL of 66");
    let called = |daemon: &quiver_testkit::daemon::Daemon| daemon.counts()[&("trial-feature", "next-feature")];
    let before = called(&daemon);
    assert_eq!(forward(&mut daemon, &["ttl 9", "ttl 67"]).len(), 2);
    assert_eq!(called(&daemon), before, "the path is closed: packets do not even come by");
    let features = said(&mut daemon, "show features");
    assert!(features.lines().any(|line| line.trim_end().ends_with("ip4-unicast       trial-feature")), "{features}");
    // Nothing opens it again.
    daemon.configure("trial enable ip4-unicast trial-feature b\n trial enable ip4-unicast trial-feature a");
    assert_eq!(forward(&mut daemon, &["ttl 66"]).len(), 1);
    daemon.finish().unwrap();
}

#[test]
fn until_control_has_closed_the_path_packets_pass_by() {
    let mut daemon = router::with(&built::trial());
    daemon.configure("trial enable ip4-unicast trial-feature a");
    daemon.send("a", &router::packet("ttl 66")).unwrap();
    // Turns of the workers only: control has not heard of the failure.
    for _ in 0..4 {
        daemon.workers().iter_mut().for_each(|worker| {
            worker.turn(0);
        });
    }
    daemon.send("a", &router::packet("ttl 9")).unwrap();
    daemon.send("a", &router::packet("ttl 66")).unwrap();
    for _ in 0..4 {
        daemon.workers().iter_mut().for_each(|worker| {
            worker.turn(0);
        });
    }
    assert_eq!(daemon.drops()[&("trial-feature", "plugin-failed")], 1);
    assert_eq!(forward(&mut daemon, &[]).len(), 2);
    daemon.finish().unwrap();
}

#[test]
fn a_node_that_takes_an_arc_it_does_not_have_is_disabled() {
    let mut daemon = router::with(&built::trial());
    daemon.configure("trial enable ip4-unicast trial-feature a");
    assert_eq!(forward(&mut daemon, &["ttl 67"]), [""; 0]);
    assert_eq!(state(&mut daemon, "trial-feature"), "disabled: it sent a packet by an arc that it does not have");
    assert_eq!(forward(&mut daemon, &["ttl 67"]).len(), 1);
    daemon.finish().unwrap();
}

#[test]
fn a_node_stands_for_another_reads_what_is_published_and_sends_copies() {
    let mut daemon = router::with(&built::trial());
    assert_eq!(forward(&mut daemon, &["ttl 9"]), [FORWARDED], "it stands aside until it is told");
    daemon.configure("trial stand-in on");
    assert_eq!(forward(&mut daemon, &["ttl 9"]), [FORWARDED]);
    assert_eq!(daemon.counts()[&("trial-standing", "copied")], 2, "a copy, and a packet of its own making");
    daemon.configure("trial publish 500");
    assert_eq!(forward(&mut daemon, &["ttl 9"]), [""; 0]);
    assert_eq!(daemon.drops()[&("trial-standing", "few")], 1);
    daemon.configure("trial publish 20");
    // Jumbo packets are chains of buffers.
    let jumbo = "eth 02:00:00:00:00:02 > 02:00:00:00:00:0a / ip4 10.0.0.2 > 10.0.1.2 ttl 9 / udp 1 > 2 / payload 8000";
    let jumbo: quiver_testkit::packet::Packet = jumbo.parse().unwrap();
    daemon.send("a", &jumbo.to_bytes()).unwrap();
    assert_eq!(forward(&mut daemon, &["ttl 9"]).len(), 2);
    // Pings of ours go by the stand-in, too: it stands for the node wherever packets come from.
    let before = daemon.counts()[&("trial-standing", "ip4-lookup")];
    // Nobody answers it.
    let _ = daemon.run("ping 10.0.1.2 repeat 1");
    daemon.sent();
    assert!(daemon.counts()[&("trial-standing", "ip4-lookup")] > before);
    assert_eq!(forward(&mut daemon, &["ttl 66"]), [""; 0]);
    assert!(state(&mut daemon, "trial-standing").starts_with("disabled: it panicked"));
    assert_eq!(forward(&mut daemon, &["ttl 66", "ttl 9"]).len(), 2, "what it stood for has its place again");
    assert_eq!(said(&mut daemon, "trial stand-in on"), "refused: the node stands for none, or has failed");
    daemon.finish().unwrap();
}

#[test]
fn what_one_node_keeps_with_a_packet_another_one_finds() {
    let mut daemon = router::with(&built::trial());
    assert!(said(&mut daemon, "show metadata").contains("trial-length"));
    daemon.configure("trial stand-in on");
    assert_eq!(forward(&mut daemon, &["ttl 9"]).len(), 1, "nothing is kept yet");
    daemon.configure("trial enable ip4-unicast trial-feature a");
    assert_eq!(forward(&mut daemon, &["ttl 9", "ttl 10"]).len(), 2);
    let counters = said(&mut daemon, "show plugins counters");
    let kept = counters.lines().find(|line| line.contains(" kept ")).unwrap_or_else(|| panic!("{counters}"));
    assert!(kept.split_whitespace().any(|word| word == "2"), "{counters}");
    daemon.finish().unwrap();
}

#[test]
fn arcs_are_rewired_onto_arcs_of_the_plugin_and_back() {
    let mut daemon = router::with(&built::trial());
    let graph = said(&mut daemon, "show graph ip4-input");
    let arc = graph.lines().find(|line| line.contains("arc ip4-unicast")).expect("the arc onto ip4-unicast");
    let arc = arc.split_whitespace().nth(1).unwrap().to_owned();
    daemon.configure(&format!("trial rewire ip4-input {arc} trial-aside"));
    daemon.configure("trial enable trial-arc trial-on-arc a");
    assert_eq!(forward(&mut daemon, &["ttl 9"]), [FORWARDED]);
    let counts = daemon.counts();
    assert_eq!((counts[&("trial-aside", "trial-arc")], counts[&("trial-on-arc", "next-feature")]), (1, 1));
    // It fails: the arc leads where it was declared to.
    assert_eq!(forward(&mut daemon, &["ttl 66"]), [""; 0]);
    assert_eq!(forward(&mut daemon, &["ttl 66", "ttl 9"]).len(), 2);
    assert_eq!(daemon.counts()[&("trial-aside", "trial-arc")], 1);
    daemon.configure(&format!("trial rewire ip4-input {arc}"));
    assert_eq!(forward(&mut daemon, &["ttl 9"]).len(), 1);
    assert!(
        said(&mut daemon, &format!("trial rewire ip4-input {arc} ghost")).starts_with("refused: 'ip4-input' has no")
    );
    daemon.finish().unwrap();
}

#[test]
fn panics_in_commands_objects_and_descriptions_are_answers() {
    let mut daemon = router::with(&built::trial());
    assert_eq!(said(&mut daemon, "trial panic"), "refused: the plugin panicked: a command that fails");
    let put = |daemon: &quiver_testkit::daemon::Daemon, name: &str, tags: &[&str]| {
        let values = [("name".to_owned(), name.into()), ("tags".to_owned(), tags.into())];
        daemon.control().put_values("trials", values.into_iter().collect()).map_err(|error| error.to_string())
    };
    assert_eq!(put(&daemon, "panic", &["x"]).unwrap_err(), "trials panic: the plugin panicked: an object that fails");
    assert_eq!(put(&daemon, "one", &[]).unwrap_err(), "trials one: tags: it has no words; add one");
    put(&daemon, "one", &["a", "b"]).unwrap();
    daemon.configure("trial enable ip4-unicast trial-feature a\n trace add pg-input 1");
    assert_eq!(forward(&mut daemon, &["ttl 9"]).len(), 1);
    assert!(said(&mut daemon, "show trace").contains("its description panicked: a description that fails"));
    daemon.finish().unwrap();
}

#[test]
fn what_cannot_be_loaded_is_a_sentence_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut daemon = router::without(1);
    let commands = daemon.run("show commands").unwrap().text;
    let nodes = said(&mut daemon, "show graph");
    let mut refused = |library: &Path| {
        let line = format!("load plugin {}", library.display());
        let error = daemon.run(&line).expect_err("it is bad").to_string();
        assert_eq!(forward(&mut daemon, &["ttl 9"]), [FORWARDED], "{error}");
        assert_eq!(daemon.run("show commands").unwrap().text, commands, "{error}");
        // But for the counts of the packets just sent.
        assert_eq!(said(&mut daemon, "show graph").lines().count(), nodes.lines().count(), "{error}");
        assert!(daemon.control().objects().names_in("plugins").is_empty(), "{error}");
        let (_, error) = error.split_once("path: ").expect("it names the field");
        error.replace(&format!("{}", library.display()), "FILE")
    };
    let text = folder.path().join("text.so");
    std::fs::write(&text, "no library").unwrap();
    assert!(refused(&text).starts_with("plugin FILE: it cannot be loaded: "));
    let missing = refused(&folder.path().join("missing.so"));
    assert_eq!(missing, "plugin FILE: No such file or directory (os error 2); give the path of a shared object");

    let table = |fields: &str| {
        format!(
            "static QuiverStatus setup(const QuiverHost *host, QuiverSetup *setup) {{ return QUIVER_OK; }}\n\
             static const QuiverPlugin plugin = {{ .magic = QUIVER_MAGIC, .version = QUIVER_VERSION, \
             .name = QUIVER_TEXT(\"bad\"), .setup = setup, {fields} }};\n\
             const QuiverPlugin *quiver_plugin_entry(void) {{ return &plugin; }}\n"
        )
        // A field may stand again: the last one counts.
    };
    let cases = [
        (
            "no-entry",
            "int nothing;".to_owned(),
            "plugin FILE: it exports no function `quiver_plugin_entry`, so it is no plugin of Quiver; export that function",
        ),
        (
            "no-table",
            "const QuiverPlugin *quiver_plugin_entry(void) { return 0; }".to_owned(),
            "plugin FILE: `quiver_plugin_entry` returned a null pointer; return the plugin's static table",
        ),
        (
            "magic",
            table(".magic = 7,"),
            "plugin FILE: its table begins with 0x0000000000000007, not with 0x4c50524556495551; fill in `magic`",
        ),
        (
            "version",
            table(".version = QUIVER_VERSION + 41,"),
            "plugin FILE: it was built for version 46 of the plugin contract, and this daemon has version 5; build it with the SDK of this daemon",
        ),
        ("no-name", table(".name = {0},"), "plugin FILE: its table has no `name`; fill it in"),
        ("no-setup", table(".setup = 0,"), "plugin FILE: its table has no `setup`; fill it in"),
    ];
    for (name, source, sentence) in cases {
        let source = format!("#pragma GCC diagnostic ignored \"-Woverride-init\"\n{source}");
        assert_eq!(refused(&built::in_c(folder.path(), name, &source)), sentence);
    }

    let body = |name: &str, body: &str| {
        let source = format!(
            "static QuiverStatus process(void *s, QuiverContext *c, QuiverFrame *f) {{ return QUIVER_OK; }}\n\
             static QuiverStatus run(void *u, QuiverControl *c, const QuiverCall *l, QuiverAnswer *a) {{ return QUIVER_OK; }}\n\
             static QuiverStatus apply(void *u, QuiverControl *c, const QuiverChange *h, QuiverAnswer *a) {{ return QUIVER_OK; }}\n\
             static QuiverArc pass = {{ QUIVER_TEXT(\"on\"), QUIVER_ARC_NEXT_FEATURE, {{0}} }};\n\
             static QuiverStatus setup(const QuiverHost *host, QuiverSetup *setup) {{\n\
             QuiverNode node = {{ .name = QUIVER_TEXT(\"bad-node\"), .arcs = &pass, .arc_count = 1, .process = process }};\n\
             QuiverFeature feature = {{ .arc = QUIVER_TEXT(\"ip4-unicast\"), .node = node.name }};\n\
             QuiverField key = {{ .name = QUIVER_TEXT(\"name\"), .kind = QUIVER_TEXT(\"text\"), .flags = QUIVER_FIELD_KEY }};\n\
             QuiverKind kind = {{ .name = QUIVER_TEXT(\"bads\"), .fields = &key, .field_count = 1, .apply = apply }};\n\
             QuiverCommand command = {{ .grammar = QUIVER_TEXT(\"bad\"), .run = run }};\n\
             (void)feature, (void)kind, (void)command;\n{body}\nreturn QUIVER_OK; }}\n\
             static const QuiverPlugin plugin = {{ .magic = QUIVER_MAGIC, .version = QUIVER_VERSION, \
             .name = QUIVER_TEXT(\"bad\"), .setup = setup }};\n\
             const QuiverPlugin *quiver_plugin_entry(void) {{ return &plugin; }}\n"
        );
        (name.to_owned(), source)
    };
    let nothing = "; nothing of it is registered";
    let cases = [
        (body("fails", "return 7;"), "plugin `bad`: its `setup` returned status 7"),
        (
            body("null", "host->add_node(setup, 0, 0);"),
            "plugin `bad`: it gave a null pointer where a description is needed",
        ),
        (
            body("null-arcs", "node.arcs = 0; host->add_node(setup, &node, 0);"),
            "plugin `bad`: node `bad-node` has 1 arcs; at most 256",
        ),
        (
            body("no-process", "node.process = 0; host->add_node(setup, &node, 0);"),
            "plugin `bad`: node `bad-node` has no `process`",
        ),
        (
            body("name", "node.name = (QuiverText)QUIVER_TEXT(\"a b\"); host->add_node(setup, &node, 0);"),
            "plugin `bad`: 'a b' is no name for a node; use up to 64 letters, digits and hyphens",
        ),
        (
            body("clash", "node.name = (QuiverText)QUIVER_TEXT(\"ip4-lookup\"); host->add_node(setup, &node, 0);"),
            "plugin `bad`: node `ip4-lookup` is registered twice; rename one of them",
        ),
        (
            body(
                "astray",
                "pass.kind = QUIVER_ARC_NODE; pass.to = (QuiverText)QUIVER_TEXT(\"ghost\"); host->add_node(setup, &node, 0);",
            ),
            "plugin `bad`: node `bad-node`: arc `on` leads to `ghost`, which is not registered",
        ),
        (
            body("kind-of-arc", "pass.kind = 99; host->add_node(setup, &node, 0);"),
            "plugin `bad`: arc `on` is of kind 99, which does not exist",
        ),
        (
            body("on-no-arc", "host->add_node(setup, &node, 0);"),
            "plugin `bad`: node `bad-node` has an arc `next_feature` but is a feature of 0 arcs; register it on exactly one",
        ),
        (
            body(
                "cycle",
                "host->add_node(setup, &node, 0); feature.before = feature.after = &node.name; feature.before_count = feature.after_count = 1; host->add_feature(setup, &feature);",
            ),
            "plugin `bad`: arc `ip4-unicast`: `bad-node` is to come before `bad-node`, and `bad-node` before `bad-node`; remove one of the orders, or choose another phase",
        ),
        (
            body(
                "ghost",
                "QuiverText ghost = QUIVER_TEXT(\"ghost\"); host->add_node(setup, &node, 0); feature.before = &ghost; feature.before_count = 1; host->add_feature(setup, &feature);",
            ),
            "plugin `bad`: feature `bad-node` on arc `ip4-unicast`: feature `ghost` is not registered",
        ),
        (
            body("stand", "node.stands_for = (QuiverText)QUIVER_TEXT(\"ghost\"); host->add_node(setup, &node, 0);"),
            "plugin `bad`: node `ghost` does not exist; `show graph` lists what does",
        ),
        (
            body("kind", "kind.name = (QuiverText)QUIVER_TEXT(\"interfaces\"); host->add_kind(setup, &kind);"),
            "plugin `bad`: there is a kind of objects 'interfaces' already; rename one of them",
        ),
        (
            body("field", "key.kind = (QuiverText)QUIVER_TEXT(\"colour\"); host->add_kind(setup, &kind);"),
            "plugin `bad`: config objects `bads`: name: there is no type 'colour'; take one of commands' arguments",
        ),
        (
            body("no-key", "key.flags = 0; host->add_kind(setup, &kind);"),
            "plugin `bad`: config objects `bads`: no field is a key; mark what tells objects of the kind apart",
        ),
        (
            body(
                "command",
                "command.grammar = (QuiverText)QUIVER_TEXT(\"show plugins\"); host->add_command(setup, &command);",
            ),
            "plugin `bad`: the command 'show plugins' was registered twice",
        ),
        (
            body(
                "grammar",
                "command.grammar = (QuiverText)QUIVER_TEXT(\"bad (\"); host->add_command(setup, &command);",
            ),
            "plugin `bad`: the grammar of the command 'bad (': ')' is missing",
        ),
        (
            body(
                "argument",
                "command.grammar = (QuiverText)QUIVER_TEXT(\"bad <x:colour>\"); host->add_command(setup, &command);",
            ),
            "plugin `bad`: the command 'bad <x:colour>' has an argument of the unknown type 'colour'",
        ),
        // What fits is not registered either when something else does not.
        (
            body(
                "late",
                "host->add_node(setup, &node, 0); host->add_feature(setup, &feature); host->add_kind(setup, &kind); command.grammar = (QuiverText)QUIVER_TEXT(\"show plugins\"); host->add_command(setup, &command);",
            ),
            "plugin `bad`: the command 'show plugins' was registered twice",
        ),
        (
            body(
                "partly",
                "host->add_command(setup, &command); host->add_kind(setup, &kind); host->add_node(setup, &node, 0); return 1;",
            ),
            "plugin `bad`: its `setup` returned status 1",
        ),
    ];
    for ((name, source), sentence) in cases {
        assert_eq!(refused(&built::in_c(folder.path(), &name, &source)), format!("{sentence}{nothing}"));
    }
    let hasty = refused(&built::hasty());
    assert_eq!(hasty, format!("plugin `trial`: its `register` panicked: it was built to fail{nothing}"));
    // After all that, a good one loads, and another of its name does not.
    let good = built::in_c(folder.path(), "good", &body("", "host->add_command(setup, &command);").1);
    daemon.configure(&format!("load plugin {}\n bad", good.display()));
    let twin = built::in_c(folder.path(), "twin", &body("", "").1);
    let error = said(&mut daemon, &format!("load plugin {}", twin.display()));
    assert!(error.contains("a plugin `bad` is loaded already, from"), "{error}");
    daemon.finish().unwrap();
}

#[test]
fn code_that_others_may_change_is_not_loaded_and_a_fifo_is_not_waited_for() {
    use std::fs::{Permissions, copy, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [library, fifo] = ["mark.so", "fifo"].map(|name| folder.path().join(name));
    copy(built::dscp_mark(), &library).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo is there").success());
    let mut daemon = router::without(1);
    let mut load = |path: &Path| said(&mut daemon, &format!("load plugin {}", path.display()));
    let allow = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
    assert!(load(&fifo).contains("is a FIFO, not a regular file"));
    for (path, mode) in [(folder.path(), 0o777), (folder.path(), 0o770), (&*library, 0o666)] {
        let before = path.metadata().unwrap().permissions();
        allow(path, mode);
        let told = load(&library);
        assert!(told.contains(&format!("own {} or may write to it", path.display())), "{told}");
        set_permissions(path, before).unwrap();
    }
    allow(folder.path(), 0o700);
    allow(&library, 0o755);
    assert_eq!(load(&library), "");
    daemon.finish().unwrap();
}
