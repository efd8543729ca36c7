//! Every reason for which a node of the daemon may drop a packet is reached by some golden scenario, and its room says which
//! object decides it, or why none does.
//!
//! Scenarios state all drops that they cause and fail if one is missing, so their `drop` lines are the proof. What none can
//! reach is listed, with the test that does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use quiver_engine::{Dataplane, To};
use quiver_interface::{has_decider, why_undecided};
use quiver_testkit::golden;

/// A reason that no scenario can reach: why not, and the test that reaches it.
struct Exception {
    node: &'static str,
    reason: &'static str,
    why: &'static str,
    file: &'static str,
    test: &'static str,
}

const fn except(
    (node, reason): (&'static str, &'static str),
    why: &'static str,
    file: &'static str,
    test: &'static str,
) -> Exception {
    Exception { node, reason, why, file, test }
}

const EXCEPTIONS: [Exception; 81] = [
    except(
        ("dispatch", "interface-gone"),
        "the workers of a scenario leave nothing in their rings",
        "engine/core/tests/all/handoff.rs",
        "what_is_on_its_way_from_an_interface_that_goes_is_dropped_even_if_its_number_comes_back",
    ),
    except(
        ("dispatch", "too-many-passes"),
        "no configuration lets packets circle",
        "engine/core/tests/all/handoff.rs",
        "what_circles_is_dropped_by_name",
    ),
    except(
        ("worker-handoff", "handoff-full"),
        "all workers of a scenario keep up",
        "scenarios/tests/all/workers.rs",
        "a_worker_that_does_not_keep_up_is_named",
    ),
    except(("interface-output", "bad-offload"), NO_OFFLOADS, "engine/core/tests/all/offload.rs", UNSENT),
    except(("interface-output", "no-buffer"), NO_OFFLOADS, "engine/core/tests/all/offload.rs", UNSENT),
    except(
        ("ip6-rewrite", "cannot-be-fragmented"),
        "nothing that we send has headers that each fragment would need",
        "features/ip/tests/all/offload.rs",
        "what_each_fragment_of_ours_would_need_is_not_cut",
    ),
    except(("ip6-rewrite-mcast", "cannot-be-fragmented"), UNCUT, "features/mfib/tests/uncut.rs", TOLD),
    except(("ip6-via-ip4", "cannot-be-fragmented"), UNCUT, "features/ip/tests/all/crossing.rs", CROSSING),
    except(("ip6-via-ip4", "no-buffers"), UNCUT, "features/ip/tests/all/crossing.rs", CROSSING),
    except(("ip6-rewrite-mcast", "no-buffers"), UNCUT, "features/mfib/tests/uncut.rs", TOLD),
    except(("af-packet-input", "no-buffer"), OF_LINUX, "drivers/af-packet/tests/namespaces.rs", UNBUFFERED),
    except(
        ("af-packet-input", "ring-full"),
        OF_LINUX,
        "drivers/af-packet/tests/namespaces.rs",
        "what_finds_the_ring_full_is_dropped_by_name",
    ),
    except(
        ("af-packet-input", "truncated"),
        OF_LINUX,
        "drivers/af-packet/tests/namespaces.rs",
        "what_the_ring_holds_in_part_is_dropped_by_name",
    ),
    except(
        ("interface-output", "tx-too-long"),
        "the generator sends packets of any length",
        "drivers/af-packet/tests/mtu/mod.rs",
        "what_is_too_long_for_linux_is_dropped_by_name",
    ),
    except(
        ("memif-input", "truncated"),
        "no peer of a scenario breaks the rules",
        "drivers/memif/tests/all/hostile.rs",
        "packets_that_lie_nowhere_are_dropped_by_name",
    ),
    except(("tap-input", "no-buffer"), OF_LINUX, "drivers/tap/tests/namespaces.rs", UNBUFFERED),
    except(("udp-encap-ip4", "not-completed"), NO_OFFLOADS, "features/udp-encap/tests/offload.rs", INSIDE),
    except(("udp-encap-ip6", "not-completed"), NO_OFFLOADS, "features/udp-encap/tests/offload.rs", INSIDE),
    except(("vxlan4-encap", "not-completed"), NO_OFFLOADS, "features/tunnel/tests/all/offload.rs", INSIDE),
    except(("vxlan6-encap", "not-completed"), NO_OFFLOADS, "features/tunnel/tests/all/offload.rs", INSIDE),
    except(("geneve4-encap", "not-completed"), NO_OFFLOADS, "features/tunnel/tests/all/offload.rs", INSIDE),
    except(("geneve6-encap", "not-completed"), NO_OFFLOADS, "features/tunnel/tests/all/offload.rs", INSIDE),
    except(("ip4-reassembly", "too-many-fragments"), MANY, "features/reassembly/tests/all/limits.rs", PARTS),
    except(("ip6-reassembly", "too-many-fragments"), MANY, "features/reassembly/tests/all/limits.rs", PARTS),
    except(("ip4-reassembly", "handoff-full"), BEHIND, "features/reassembly/tests/all/workers.rs", NAMED),
    except(("ip4-full-reassembly-feature", "handoff-full"), BEHIND, "features/reassembly/tests/all/workers.rs", NAMED),
    except(("ip4-sv-reassembly-feature", "handoff-full"), BEHIND, "features/reassembly/tests/all/workers.rs", NAMED),
    except(("ip6-reassembly", "handoff-full"), BEHIND, "features/reassembly/tests/all/workers.rs", NAMED),
    except(("ip6-full-reassembly-feature", "handoff-full"), BEHIND, "features/reassembly/tests/all/workers.rs", NAMED),
    except(("ip6-sv-reassembly-feature", "handoff-full"), BEHIND, "features/reassembly/tests/all/workers.rs", NAMED),
    except(("sfdp-lookup-ip4", "handoff-full"), BEHIND, "features/session/tests/all/limits.rs", NAMED),
    except(("sfdp-lookup-ip6", "handoff-full"), BEHIND, "features/session/tests/all/limits.rs", NAMED),
    except(("sample-ip4-parser", "handoff-full"), BEHIND, "features/session/tests/all/limits.rs", NAMED),
    except(("nat44-ed-input", "handoff-full"), BEHIND, "features/nat/tests/all/limits.rs", NAMED),
    except(("nat44-ed-input", "session-table-full"), MANY, "features/nat/tests/all/limits.rs", NAT_FULL),
    except(("nat44-ed-output", "session-table-full"), MANY, "features/nat/tests/all/limits.rs", NAT_FULL),
    except(("sfdp-lookup-ip4", "session-table-full"), MANY, "features/session/tests/all/limits.rs", FULL),
    except(("sfdp-lookup-ip6", "session-table-full"), MANY, "features/session/tests/all/limits.rs", FULL),
    except(("sample-ip4-parser", "session-table-full"), MANY, "features/session/tests/all/limits.rs", FULL),
    except(("acl-input-ip4", "session-table-full"), MANY, "features/acl/tests/levels/limits.rs", ACL_FULL),
    except(("acl-input-ip6", "session-table-full"), MANY, "features/acl/tests/levels/limits.rs", ACL_FULL),
    except(("acl-input-l2", "session-table-full"), MANY, "features/acl/tests/levels/limits.rs", ACL_FULL),
    except(("acl-output-ip4", "session-table-full"), MANY, "features/acl/tests/levels/limits.rs", ACL_FULL),
    except(("acl-output-ip6", "session-table-full"), MANY, "features/acl/tests/levels/limits.rs", ACL_FULL),
    except(("acl-output-l2", "session-table-full"), MANY, "features/acl/tests/levels/limits.rs", ACL_FULL),
    except(("sfdp-lookup-ip4", "session-quota"), MANY, "features/session/tests/all/limits.rs", QUOTA),
    except(("sfdp-lookup-ip6", "session-quota"), MANY, "features/session/tests/all/limits.rs", QUOTA),
    except(("sample-ip4-parser", "session-quota"), MANY, "features/session/tests/all/limits.rs", QUOTA),
    except(("sfdp-create", "session-table-full"), MANY, "features/session/tests/all/limits.rs", FULL),
    except(
        ("sfdp-syn-cookie", "sfdp-drop"),
        "a tenant whose chain drops all packets sends none there",
        "features/session/tests/all/cookies.rs",
        "where_all_packets_are_dropped_no_syn_is_answered",
    ),
    except(
        ("sfdp-syn-proxy", "no-buffers"),
        "it takes buffers for the packets before, and none for those that the answer becomes",
        "features/session/tests/all/cookies.rs",
        "without_a_buffer_an_answer_of_the_server_is_dropped_by_name",
    ),
    except(("sfdp-lookup-ip4", "session-source-quota"), MANY, "features/session/tests/all/limits.rs", SOURCE_QUOTA),
    except(("sfdp-lookup-ip6", "session-source-quota"), MANY, "features/session/tests/all/limits.rs", SOURCE_QUOTA),
    except(("sample-ip4-parser", "session-source-quota"), MANY, "features/session/tests/all/limits.rs", SOURCE_QUOTA),
    except(("ip4-punt-listener", "punt-queue-full"), MANY, "features/punt/tests/all/sockets.rs", UNHEARD),
    except(("ip6-punt-listener", "punt-queue-full"), MANY, "features/punt/tests/all/sockets.rs", UNHEARD),
    except(("ip4-punt-echo-reply", "punt-queue-full"), MANY, "features/punt/tests/all/sockets.rs", UNHEARD),
    except(("ip6-punt-echo-reply", "punt-queue-full"), MANY, "features/punt/tests/all/sockets.rs", UNHEARD),
    except(("punt-socket-rx", "too-short"), PROGRAMS, "features/punt/tests/all/programs.rs", IMPOSSIBLE),
    except(("punt-socket-rx", "too-long"), PROGRAMS, "features/punt/tests/all/programs.rs", IMPOSSIBLE),
    except(("punt-socket-rx", "unknown-action"), PROGRAMS, "features/punt/tests/all/programs.rs", IMPOSSIBLE),
    except(("punt-socket-rx", "no-such-interface"), PROGRAMS, "features/punt/tests/all/programs.rs", IMPOSSIBLE),
    except(("punt-socket-rx", "bad-header"), PROGRAMS, "features/punt/tests/all/programs.rs", IMPOSSIBLE),
    except(
        ("tap-input", "receive-error"),
        OF_NO_LINUX,
        "drivers/tap/src/queue.rs",
        "an_error_that_passes_is_counted_and_the_queue_lives_on",
    ),
    except(
        ("tap-input", "truncated"),
        OF_NO_LINUX,
        "drivers/tap/src/queue.rs",
        "what_is_no_whole_packet_is_dropped_by_name",
    ),
    except(
        ("snort-ip4-input", "inspector-full"),
        ALONE,
        INSPECTED,
        "packets_without_a_slot_are_dropped_and_counted_apart",
    ),
    except(
        ("snort-ip4-input", "denied-flow"),
        ALONE,
        INSPECTED,
        "flows_pass_the_inspector_by_after_a_verdict_about_them",
    ),
    except(
        ("snort-ip6-input", "inspector-full"),
        ALONE,
        INSPECTED,
        "packets_without_a_slot_are_dropped_and_counted_apart",
    ),
    except(
        ("snort-ip6-input", "denied-flow"),
        ALONE,
        INSPECTED,
        "flows_pass_the_inspector_by_after_a_verdict_about_them",
    ),
    except(
        ("snort-ip4-output", "inspector-full"),
        ALONE,
        INSPECTED,
        "packets_without_a_slot_are_dropped_and_counted_apart",
    ),
    except(
        ("snort-ip4-output", "denied-flow"),
        ALONE,
        INSPECTED,
        "flows_pass_the_inspector_by_after_a_verdict_about_them",
    ),
    except(
        ("snort-ip6-output", "inspector-full"),
        ALONE,
        INSPECTED,
        "packets_without_a_slot_are_dropped_and_counted_apart",
    ),
    except(
        ("snort-ip6-output", "denied-flow"),
        ALONE,
        INSPECTED,
        "flows_pass_the_inspector_by_after_a_verdict_about_them",
    ),
    except(
        ("snort-deq", "verdict-drop"),
        ALONE,
        INSPECTED,
        "packets_of_both_families_and_directions_pass_or_are_dropped_by_verdict",
    ),
    except(
        ("snort-deq", "inspector-lost"),
        ALONE,
        INSPECTED,
        "packets_that_an_inspector_holds_when_it_dies_pass_or_are_dropped",
    ),
    except(
        ("snort-deq", "interface-gone"),
        ALONE,
        INSPECTED,
        "verdicts_that_come_when_the_interface_has_gone_are_late",
    ),
    except(
        ("snort-deq", "session-gone"),
        ALONE,
        INSPECTED_SESSIONS,
        "verdicts_that_come_when_the_session_has_ended_are_late",
    ),
    except(
        ("sfdp-inspect", "inspector-full"),
        ALONE,
        INSPECTED_SESSIONS,
        "packets_of_sessions_without_a_slot_are_dropped_and_counted_apart",
    ),
    except(
        ("sfdp-inspect", "denied-flow"),
        ALONE,
        INSPECTED_SESSIONS,
        "a_session_keeps_the_decision_about_it_as_long_as_its_inspector_is_attached",
    ),
    except(
        ("sfdp-inspect-next", "sfdp-drop"),
        ALONE,
        INSPECTED_SESSIONS,
        "where_a_chain_ends_with_inspection_packets_are_dropped_behind_it",
    ),
    except(
        ("snort-deq", "bad-verdict"),
        ALONE,
        "features/snort/tests/all/hostile.rs",
        "numbers_that_were_not_offered_are_counted_and_nothing_else",
    ),
];
const ALONE: &str = "no inspector attaches to a scenario";
const INSPECTED: &str = "features/snort/tests/all/packets.rs";
const INSPECTED_SESSIONS: &str = "features/snort/tests/all/sessions.rs";
const MANY: &str = "it takes more packets than a scenario has";
const BEHIND: &str = "all workers of a scenario keep up";
const FULL: &str = "a_full_table_refuses_new_sessions_by_name_and_keeps_the_others";
const QUOTA: &str = "a_tenant_has_no_more_sessions_than_its_quota";
const SOURCE_QUOTA: &str = "a_source_has_no_more_sessions_than_its_quota_on_all_workers_together";
const ACL_FULL: &str = "what_would_begin_a_session_in_a_full_table_is_dropped_by_name";
const NAT_FULL: &str = "a_full_table_refuses_new_sessions_by_name";
const NAMED: &str = "a_worker_that_does_not_keep_up_is_named";
const PROGRAMS: &str = "no program of a scenario sends packets";
const IMPOSSIBLE: &str = "what_cannot_be_is_dropped_by_name";
const UNHEARD: &str = "control_that_does_not_keep_up_is_named";
const PARTS: &str = "a_packet_has_64_parts_at_most";
const NO_OFFLOADS: &str = "the generator makes no offloads to be completed";
const INSIDE: &str = "what_cannot_be_completed_is_dropped_by_name";
const UNSENT: &str = "what_cannot_be_sent_is_dropped_by_name";
const UNCUT: &str = "a router cuts no packet of IPv6; the node has what cuts in common with that of IPv4";
const CROSSING: &str = "no_packet_of_ip6_is_cut_on_a_way_by_ip4";
const TOLD: &str = "no_packet_for_a_group_of_ip6_is_cut";
const OF_LINUX: &str = "its packets come from Linux";
const UNBUFFERED: &str = "what_finds_no_buffer_is_dropped_by_name";
const OF_NO_LINUX: &str = "no Linux does so: a socket stands for it";

