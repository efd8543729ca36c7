//! The messages, as a client sends them.

use super::*;
use quiver_compat::Caller;

fn infos(cir: u32) -> PolicerConfig {
    let conform_action = QosAction { r#type: ActionType::MarkAndTransmit, dscp: 46 };
    PolicerConfig { cir, cb: 9000, conform_action, ..PolicerConfig::default() }
}

#[test]
fn policers_come_change_and_go() {
    let daemon = quiver_scenarios::daemon("");
    let mut caller = Caller::connect(daemon.control());
    let name = |text: &str| Text::<64>::from(text);
    let add = |text: &str, infos| PolicerAdd { name: name(text), infos };
    let first = caller.request(&add("first", infos(100))).expect("it fits").policer_index;
    let second = caller.request(&add("second", infos(200))).expect("it fits").policer_index;
    assert_eq!((first, second), (0, 1));
    assert_eq!(caller.request(&add("first", infos(1))).map(drop), Err(Retval::VALUE_EXIST));
    let all = PolicerDumpV2 { policer_index: NONE };
    let rates = |caller: &mut Caller, policer_index| -> Vec<(String, u32)> {
        let all = caller.dump(&PolicerDumpV2 { policer_index });
        all.into_iter().map(|details| (details.name.to_string(), details.cir)).collect()
    };
    assert_eq!(rates(&mut caller, NONE), [("first".into(), 100), ("second".into(), 200)]);
    caller.request(&PolicerUpdate { policer_index: 1, infos: infos(300) }).expect("another rate");
    assert_eq!(rates(&mut caller, 1), [("second".into(), 300)]);
    assert_eq!(caller.dump(&all)[1].conform_action, infos(0).conform_action);
    let by_name = PolicerDump { match_name_valid: true, match_name: name("first") };
    assert_eq!(caller.dump(&by_name).len(), 1);
    caller.request(&PolicerReset { policer_index: 1 }).expect("it is there");
    caller.request(&PolicerBindV2 { policer_index: 1, worker_index: 0, bind_enable: true }).expect("any worker may");
    caller.request(&PolicerBind { name: name("first"), worker_index: 9, bind_enable: false }).expect("any worker may");
    caller.request(&PolicerDel { policer_index: 0 }).expect("it is there");
    let old = |is_add, text: &str| PolicerAddDel {
        is_add,
        name: name(text),
        cir: 64,
        eir: 128,
        cb: 1500,
        eb: 3000,
        rate_type: RateType::Kbps,
        round_type: RoundType::ToUp,
        r#type: PolicerType::TwoRate2698,
        color_aware: false,
        conform_action: QosAction::default(),
        exceed_action: QosAction::default(),
        violate_action: QosAction::default(),
    };
    assert_eq!(caller.request(&old(true, "third")).expect("it fits").policer_index, 0, "a number that is free");
    caller.request(&old(false, "third")).expect("it is there");
    assert_eq!(rates(&mut caller, NONE), [("second".into(), 300)]);
    for (refused, retval) in [
        (caller.request(&old(false, "third")).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&PolicerDel { policer_index: 7 }).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&PolicerReset { policer_index: 7 }).map(drop), Retval::NO_SUCH_ENTRY),
        (caller.request(&add("none", PolicerConfig::default())).map(drop), Retval::INVALID_VALUE),
        (caller.request(&add("", infos(1))).map(drop), Retval::INVALID_VALUE),
        (
            caller.request(&PolicerBindV2 { policer_index: 1, worker_index: 9, bind_enable: true }).map(drop),
            INVALID_WORKER,
        ),
        (
            caller.request(&add("mef", PolicerConfig { r#type: PolicerType::Mef5, ..infos(1) })).map(drop),
            Retval::INVALID_VALUE,
        ),
    ] {
        assert_eq!(refused, Err(retval));
    }
}
