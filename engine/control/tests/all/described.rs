//! Kinds of objects described by data behave like those that are Rust structs.

use crate::ports::{self, PortName, applied, apply_file, control, diff_file, port};
use quiver_control::object::described::{DescribedField, DescribedKind, Occurrence, Values};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_testkit::executor::Executor;
use serde_json::json;

fn field(control: &Control, name: &'static str, kind: &str) -> DescribedField {
    let kind = control.commands().kind(kind).expect("a type");
    DescribedField { name, doc: "A fact.", kind, occurrence: Occurrence::Once, default: None, key: false, fixed: false }
}

fn apply(control: &Control, change: Change<'_, Values>) -> Result<(), ObjectError> {
    let line = match change {
        Change::Create(new) => format!("+ {}", json!(new)),
        Change::Update { old, new } => format!("~ {} {}", old["watts"], new["watts"]),
        Change::Delete(old) => format!("- {}", old["number"]),
    };
    control.room_mut::<ports::Log>().applied.push(line);
    Ok(())
}

fn lamps(control: &Control) -> DescribedKind {
    let field = |name, kind| field(control, name, kind);
    let fields = vec![
        DescribedField { key: true, ..field("number", "u32") },
        DescribedField { default: Some("40".into()), ..field("watts", "u8") },
        DescribedField { fixed: true, ..field("port", "port") },
        DescribedField { occurrence: Occurrence::Optional, ..field("address", "ip4") },
        DescribedField { occurrence: Occurrence::List, ..field("tags", "text") },
    ];
    let check = |values: &Values| match values["watts"].as_u64() {
        Some(0) => Err(ObjectError::field("watts", "it would be dark").remedy("at least 1")),
        _ => Ok(()),
    };
    DescribedKind::new("lamps", "A lamp.", fields, apply, check).expect("it fits together")
}

fn ready() -> (Executor, Control) {
    let (executor, control) = control();
    control.commands().add_kind(quiver_control::cli::ArgumentKind::of::<PortName>());
    control.objects().describe(lamps(&control)).unwrap();
    control.put(port("p1")).unwrap();
    applied(&control);
    (executor, control)
}

const FILE: &str = "ports:\n  - name: p1\nlamps:\n  - number: 2\n    port: p1\n    tags:\n      - a\n      - \"7\"\n  - number: 10\n    watts: 60\n    port: p1\n    address: 192.0.2.1\n";