impl Exception {
    /// Error text, if its test is missing or does not name the reason.
    fn problem(&self, root: &Path) -> Option<String> {
        let Exception { node, reason, why, file, test } = self;
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        match body(&text, test) {
            None => Some(format!("{node} {reason} ({why}): there is no test {test} in {file}\n")),
            Some(body) if !body.contains(&format!("\"{reason}\"")) => {
                Some(format!("{node} {reason} ({why}): {test} in {file} says nothing of it\n"))
            }
            Some(_) => None,
        }
    }
}

/// The body of a test: of the function of this name, or of that which a list of trials has under this name.
fn body<'t>(text: &'t str, test: &str) -> Option<&'t str> {
    let listed = format!("(\"{test}\", ");
    let function = match text.split_once(&listed) {
        Some((_, behind)) => behind.split_once(')')?.0,
        None => test,
    };
    let (before, behind) = text.split_once(&format!("fn {function}("))?;
    let indent = before.rsplit('\n').next()?;
    behind.split_once(&format!("\n{indent}}}")).map(|(body, _)| body)
}

/// The reasons of all nodes, as (node, reason).
fn catalogue() -> BTreeSet<(String, String)> {
    let daemon = quiver_scenarios::daemon("");
    let dataplane = daemon.control().room::<Dataplane>();
    let graph = dataplane.graph();
    let drops = |node| {
        let dropped = graph.arcs(node).iter().filter(|arc| arc.to == To::Drop);
        dropped.map(move |arc| (graph.name(node).to_owned(), arc.name.to_owned()))
    };
    graph.nodes().flat_map(drops).collect()
}

