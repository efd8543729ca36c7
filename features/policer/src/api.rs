//! VPP's messages about policers: `policer.api`. What is policed by them is for the rooms that have the packets.

use quiver_compat::types::NONE;
use quiver_compat::{Message, Refusal, Retval, Text, Wire};
use quiver_control::Control;
use quiver_engine::Dataplane;

use crate::config::{Action, Policer, RateUnit, Scheme};
use crate::policers::Policers;

/// The file of messages, and its version in VPP: for all rooms that add to it.
pub const FILE: (&str, (u32, u32, u32)) = ("policer", (3, 0, 0));

/// There is no worker of this number.
const INVALID_WORKER: Retval = Retval(-89);

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "policer_types", (1, 0, 0), |file| file.define_type::<PolicerConfig>());
    quiver_compat::add(control, FILE.0, FILE.1, |file| {
        file.request(policer_add_del);
        file.request(|control, PolicerAdd { name, infos }| {
            let policer_index = add(control, policer(name.as_str(), &infos)?)?;
            Ok(PolicerAddReply { policer_index })
        });
        file.request(|control, PolicerDel { policer_index }| {
            let name = named(control, policer_index)?;
            Ok::<_, Refusal>(control.delete::<Policer>(&name)?)
        });
        file.request(|control, PolicerUpdate { policer_index, infos }| {
            let name = named(control, policer_index)?;
            Ok::<_, Refusal>(control.put(policer(&name, &infos)?)?)
        });
        file.request(|control, PolicerReset { policer_index }| match control.room::<Policers>().fill(policer_index) {
            true => Ok(()),
            false => Err(unknown(&policer_index.to_string())),
        });
        file.request(|control, PolicerBind { name, worker_index, bind_enable }| {
            let number = control.room::<Policers>().number(name.as_str());
            bind(control, number.ok_or_else(|| unknown(name.as_str()))?, worker_index, bind_enable)
        });
        file.request(|control, PolicerBindV2 { policer_index, worker_index, bind_enable }| {
            bind(control, policer_index, worker_index, bind_enable)
        });
        file.dump(|control, PolicerDump { match_name_valid, match_name }| {
            details(control, move |_, name| !match_name_valid || name == match_name.as_str())
        });
        file.dump(|control, PolicerDumpV2 { policer_index }| {
            details(control, move |number, _| policer_index == NONE || policer_index == number)
        });
    });
}

/// Unit of rates.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sse2_qos_rate_type")]
#[repr(u8)]
enum RateType {
    /// Kilobits per second; bursts are in bytes.
    #[default]
    #[value("SSE2_QOS_RATE_API_KBPS")]
    Kbps = 0,
    /// Packets per second; bursts are in milliseconds.
    #[value("SSE2_QOS_RATE_API_PPS")]
    Pps = 1,
    /// Invalid.
    #[value("SSE2_QOS_RATE_API_INVALID")]
    Invalid = 2,
}

/// Rounding of rates, which has no effect here.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sse2_qos_round_type")]
#[repr(u8)]
enum RoundType {
    /// To the nearest value.
    #[default]
    #[value("SSE2_QOS_ROUND_API_TO_CLOSEST")]
    ToClosest = 0,
    /// Up.
    #[value("SSE2_QOS_ROUND_API_TO_UP")]
    ToUp = 1,
    /// Down.
    #[value("SSE2_QOS_ROUND_API_TO_DOWN")]
    ToDown = 2,
    /// Invalid.
    #[value("SSE2_QOS_ROUND_API_INVALID")]
    Invalid = 3,
}

/// Metering scheme.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sse2_qos_policer_type")]
#[repr(u8)]
enum PolicerType {
    /// One rate, two colors.
    #[default]
    #[value("SSE2_QOS_POLICER_TYPE_API_1R2C")]
    OneRateTwoColor = 0,
    /// One rate, three colors.
    #[value("SSE2_QOS_POLICER_TYPE_API_1R3C_RFC_2697")]
    OneRateThreeColor = 1,
    /// A committed and a peak rate.
    #[value("SSE2_QOS_POLICER_TYPE_API_2R3C_RFC_2698")]
    TwoRate2698 = 2,
    /// A committed and an excess rate.
    #[value("SSE2_QOS_POLICER_TYPE_API_2R3C_RFC_4115")]
    TwoRate4115 = 3,
    /// Those of MEF 5.
    #[value("SSE2_QOS_POLICER_TYPE_API_2R3C_RFC_MEF5CF1")]
    Mef5 = 4,
    /// None.
    #[value("SSE2_QOS_POLICER_TYPE_API_MAX")]
    Max = 5,
}

/// Action for packets of a color.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sse2_qos_action_type")]
#[repr(u8)]
enum ActionType {
    /// Packets are dropped.
    #[default]
    #[value("SSE2_QOS_ACTION_API_DROP")]
    Drop = 0,
    /// Packets are forwarded.
    #[value("SSE2_QOS_ACTION_API_TRANSMIT")]
    Transmit = 1,
    /// Packets are forwarded with another DSCP.
    #[value("SSE2_QOS_ACTION_API_MARK_AND_TRANSMIT")]
    MarkAndTransmit = 2,
}

