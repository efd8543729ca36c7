//! VPP's plugins by name, with Quiver's replacements.

use super::error::Severity;
use super::given::GivenValues;
use super::grammar::Item;

/// Plugins of VPP whose work a room of Quiver does, and where it is done.
pub const AT_HOME: &[(&str, &str)] = &[
    ("abf_plugin.so", "`abf policy`"),
    ("acl_plugin.so", "`set acl-plugin`"),
    ("af_packet_plugin.so", "`create host-interface`"),
    ("arping_plugin.so", "announcements and probes of neighbours"),
    ("bufmon_plugin.so", "`show buffers`"),
    ("dispatch_trace_plugin.so", "`pcap dispatch trace`"),
    ("geneve_plugin.so", "`create geneve tunnel`"),
    ("l3xc_plugin.so", "`l3xc`"),
    ("memif_plugin.so", "`create interface memif`"),
    ("mss_clamp_plugin.so", "`set interface tcp-mss-clamp`"),
    ("ping_plugin.so", "`ping`"),
    ("policer_plugin.so", "`policer add`, for punted packets"),
    ("sfdp_services_plugin.so", "`sfdp tenant`"),
    ("sfdp_services_sample_plugin.so", "`set sfdp sample-parser`"),
    ("tap_plugin.so", "`create tap`"),
    ("tracedump_plugin.so", "`show trace`"),
    ("urpf_plugin.so", "`set urpf`"),
    ("vxlan_plugin.so", "`create vxlan tunnel`"),
];

/// Notes the disposition of `plugin <name> { enable | disable }`.
pub(super) fn told(name: &str, given: &GivenValues, notes: &mut Vec<(Severity, String)>) {
    let words = given.block().map(|block| block.items.as_slice()).unwrap_or_default();
    let is_disabled = words.iter().any(|item| matches!(item, Item::Word(word) if word.text == "disable"));
    for item in words {
        match item {
            Item::Word(word) if ["enable", "disable", "skip-version-check"].contains(&word.text.as_str()) => {}
            other => {
                let what = format!("plugin {name}: '{}' is not known, and was left out", other.excerpt());
                notes.push((Severity::Warning, what));
            }
        }
    }
    let at_home = AT_HOME.iter().find(|(plugin, _)| *plugin == name).map(|(_, room)| room);
    notes.extend(match (name, is_disabled, at_home) {
        ("default", ..) => Some((Severity::Info, "plugin default: what Quiver has is always there".to_owned())),
        (_, false, Some(room)) => Some((Severity::Info, format!("plugin {name}: Quiver has {room}"))),
        (_, true, Some(room)) => Some((Severity::Info, format!("plugin {name}: Quiver has {room}, and always does"))),
        (_, false, None) => Some((Severity::Warning, format!("plugin {name}: Quiver has nothing in its place"))),
        (_, true, None) => None,
    });
}

#[cfg(test)]
mod tests {
    use super::super::{Source, Startup};
    use super::*;

    #[test]
    fn plugins_are_never_fatal() {
        let notes = |text: &str| {
            let mut startup = Startup::default();
            startup.read(Source::CommandLine, &format!("plugins {{ {text} }}")).unwrap();
            startup.notes.iter().map(|note| (note.severity, note.text.clone())).collect::<Vec<_>>()
        };
        assert_eq!(notes("plugin dpdk_plugin.so { disable } plugin x.so {disable}"), []);
        let told = notes("plugin nat_plugin.so {enable} plugin memif_plugin.so { enable skip-version-check }");
        assert_eq!((told[0].0, told[1].0, told.len()), (Severity::Warning, Severity::Info, 2));
        assert!(told[0].1.contains("plugin nat_plugin.so: Quiver has nothing in its place"), "{}", told[0].1);
        assert!(notes("plugin x.so { disable frob }")[0].1.contains("'frob' is not known"));
    }
}
