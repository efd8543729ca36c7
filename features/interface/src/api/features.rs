//! VPP's messages about features of interfaces: `feature.api`.

use quiver_compat::types::InterfaceIndex;
use quiver_compat::{Message, Refusal, Retval, Text};
use quiver_control::Control;
use quiver_engine::Dataplane;

use super::find;

pub(super) fn register(control: &Control) {
    quiver_compat::add(control, "feature", (1, 0, 2), |file| file.request(is_enabled));
}

/// Asks whether a feature of an arc is enabled on an interface.
#[derive(Message, Clone, Debug)]
#[message(request, reply = FeatureIsEnabledReply)]
pub(super) struct FeatureIsEnabled {
    pub arc_name: Text<64>,
    pub feature_name: Text<64>,
    pub sw_if_index: InterfaceIndex,
}

/// Tells whether the feature is enabled. Here `retval` stands behind the client's index.
#[derive(Message, Clone, Debug, Default)]
#[message(addressed)]
pub(super) struct FeatureIsEnabledReply {
    pub retval: i32,
    pub is_enabled: bool,
}

fn is_enabled(control: &Control, request: FeatureIsEnabled) -> Result<FeatureIsEnabledReply, Refusal> {
    let FeatureIsEnabled { arc_name, feature_name, sw_if_index } = request;
    let interface = find(control, sw_if_index)?;
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let unknown = |what: &str| Refusal::new(Retval::INVALID_VALUE, what.to_owned());
    let (_, features) = graph
        .feature_arcs()
        .find(|(arc, _)| arc.name == arc_name.as_str())
        .ok_or_else(|| unknown(&format!("arc_name: there is no feature arc {}", arc_name.as_str())))?;
    let (_, place) =
        features.into_iter().find(|(feature, _)| feature.node == feature_name.as_str()).ok_or_else(|| {
            unknown(&format!("feature_name: arc {} has no feature {}", arc_name.as_str(), feature_name.as_str()))
        })?;
    Ok(FeatureIsEnabledReply { retval: 0, is_enabled: graph.is_enabled_on(place, interface.id.0) })
}
