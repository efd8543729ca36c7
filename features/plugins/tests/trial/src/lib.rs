//! A plugin for tests. A packet's TTL tells its nodes what to do: 66 panics, 67 takes an arc that is not there.

use quiver_plugin_sdk::{
    Command, Context, Counters, Field, Frame, Interface, Kind, MetadataKey, Node, NodeSpec, Record, Refusal, Reply,
    Setup, SetupError, Side, arcs, plugin,
};

plugin!("trial", register);

arcs! {
    /// Of a feature.
    pub enum Pass {
        On => next_feature,
    }
}
arcs! {
    /// Before `ip4-lookup`, whatever leads there.
    pub enum Before {
        On => node "ip4-lookup",
        Copied => done "copied",
        Few => drop "few",
    }
}
arcs! {
    /// Where an arc is re-wired to: onto an arc of the plugin's own.
    pub enum Aside {
        On => features "trial-arc",
    }
}

/// Acts as the TTL demands.
fn obey(frame: &mut Frame<'_>, row: usize) {
    match frame.bytes(row).get(8) {
        Some(66) => panic!("packet {row} has a TTL of 66"),
        Some(67) => frame.set_next(row, 40u16),
        _ => {}
    }
}

/// Passes packets, and keeps with each how long it is; it panics when it is freed, too.
struct Feature(Counters, MetadataKey);
impl Node for Feature {
    type Published = ();
    fn process(&mut self, cx: &mut Context<'_, ()>, frame: &mut Frame<'_>) {
        for row in 0..frame.len() {
            obey(frame, row);
            cx.count(self.0, frame.rx(row) as usize, 1, frame.length(row).into());
            cx.set_metadata(row, self.1, frame.length(row).into());
        }
    }
    fn describe(_: &Record<'_>) -> String {
        panic!("a description that fails")
    }
}
impl Drop for Feature {
    fn drop(&mut self) {
        panic!("a node that cannot even be dropped");
    }
}

/// Finds what the feature has kept with packets, sends a copy aside, goes over the header and back, and reads all parts; published is the least length that passes.
struct Standing(MetadataKey, Counters);
impl Node for Standing {
    type Published = u32;
    fn process(&mut self, cx: &mut Context<'_, u32>, frame: &mut Frame<'_>) {
        for row in 0..frame.len() {
            obey(frame, row);
            let whole: usize = cx.segments(frame, row).iter().map(|part| part.len()).sum();
            assert_eq!(whole, frame.length(row) as usize);
            if let Some(kept) = cx.metadata(row, self.0) {
                assert_eq!(kept, whole as u64);
                cx.count(self.1, 0, 1, kept);
            }
            assert!(frame.advance(row, 20) && frame.length(row) as usize == whole - 20);
            assert!(!frame.advance(row, 60_000) && !frame.advance(row, -5000));
            assert!(frame.advance(row, -20) && cx.offload(row).is_none());
            if cx.published().is_some_and(|least| whole < *least as usize) {
                frame.set_next(row, Before::Few);
            } else {
                assert!(cx.emit_copy(row, Before::Copied) && cx.emit(Before::Copied, b"new", frame.rx(row), 0));
            }
        }
    }
}

/// Passes packets on.
struct Plain;
impl Node for Plain {
    type Published = ();
    fn process(&mut self, _: &mut Context<'_, ()>, frame: &mut Frame<'_>) {
        (0..frame.len()).for_each(|row| obey(frame, row));
    }
}

fn register(setup: &mut Setup<'_>) -> Result<(), SetupError> {
    assert!(cfg!(not(feature = "hasty")), "it was built to fail");
    let seen = setup.counters("seen", "packets, by interface", 64)?;
    let kept = setup.counters("kept", "packets with which a length was kept", 1)?;
    let length = setup.metadata_key("trial-length")?;
    setup.node(NodeSpec::new("trial-feature", Pass::ARCS, move |_| Feature(seen, length)))?;
    setup.feature("ip4-unicast", "trial-feature", &["ip4-lookup"], &[])?;
    let standing =
        NodeSpec::new("trial-standing", Before::ARCS, move |_| Standing(length, kept)).stands_for("ip4-lookup");
    let standing = setup.node(standing)?;
    setup.feature_arc("trial-arc", "ip4-lookup", Side::Rx)?;
    setup.node(NodeSpec::new("trial-aside", Aside::ARCS, |_| Plain))?;
    setup.node(NodeSpec::new("trial-on-arc", Pass::ARCS, |_| Plain))?;
    setup.feature("trial-arc", "trial-on-arc", &[], &[])?;

    setup.command(Command::new("trial enable <arc:text> <node:text> <interface>", "Enable.", |control, line| {
        let Interface(interface) = line.get("interface")?;
        control.enable(&line.get::<String>("arc")?, &line.get::<String>("node")?, interface, true)?;
        Ok(Reply::Done)
    }))?;
    setup.command(Command::new("trial stand-in <on:bool>", "Stand in.", move |control, line| {
        control.stand_in(standing, line.get("on")?).map(|()| Reply::Done)
    }))?;
    setup.command(Command::new("trial publish <least:u32>", "Publish.", move |control, line| {
        control.publish(standing, line.get("least")?).map(|()| Reply::Done)
    }))?;
    setup.command(Command::new("trial rewire <node:text> <arc:text> [<to:text>]", "Re-wire.", |control, line| {
        let to = line.get::<Option<String>>("to")?;
        control.rewire(&line.get::<String>("node")?, &line.get::<String>("arc")?, to.as_deref())?;
        Ok(Reply::Done)
    }))?;
    setup.command(Command::new("trial panic", "Panic.", |_, _| panic!("a command that fails")))?;
    let fields = [
        Field::new("name", "text", "Its name.").key(),
        Field::new("tags", "text", "Words.").list(),
        Field::new("speed", "u32", "A number.").optional().fixed(),
    ];
    setup.kind(Kind::new("trials", "A trial.", fields, |control, change| match &change.after {
        Some(after) if after.get::<String>("name")? == "panic" => panic!("an object that fails"),
        Some(after) => {
            let (tags, speed) = (after.all::<String>("tags")?, after.get::<Option<u32>>("speed")?);
            control.log(&format!("trial {tags:?} {speed:?}"));
            match tags.is_empty() {
                true => Err(Refusal::new("it has no words").of("tags").remedy("add one")),
                false => Ok(()),
            }
        }
        None => Ok(()),
    }))
}