/// The same, and the DSCP.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[wire(name = "sse2_qos_action")]
struct QosAction {
    r#type: ActionType,
    dscp: u8,
}

/// Rates, bursts, and what becomes of packets.
#[derive(Wire, Clone, Debug, Default, PartialEq, Eq)]
struct PolicerConfig {
    cir: u32,
    eir: u32,
    cb: u64,
    eb: u64,
    rate_type: RateType,
    round_type: RoundType,
    r#type: PolicerType,
    color_aware: bool,
    conform_action: QosAction,
    exceed_action: QosAction,
    violate_action: QosAction,
}

/// Adds a policer, or deletes the one of this name.
#[derive(Message, Clone, Debug)]
#[message(request, reply = PolicerAddDelReply)]
struct PolicerAddDel {
    is_add: bool,
    name: Text<64>,
    cir: u32,
    eir: u32,
    cb: u64,
    eb: u64,
    rate_type: RateType,
    round_type: RoundType,
    r#type: PolicerType,
    color_aware: bool,
    conform_action: QosAction,
    exceed_action: QosAction,
    violate_action: QosAction,
}

/// Index of the policer; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply)]
struct PolicerAddDelReply {
    policer_index: u32,
}

impl Default for PolicerAddDelReply {
    fn default() -> PolicerAddDelReply {
        PolicerAddDelReply { policer_index: NONE }
    }
}

/// Adds a policer of this name.
#[derive(Message, Clone, Debug)]
#[message(request, reply = PolicerAddReply)]
struct PolicerAdd {
    name: Text<64>,
    infos: PolicerConfig,
}

/// Index of the policer; 0xffffffff after an error.
#[derive(Message, Clone, Debug)]
#[message(reply)]
struct PolicerAddReply {
    policer_index: u32,
}

impl Default for PolicerAddReply {
    fn default() -> PolicerAddReply {
        PolicerAddReply { policer_index: NONE }
    }
}

/// Deletes the policer of this index.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PolicerDel {
    policer_index: u32,
}

/// Changes a policer and refills its buckets.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PolicerUpdate {
    policer_index: u32,
    infos: PolicerConfig,
}

/// Refills the buckets of a policer.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PolicerReset {
    policer_index: u32,
}

/// Names a worker for a policer; it has no effect, since all workers share the buckets.
#[derive(Message, Clone, Debug)]
#[message(request)]
struct PolicerBind {
    name: Text<64>,
    worker_index: u32,
    bind_enable: bool,
}

/// Names a worker for a policer by its index; it has no effect, since all workers share the buckets.
#[derive(Message, Clone, Debug)]
#[message(request, name = "policer_bind_v2")]
struct PolicerBindV2 {
    policer_index: u32,
    worker_index: u32,
    bind_enable: bool,
}

/// Dumps the policer of a name, or all policers.
#[derive(Message, Clone, Debug)]
#[message(dump, details = PolicerDetails)]
struct PolicerDump {
    match_name_valid: bool,
    match_name: Text<64>,
}

/// Dumps the policer of an index, or all if it is 0xffffffff.
#[derive(Message, Clone, Debug)]
#[message(dump, name = "policer_dump_v2", details = PolicerDetails)]
struct PolicerDumpV2 {
    policer_index: u32,
}

/// Describes one policer: its rates, bursts and actions. Fields about the state of its buckets are 0.
#[derive(Message, Clone, Debug, Default, PartialEq)]
#[message(details)]
struct PolicerDetails {
    name: Text<64>,
    cir: u32,
    eir: u32,
    cb: u64,
    eb: u64,
    rate_type: RateType,
    round_type: RoundType,
    r#type: PolicerType,
    conform_action: QosAction,
    exceed_action: QosAction,
    violate_action: QosAction,
    single_rate: bool,
    color_aware: bool,
    scale: u32,
    cir_tokens_per_period: u32,
    pir_tokens_per_period: u32,
    current_limit: u32,
    current_bucket: u32,
    extended_limit: u32,
    extended_bucket: u32,
    last_update_time: u64,
}

fn unknown(what: &str) -> Refusal {
    Refusal::new(Retval::NO_SUCH_ENTRY, format!("there is no policer {what}"))
}

fn named(control: &Control, number: u32) -> Result<String, Refusal> {
    let policers = control.room::<Policers>();
    policers.name(number).map(str::to_owned).ok_or_else(|| unknown(&number.to_string()))
}

