//! The definitions that clients load.

use quiver_compat::{Api, Message, add, json};
use quiver_testkit::executor::Executor;

/// Set the first thing.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SetFirst {
    value: u32,
}

/// Set the second thing.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct SetSecond {
    #[default(7)]
    value: u32,
}

#[test]
fn rooms_add_to_one_file() {
    let control = Executor::new(1).control();
    add(&control, "things", (1, 0, 0), |file| file.request(|_, _: SetFirst| Ok(())));
    add(&control, "things", (1, 0, 0), |file| file.request(|_, _: SetSecond| Ok(())));
    let files = json::files(&control.room::<Api>());
    let things: Vec<_> = files.iter().filter(|(name, _)| *name == "things").collect();
    let [(_, things)] = &things[..] else { panic!("{} files", things.len()) };
    let messages = things["messages"].as_array().expect("a list").iter().map(|message| message[0].as_str());
    let names: Vec<_> = messages.flatten().collect();
    assert_eq!(names, ["set_first", "set_first_reply", "set_second", "set_second_reply"]);
    let field = |message: usize| &things["messages"][message][4];
    assert_eq!(*field(0), serde_json::json!(["u32", "value"]));
    assert_eq!(*field(2), serde_json::json!(["u32", "value", {"default": 7}]), "clients fill it in");
}
