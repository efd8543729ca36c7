//! The configuration file: read, compared, applied, saved.

use quiver_control::protocol::{self, File, Request, Response};
use quiver_control::transaction::Author;
use quiver_testkit::growth::assert_linear;

use crate::ports::{Log, applied, apply_file, control, diff_file, port, switch};

const FILE: &str = "\
switches:
  - id: 1
    members:
      - port: p1
      - port: p2
        group: 3
ports:
  - name: p1
    mtu: 9000
  - name: p2
";

fn errors(text: &str) -> Vec<String> {
    let (executor, control) = control();
    let errors = diff_file(&executor, &control, "net.yaml", text).unwrap_err();
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_is_applied_in_the_order_of_its_references_and_saved_as_it_was() {
    let (executor, control) = control();
    let told = apply_file(&executor, &control, "net.yaml", FILE).unwrap();
    assert_eq!(applied(&control), ["+ ports p1", "+ ports p2", "+ switches 1"]);
    let saved = control.save();
    assert_eq!(
        saved.text,
        format!("# A configuration of Quiver: `quiver apply FILE` makes it run.\n{FILE}").trim_end()
    );
    assert_eq!(saved.json["ports"][0]["mtu"], 9000);
    // What was saved changes nothing; nor does it in JSON, which is YAML too.
    assert_eq!(apply_file(&executor, &control, "saved", &saved.text).unwrap().text, "");
    assert_eq!(apply_file(&executor, &control, "saved", &saved.json.to_string()).unwrap().text, "");
    assert!(applied(&control).is_empty());
    assert!(told.text.starts_with("+ switches 1\n    members: ["), "{}", told.text);
    // An empty file is the wish for nothing.
    apply_file(&executor, &control, "empty", "").unwrap();
    assert_eq!(applied(&control), ["- switches 1", "- ports p1", "- ports p2"]);
}

#[test]
fn a_difference_names_objects_and_fields() {
    let (executor, control) = control();
    control.put(port("p1")).unwrap();
    control.put(port("old")).unwrap();
    control.put(switch(1, &["p1"])).unwrap();
    applied(&control);
    let reply = diff_file(
        &executor,
        &control,
        "net.yaml",
        "ports:\n- {name: p1, mtu: 9000}\n- name: p2\n  line: b\nswitches:\n- id: 1\n",
    )
    .unwrap();
    let expected = "\
- ports old
~ ports p1
  - mtu: 1500
  + mtu: 9000
+ ports p2
    line: b
~ switches 1
  - members: [{\"port\":\"p1\"}]
  + members: []";
    assert_eq!(reply.text, expected);
    let update = serde_json::json!({"change": "update", "object": "ports p1",
        "fields": [{"field": "mtu", "old": 1500, "new": 9000}]});
    assert_eq!(reply.json[1], update);
    assert!(applied(&control).is_empty(), "a comparison changes nothing");
}

#[test]
fn all_mistakes_are_told_at_once_each_with_its_place_and_remedy() {
    let text = "\
ports:
  - name: p1
    mtv: 9000
  - mtu: big
  - name: p1
    mtu: 20
  - name: 7
  - p9
swiches:
  - id: 1
switches:
  - id: 1
    members: [{port: p1, group: 300}]
";
    assert_eq!(
        errors(text),
        [
            "net.yaml:3:5: ports p1: mtv: there is no such field; did you mean 'mtu'?",
            "net.yaml:4:5: ports: name: it is missing; add 'name': the name of one port",
            "net.yaml:4:10: ports: mtu: 'big' cannot stand here; expected a number from 0 to 65535",
            "net.yaml:6:10: ports p1: mtu: 20 is too small; at least 64",
            "net.yaml:7:11: ports 7: name: text is meant: write \"7\" with quotes; expected the name of one port",
            "net.yaml:8:5: ports: this is no object; write its fields as 'name: value' behind '- '",
            "net.yaml:9:1: there is no kind of objects 'swiches'; did you mean 'switches'?",
            "net.yaml:13:33: switches 1: members[0].group: 300 cannot stand here; expected a number from 0 to 255",
        ]
    );
}

#[test]
fn mistakes_between_objects_are_told_with_their_places() {
    assert_eq!(
        errors("ports:\n- name: p1\n- name: p1\n"),
        ["net.yaml:3:3: ports p1: it stands here again, first in line 2; give it another key, or leave it out"]
    );
    assert_eq!(
        errors("ports:\n- name: left\nswitches:\n- id: 1\n  members:\n  - port: lefft\n"),
        ["net.yaml:6:11: switches 1: members[0].port: there is no port lefft; did you mean 'left'?"]
    );
    assert_eq!(errors("ports: {a: 1}\n"), ["net.yaml:1:8: 'ports' is no list; write each object behind '- '"]);
    assert!(errors("- a\n")[0].contains("the file is no mapping of sections"));
    assert!(errors("ports:\n\t- a\n")[0].starts_with("net.yaml:2:"));
}

#[test]
fn a_failure_half_way_is_undone_at_every_step() {
    for step in 0..4 {
        let (executor, control) = control();
        control.put(port("old")).unwrap();
        let before = control.save();
        control.room_mut::<Log>().fail_at = Some(step);
        let errors = apply_file(&executor, &control, "net.yaml", FILE).unwrap_err();
        assert_eq!(errors[0].error.what, "planted", "step {step}");
        assert_eq!(control.save(), before);
        apply_file(&executor, &control, "net.yaml", FILE).unwrap();
    }
}

#[test]
fn what_fails_to_be_applied_is_found_in_the_file() {
    let (executor, control) = control();
    control.room_mut::<Log>().fail_at = Some(2);
    let errors = apply_file(&executor, &control, "net.yaml", FILE).unwrap_err();
    assert_eq!(errors[0].to_string(), "net.yaml:2:5: switches 1: planted");
}

#[test]
fn a_large_file_is_taken_in_time() {
    assert_linear("leases", 10_000, |leases| {
        let (executor, control) = control();
        let mut text = "leases:\n".to_owned();
        for number in 0..leases as u32 {
            text.push_str(&format!("- {{pool: 1, address: {}}}\n", std::net::Ipv4Addr::from(number)));
        }
        apply_file(&executor, &control, "large", &text).unwrap();
        let saved = control.save().text;
        assert!(diff_file(&executor, &control, "large", &saved).unwrap().text.is_empty());
    });
}

#[test]
fn the_reference_and_the_schema_come_from_the_fields() {
    let (_, control) = control();
    let page = quiver_control::docs::objects_page(&control);
    assert!(page.contains("\n## ports\n\nA port.\n"), "{page}");
    assert!(page.contains("| `mtu` | The largest frame. | a number from 0 to 65535 | `1500` |"), "{page}");
    assert!(page.contains("| `members.group` | Members of one group do not hear each other. |"), "{page}");
    let schema = quiver_control::docs::schema(&control);
    let port = &schema["properties"]["ports"]["items"];
    assert_eq!(port["required"], serde_json::json!(["name"]));
    assert_eq!(port["properties"]["mtu"]["maximum"], 65535);
    assert_eq!(port["properties"]["mtu"]["default"], 1500);
}

/// A door that opens to those who know the word.
#[derive(quiver_control::Object, Clone, Debug, PartialEq)]
#[object(kind = "doors")]
struct Door {
    /// Its name.
    #[key]
    name: String,
    /// Password that opens it.
    #[secret]
    word: Option<String>,
}

#[test]
fn secrets_are_shown_to_those_who_ask_for_them_and_saved() {
    let (executor, control) = control();
    control.objects().add(quiver_control::Kind::new(crate::ports::apply::<Door>));
    let said = |line: &str| {
        let (text, done) = executor.block_on(control.commands().run_script(&control, line));
        done.expect("it runs");
        text
    };
    let file = "doors:\n  - name: back\n  - name: front\n    word: sesame\n";
    let difference = diff_file(&executor, &control, "net.yaml", file).expect("it is right");
    assert!(difference.text.contains("word: \"<hidden>\""), "{}", difference.text);
    assert!(!difference.text.contains("sesame") && !difference.json.to_string().contains("sesame"));
    let told = apply_file(&executor, &control, "net.yaml", file).expect("it is right");
    assert!(!told.text.contains("sesame") && !told.json.to_string().contains("sesame"));
    for line in ["show configuration", "show configuration saved", "show configuration version 0"] {
        let shown = said(line);
        assert!(shown.contains("word: \"<hidden>\"") && !shown.contains("sesame"), "{line}: {shown}");
        let asked = said(&format!("{line} secrets"));
        assert!(asked.contains(file.trim_end()), "{line}: {asked}");
        // What hides a secret is none.
        let refused = diff_file(&executor, &control, "net.yaml", &shown).expect_err("it has no secret");
        assert!(refused[0].to_string().contains("word: <hidden> stands for a secret"), "{}", refused[0]);
    }
    // Viewers look at what is no secret, and change nothing.
    let viewer = control.by(Author::new("eve").as_viewer());
    let ask = |request| executor.block_on(protocol::answer(&viewer, request).1);
    let command = |line: &str| Request::Command { line: line.into(), json: false };
    let given = || File { name: "x".into(), text: String::new(), json: false, terms: Default::default() };
    let Response::Done(shown) = ask(command("show configuration")) else { panic!("viewers look") };
    assert!(shown.text.contains("<hidden>"), "{}", shown.text);
    for request in [
        command("show configuration secrets"),
        command("rollback 0"),
        command("exec /etc/passwd"),
        command("wait 1"),
        Request::Apply(given()),
        Request::Plan(given()),
        Request::Diff(given()),
        Request::Save { json: false, comment: None },
    ] {
        let Response::Error(refusal) = ask(request.clone()) else { panic!("{request:?}") };
        assert!(refusal.what.starts_with("viewers "), "{}", refusal.what);
    }
    // A file that is saved can be applied again.
    assert!(control.save().text.contains("word: sesame"));
    let other = diff_file(&executor, &control, "net.yaml", &file.replace("sesame", "open")).expect("it is right");
    assert_eq!(other.text, "~ doors front\n  - word: \"<hidden>\"\n  + word: \"<hidden>\"");
}