fn policer(name: &str, infos: &PolicerConfig) -> Result<Policer, Refusal> {
    let wrong = |what: &str| Refusal::new(Retval::INVALID_VALUE, what.to_owned());
    let scheme = match infos.r#type {
        PolicerType::OneRateTwoColor => Scheme::OneRateTwoColor,
        PolicerType::OneRateThreeColor => Scheme::OneRateThreeColor,
        PolicerType::TwoRate2698 => Scheme::TwoRate2698,
        PolicerType::TwoRate4115 => Scheme::TwoRate4115,
        PolicerType::Mef5 | PolicerType::Max => return Err(wrong("type: policers of MEF 5 are not there")),
    };
    let unit = match infos.rate_type {
        RateType::Kbps => RateUnit::Kbps,
        RateType::Pps => RateUnit::Pps,
        RateType::Invalid => return Err(wrong("rate_type: name kbps or pps")),
    };
    if infos.color_aware {
        return Err(wrong("color_aware: policers are color-blind"));
    }
    let action = |action: &QosAction| match action.r#type {
        ActionType::Drop => Ok(Action::Drop),
        ActionType::Transmit => Ok(Action::Transmit),
        ActionType::MarkAndTransmit if action.dscp < 64 => Ok(Action::Mark(action.dscp)),
        ActionType::MarkAndTransmit => Err(wrong("dscp: give 0 to 63")),
    };
    let PolicerConfig { cir, eir, cb, eb, .. } = *infos;
    Ok(Policer {
        scheme,
        unit,
        cir,
        eir,
        cb,
        eb,
        conform_action: action(&infos.conform_action)?,
        exceed_action: action(&infos.exceed_action)?,
        violate_action: action(&infos.violate_action)?,
        ..Policer::new(name.to_owned())
    })
}

/// Adds a policer; its number.
fn add(control: &Control, policer: Policer) -> Result<u32, Refusal> {
    let name = policer.name.clone();
    if control.room::<Policers>().number(&name).is_some() {
        return Err(Refusal::new(Retval::VALUE_EXIST, format!("name: there is a policer {name}")));
    }
    let refused = |error: quiver_control::ObjectError| Refusal::new(Retval::INVALID_VALUE, error.to_string());
    control.put(policer).map_err(refused)?;
    let number = control.room::<Policers>().number(&name);
    number.ok_or_else(|| unknown(&name))
}

fn policer_add_del(control: &Control, request: PolicerAddDel) -> Result<PolicerAddDelReply, Refusal> {
    let name = request.name.as_str().to_owned();
    if !request.is_add {
        if control.room::<Policers>().number(&name).is_none() {
            return Err(unknown(&name));
        }
        control.delete::<Policer>(&name)?;
        return Ok(PolicerAddDelReply::default());
    }
    let PolicerAddDel { cir, eir, cb, eb, rate_type, round_type, r#type, color_aware, .. } = request;
    let PolicerAddDel { conform_action, exceed_action, violate_action, .. } = request;
    let infos = PolicerConfig {
        cir,
        eir,
        cb,
        eb,
        rate_type,
        round_type,
        r#type,
        color_aware,
        conform_action,
        exceed_action,
        violate_action,
    };
    let policer_index = add(control, policer(&name, &infos)?)?;
    Ok(PolicerAddDelReply { policer_index })
}

fn bind(control: &Control, policer: u32, worker: u32, enable: bool) -> Result<(), Refusal> {
    named(control, policer)?;
    let workers = control.room::<Dataplane>().workers();
    if enable && worker as usize >= workers {
        return Err(Refusal::new(INVALID_WORKER, format!("worker_index: there are {workers} workers")));
    }
    Ok(())
}

fn details<W: Fn(u32, &str) -> bool>(
    control: &Control,
    is_wanted: W,
) -> impl Iterator<Item = Option<PolicerDetails>> + use<W> {
    let control = control.clone();
    Policers::walk(&control.clone()).map(move |(number, name): (u32, String)| {
        let policer = control.objects().get::<Policer>(&name).filter(|_| is_wanted(number, &name))?;
        let r#type = match policer.scheme {
            Scheme::OneRateTwoColor => PolicerType::OneRateTwoColor,
            Scheme::OneRateThreeColor => PolicerType::OneRateThreeColor,
            Scheme::TwoRate2698 => PolicerType::TwoRate2698,
            Scheme::TwoRate4115 => PolicerType::TwoRate4115,
        };
        let action = |action| match action {
            Action::Drop => QosAction::default(),
            Action::Transmit => QosAction { r#type: ActionType::Transmit, dscp: 0 },
            Action::Mark(dscp) => QosAction { r#type: ActionType::MarkAndTransmit, dscp },
        };
        Some(PolicerDetails {
            name: name.into(),
            cir: policer.cir,
            eir: policer.eir,
            cb: policer.cb,
            eb: policer.eb,
            rate_type: if policer.unit == RateUnit::Pps { RateType::Pps } else { RateType::Kbps },
            r#type,
            conform_action: action(policer.conform_action),
            exceed_action: action(policer.exceed_action),
            violate_action: action(policer.violate_action),
            single_rate: matches!(policer.scheme, Scheme::OneRateTwoColor | Scheme::OneRateThreeColor),
            ..PolicerDetails::default()
        })
    })
}

#[cfg(test)]
mod tests;