#[test]
fn every_reason_has_somebody_who_answers_for_it() {
    let daemon = quiver_scenarios::daemon("");
    let control = daemon.control();
    let dataplane = control.room::<Dataplane>();
    let graph = dataplane.graph();
    let mut unanswered = vec![];
    for node in graph.nodes() {
        let answers = has_decider(control, node);
        for (arc, spec) in (0..).zip(graph.arcs(node)).filter(|(_, spec)| spec.is_drop()) {
            if !answers && why_undecided(control, node, arc).is_none() {
                unanswered.push(format!("{} drops for `{}`", graph.name(node), spec.name));
            }
        }
    }
    // A feature is there because it is configured, so it has an object.
    for (_, features) in graph.feature_arcs() {
        for name in features.iter().map(|(feature, _)| feature.node) {
            let node = graph.find(name).expect("it is a node");
            if graph.arcs(node).len() > 1 && !has_decider(control, node) {
                unanswered.push(format!("the feature {name} chooses"));
            }
        }
    }
    assert!(
        unanswered.is_empty(),
        "nobody says what decides; see quiver_interface::deciding:\n{}",
        unanswered.join("\n")
    );
}

#[test]
fn every_reason_is_reached() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    let mut reached = BTreeSet::new();
    for folder in ["engine", "features", "drivers", "scenarios"] {
        for file in golden::scenarios_below(&root.join(folder)).expect("the folder is there") {
            reached.extend(golden::reached(&fs::read_to_string(file).expect("a scenario is text")));
        }
    }
    let catalogue = catalogue();
    assert!(catalogue.len() > 20, "the catalogue has only {} reasons", catalogue.len());
    let excepted: BTreeSet<_> =
        EXCEPTIONS.iter().map(|except| (except.node.to_owned(), except.reason.to_owned())).collect();
    let list = |title: &str, reasons: Vec<&(String, String)>| match reasons.is_empty() {
        true => String::new(),
        false => reasons.iter().fold(format!("{title}\n"), |text, (node, reason)| format!("{text}  {node} {reason}\n")),
    };
    let problems = [
        list(
            "no scenario reaches:",
            catalogue.difference(&reached).filter(|found| !excepted.contains(*found)).collect(),
        ),
        list("excepted, but there is no such reason:", excepted.difference(&catalogue).collect()),
        list("excepted, but a scenario reaches it:", excepted.intersection(&reached).collect()),
        EXCEPTIONS.iter().filter_map(|except| except.problem(root)).collect(),
    ]
    .concat();
    assert!(problems.is_empty(), "\n{problems}");
}
