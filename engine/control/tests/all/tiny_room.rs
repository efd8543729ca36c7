//! A complete room: one object, one room state, two commands. Start here.

use quiver_control::cli::{Cell, Command, CommandError, Matches, Reply, Table};
use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_testkit::executor::Executor;

/// A lamp: something that can be switched.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "lamps", provides = "lamp")]
pub struct Lamp {
    /// The name by which commands and objects refer to it.
    #[key]
    pub name: String,
    /// Whether it shines.
    #[default(false)]
    pub on: bool,
    /// Brightness in percent.
    #[default(100)]
    pub brightness: u8,
}

/// The room's state: here, the value that the data plane would read.
#[derive(Default)]
struct Lamps {
    watts: u32,
}

fn register(control: &Control) {
    control.insert_room(Lamps::default());
    control.objects().add(Kind::new(apply).check(check));
    let set =
        Command::new("set lamp <name:text> {(on|off) | brightness <brightness:u8>}", "Switch or dim a lamp.", set);
    control.commands().add(set.arguments_of::<Lamp>());
    control.commands().add(Command::new("show lamps", "Show all lamps.", show));
}

fn check(lamp: &Lamp) -> Result<(), ObjectError> {
    match lamp.brightness {
        0..=100 => Ok(()),
        more => Err(ObjectError::field("brightness", format!("{more} is too much")).remedy("at most 100")),
    }
}

fn apply(control: &Control, change: Change<'_, Lamp>) -> Result<(), ObjectError> {
    let watts = |lamp: &Lamp| if lamp.on { u32::from(lamp.brightness) } else { 0 };
    let mut lamps = control.room_mut::<Lamps>();
    lamps.watts = match change {
        Change::Create(lamp) => lamps.watts + watts(lamp),
        Change::Update { old, new } => lamps.watts - watts(old) + watts(new),
        Change::Delete(lamp) => lamps.watts - watts(lamp),
    };
    Ok(())
}

fn set(control: &Control, matches: &Matches) -> Result<Reply, CommandError> {
    let brightness = matches.find("brightness")?;
    control.edit(Lamp::new(matches.get("name")?), |lamp| {
        lamp.on = (lamp.on || matches.has("on")) && !matches.has("off");
        lamp.brightness = brightness.unwrap_or(lamp.brightness);
    })?;
    Ok(Reply::done())
}

fn show(control: &Control, _: &Matches) -> Result<Reply, CommandError> {
    let mut table = Table::new(["Name", "On", "Brightness"]);
    for lamp in control.objects().all::<Lamp>() {
        table.row([Cell::from(lamp.name.clone()), Cell::from(lamp.on), Cell::from(lamp.brightness)]);
    }
    Ok(table.into())
}

#[test]
fn the_room_works() {
    let executor = Executor::new(1);
    let control = executor.control();
    register(&control);
    control.commands().check().unwrap();
    let run = |line: &str| executor.block_on(control.commands().run(&control, line, &Default::default()));
    run("set lamp desk brightness 40 on").unwrap();
    run("s l hall").unwrap_err();
    run("set l hall on").unwrap();
    run("set lamp hall off").unwrap();
    assert_eq!(control.room::<Lamps>().watts, 40);
    let shown = run("sh lamps").unwrap();
    assert_eq!(shown.text, "Name  On   Brightness\ndesk  yes          40\nhall  no          100");
    assert_eq!(shown.json[0], serde_json::json!({"name": "desk", "on": true, "brightness": 40}));
    let refused = run("set lamp desk brightness 120").unwrap_err();
    assert_eq!(refused.to_string(), "lamps desk: brightness: 120 is too much; at most 100");
}