#[test]
fn they_are_read_compared_applied_and_saved() {
    let (executor, control) = ready();
    assert_eq!(diff_file(&executor, &control, "f", FILE).unwrap().text.lines().next(), Some("+ lamps 2"));
    apply_file(&executor, &control, "f", FILE).unwrap();
    let created = applied(&control);
    assert_eq!(created[0], r#"+ {"number":2,"watts":40,"port":"p1","address":null,"tags":["a","7"]}"#);
    assert_eq!(created.len(), 2);
    assert_eq!(control.save().text.split_once('\n').unwrap().1, FILE.trim_end(), "numbers sort as numbers");
    assert_eq!(diff_file(&executor, &control, "f", FILE).unwrap().text, "", "what runs differs in nothing");
    apply_file(&executor, &control, "f", &FILE.replace("watts: 60", "watts: 61")).unwrap();
    assert_eq!(applied(&control), ["~ 60 61"]);
    control
        .put_values("lamps", Values::from_iter([("number".into(), 10.into()), ("watts".into(), 62.into())]))
        .unwrap();
    assert_eq!(applied(&control), ["~ 61 62"], "the fields that are not given stay");
    assert_eq!(
        control.delete::<ports::Port>(&PortName("p1".into())).unwrap_err().what,
        "it is still used by lamps 2, lamps 10"
    );
    control.delete_values("lamps", Values::from_iter([("number".into(), 10.into())])).unwrap();
    assert_eq!(applied(&control), ["- 10"]);
    let schema = quiver_control::docs::schema(&control);
    assert_eq!(schema["properties"]["lamps"]["items"]["properties"]["watts"]["default"], 40);
    assert!(
        quiver_control::docs::objects_page(&control).contains("| `watts` | A fact. | a number from 0 to 255 | `40` |")
    );
}

#[test]
fn what_is_wrong_names_place_field_and_remedy() {
    let (executor, control) = ready();
    let told = |text: &str| {
        let errors = apply_file(&executor, &control, "f", text).unwrap_err();
        assert!(applied(&control).is_empty(), "nothing was applied");
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let with = |lines: &str| format!("ports:\n  - name: p1\nlamps:\n  - number: 1\n{lines}");
    let port = "    port: p1\n";
    for (lines, error) in [
        ("    port: p2\n", "f:5:11: lamps 1: port: there is no port p2; did you mean 'p1'?"),
        (&format!("{port}    watts: 0\n"), "f:6:12: lamps 1: watts: it would be dark; at least 1"),
        (
            &format!("{port}    watts: x\n"),
            "f:6:12: lamps 1: watts: 'x' cannot stand here; expected a number from 0 to 255",
        ),
        (&format!("{port}    tags: x\n"), "f:6:11: lamps 1: tags: 'x' cannot stand here; expected a list"),
        (&format!("{port}    wats: 1\n"), "f:6:5: lamps 1: wats: there is no such field; did you mean 'watts'?"),
        ("    watts: 1\n", "f:4:5: lamps 1: port: it is missing; add 'port': the name of one port"),
    ] {
        assert_eq!(told(&with(lines)), error);
    }
    let missing = control.delete_values("lamps", Values::from_iter([("number".into(), 9.into())])).unwrap_err();
    assert_eq!(missing.to_string(), "lamps 9: it does not exist");
    let unknown = control.put_values("lamp", Values::new()).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no kind of objects 'lamp'; did you mean 'lamps'?");
}

#[test]
fn descriptions_that_contradict_themselves_are_refused() {
    let (_executor, control) = ready();
    let refused = |fields| {
        let kind = DescribedKind::new("new", "New.", fields, |_, _| Ok(()), |_| Ok(()));
        kind.map(|_| ()).unwrap_err().to_string()
    };
    let key = || DescribedField { key: true, ..field(&control, "id", "u8") };
    assert_eq!(
        refused(vec![field(&control, "id", "u8")]),
        "no field is a key; mark what tells objects of the kind apart"
    );
    assert_eq!(refused(vec![key(), key()]), "id: there are two fields of this name; rename one");
    let default = DescribedField { default: Some("256".into()), ..field(&control, "size", "u8") };
    assert!(refused(vec![key(), default]).starts_with("size: the default '256' does not fit"));
    assert_eq!(
        control.objects().describe(lamps(&control)).unwrap_err().to_string(),
        "there is a kind of objects 'lamps' already; rename one of them"
    );
}

#[test]
fn a_list_loses_the_items_that_refer_to_what_goes_and_its_object_goes_with_the_last() {
    let (_executor, control) = ready();
    control.put(port("p2")).unwrap();
    let fields = vec![
        DescribedField { key: true, ..field(&control, "number", "u32") },
        DescribedField { occurrence: Occurrence::List, ..field(&control, "ports", "port") },
        DescribedField { occurrence: Occurrence::Optional, ..field(&control, "spare", "port") },
    ];
    let rails = DescribedKind::new("rails", "A rail.", fields, |_, _| Ok(()), |_| Ok(())).unwrap();
    control.objects().describe(rails).unwrap();
    let put = |rail: serde_json::Value| control.put_values("rails", rail.as_object().unwrap().clone()).unwrap();
    put(json!({"number": 1, "ports": ["p1", "p2", "p1"]}));
    put(json!({"number": 2, "ports": ["p2"], "spare": "p1"}));
    put(json!({"number": 3}));
    let delete = |name: &str| control.delete_with_users::<ports::Port>(&PortName(name.into())).unwrap();
    delete("p1");
    assert_eq!(control.save().json["rails"], json!([{"number": 1, "ports": ["p2"]}, {"number": 3}]));
    delete("p2");
    assert_eq!(control.save().json["rails"], json!([{"number": 3}]));
}

/// A catalogue, whose objects bring kinds into being.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "catalogues")]
struct Catalogue {
    /// Its name.
    #[key]
    name: String,
}

#[test]
fn kinds_that_others_bring_are_known_before_the_rest_is_read() {
    let (executor, control) = control();
    control.commands().add_kind(quiver_control::cli::ArgumentKind::of::<PortName>());
    control.objects().add(Kind::new(ports::apply::<Catalogue>).open(|control, catalogue| match &*catalogue.name {
        "lamps" => control.objects().describe(lamps(control)).or(Ok(())),
        name => Err(ObjectError::field("name", format!("there is no catalogue {name}"))),
    }));
    let error =
        apply_file(&executor, &control, "f", "lamps:\n  - number: 1\ncatalogues:\n  - name: lights\n").unwrap_err();
    let error: Vec<_> = error.iter().map(ToString::to_string).collect();
    assert!(error[0].starts_with("f:1:1: there is no kind of objects 'lamps'"), "{error:?}");
    assert_eq!(error[1], "f:4:11: catalogues lights: name: there is no catalogue lights");
    apply_file(&executor, &control, "f", &format!("{FILE}catalogues:\n  - name: lamps\n")).unwrap();
    assert_eq!(applied(&control).len(), 4, "port, lamps, catalogue");
}
