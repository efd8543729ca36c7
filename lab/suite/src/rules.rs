//! Combinations of fields that cannot be measured.

use crate::field::{
    Buffers, Device, Driver, Encap, Feature, Frame, Function, Keyword, Load, Pace, Scale, Search, Shape, Window,
};
use crate::{Case, bgp};

/// Two fields that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The field that is wrong where the other one is as it is.
    pub field: &'static str,
    /// The other one.
    pub other: &'static str,
    /// The contradicted value.
    pub what: String,
    /// The remedy.
    pub remedy: &'static str,
}

/// The first contradiction of a case.
pub fn contradiction(case: &Case) -> Option<Contradiction> {
    let Case {
        function, scale, shape, encap, device, driver, buffers, frame, cores, pace, search, load, window, ..
    } = *case;
    let with_driver = |remedy| clash(Driver::FIELD, driver.word(), Device::FIELD, device.word(), remedy);
    match (device, driver) {
        (Device::Linux, Driver::Memif | Driver::Pg) => {
            return with_driver("the kernel is joined by 'tap' or 'veth'; give it a suite of its own");
        }
        (Device::Testpmd, Driver::Pg) => return with_driver("testpmd is joined by 'memif', 'tap' or 'veth'"),
        _ => {}
    }
    if buffers == Buffers::ZeroCopy && driver != Driver::Memif {
        let remedy = "only memif can do without a copy: 'copied', or driver 'memif'";
        return clash(Buffers::FIELD, buffers.word(), Driver::FIELD, driver.word(), remedy);
    }
    let with_function = |remedy| clash(Function::FIELD, function.word(), Device::FIELD, device.word(), remedy);
    match (device, function) {
        (Device::Testpmd, Function::Bridge | Function::Ip4 | Function::Ip6) => {
            return with_function("testpmd only passes frames on: 'l2xc'");
        }
        (Device::Linux, Function::CrossConnect) => {
            return with_function("the kernel has no cross-connect: 'l2bd', 'ip4' or 'ip6'");
        }
        _ => {}
    }
    if device == Device::Testpmd && encap != Encap::Eth {
        return clash(Encap::FIELD, encap.word(), Device::FIELD, device.word(), "testpmd looks at no tags: 'eth'");
    }
    if device == Device::Linux && cores != 1 {
        let remedy = "the kernel chooses its cores itself; one is set aside for it: 1";
        return clash("cores", &cores.to_string(), Device::FIELD, device.word(), remedy);
    }
    let is_too_short = match frame {
        Frame::Bytes(bytes) => bytes < Frame::BYTES_MIN_IP6,
        Frame::Imix => true,
    };
    if function == Function::Ip6 && is_too_short {
        let (frame, remedy) = (frame.to_string(), "packets of IPv6 have 78 bytes and more here, as CSIT's: 78 to 9000");
        return clash("frame", frame.trim_end_matches('b'), Function::FIELD, function.word(), remedy);
    }
    if function == Function::CrossConnect && scale != Scale::Base {
        let remedy = "a cross-connect has no table: 'base'";
        return clash("scale", &scale.to_string(), Function::FIELD, function.word(), remedy);
    }
    if shape != Shape::Dense && !function.is_routing() {
        let remedy = "only routes have prefixes: 'dense', or function 'ip4' or 'ip6'";
        return clash(Shape::FIELD, shape.word(), Function::FIELD, function.word(), remedy);
    }
    if shape == Shape::Bgp && !matches!(scale, Scale::Entries(bgp::ROUTES_MIN..=bgp::ROUTES_MAX)) {
        let remedy = "so many routes have no such shape: 'dense', or 1k to 2m";
        return clash(Shape::FIELD, shape.word(), "scale", &scale.to_string(), remedy);
    }
    let is_net = |scale| matches!(scale, Scale::Entries(entries) if entries > 1 && entries.is_power_of_two());
    if shape == Shape::Net && !is_net(scale) {
        let remedy = "a network has a power of two of addresses: 'dense', or such as 512 or 131072";
        return clash(Shape::FIELD, shape.word(), "scale", &scale.to_string(), remedy);
    }
    if let Some(contradiction) = of_feature(case) {
        return Some(contradiction);
    }
    match (device, pace) {
        (Device::Linux, Pace::Polling | Pace::Adaptive) => {
            return clash(Pace::FIELD, pace.word(), Device::FIELD, device.word(), "the kernel has its own: 'own'");
        }
        (Device::Testpmd, Pace::Adaptive) => {
            return clash(Pace::FIELD, pace.word(), Device::FIELD, device.word(), "testpmd polls: 'polling' or 'own'");
        }
        _ => {}
    }
    if (device, driver, pace) == (Device::Vpp, Driver::Veth, Pace::Adaptive) {
        let remedy = "VPP's host interfaces have no adaptive rx-mode: 'polling', or driver 'memif' or 'tap'";
        return clash(Pace::FIELD, pace.word(), Driver::FIELD, driver.word(), remedy);
    }
    match (search, load) {
        (Search::Power, None) => {
            return clash(
                Search::FIELD,
                search.word(),
                "load",
                "none",
                "its load is the same all the time: give 'load'",
            );
        }
        (Search::Power | Search::Endurance, _) | (_, None) => {}
        (_, Some(Load(mbit))) => {
            let remedy = "a search finds its load itself: leave 'load' out, or give it to 'power' or 'endurance'";
            return clash("load", &mbit.to_string(), Search::FIELD, search.word(), remedy);
        }
    }
    if let Some(Window(packets)) = window.filter(|_| search != Search::ClosedLoop) {
        let remedy = "only a closed loop has one: leave 'window' out, or give it to 'closedloop'";
        return clash("window", &packets.to_string(), Search::FIELD, search.word(), remedy);
    }
    if driver == Driver::Pg && search != Search::Mrr {
        let remedy = "the device's own generator sends as fast as it can: 'mrr'";
        return clash(Search::FIELD, search.word(), Driver::FIELD, driver.word(), remedy);
    }
    if search == Search::ClosedLoop && driver != Driver::Memif {
        let remedy = "a window of packets circles through shared memory: driver 'memif'";
        return clash(Search::FIELD, search.word(), Driver::FIELD, driver.word(), remedy);
    }
    if search == Search::Latency && frame == Frame::Imix {
        let remedy = "latency depends on the size: give sizes in bytes";
        return clash(Search::FIELD, search.word(), "frame", "imix", remedy);
    }
    if search == Search::SpeedUp && cores < 2 {
        let remedy = "it begins with one core and ends with these: 2 or more";
        return clash(Search::FIELD, search.word(), "cores", &cores.to_string(), remedy);
    }
    if search == Search::Reconf && !function.is_routing() {
        let remedy = "routes are what is added under load: function 'ip4' or 'ip6'";
        return clash(Search::FIELD, search.word(), Function::FIELD, function.word(), remedy);
    }
    None
}

/// The first contradiction of what the device does beside its function.
fn of_feature(case: &Case) -> Option<Contradiction> {
    let Case { function, scale, shape, feature, device, .. } = *case;
    let with = |other, by: &str, remedy| clash(Feature::FIELD, feature.word(), other, by, remedy);
    match (feature, device) {
        (Feature::None, _) | (Feature::MacSwap, Device::Testpmd) => return None,
        (Feature::MacSwap, _) => {
            return with(Device::FIELD, device.word(), "testpmd alone swaps addresses: 'none', or device 'testpmd'");
        }
        (Feature::Conntrack, Device::Linux) if function.is_routing() => return None,
        (Feature::Conntrack, Device::Quiver | Device::Vpp) => {
            return with(
                Device::FIELD,
                device.word(),
                "the kernel alone tracks connections: 'none', or device 'linux'",
            );
        }
        (_, Device::Testpmd | Device::Linux) => {
            return with(Device::FIELD, device.word(), "it is not told to: 'none', or device 'quiver' or 'vpp'");
        }
        (_, Device::Quiver | Device::Vpp) => {}
    }
    if !function.is_routing() {
        return with(Function::FIELD, function.word(), "only routers have it: 'none', or function 'ip4' or 'ip6'");
    }
    let is_urpf = matches!(feature, Feature::UrpfStrict | Feature::UrpfLoose);
    // The generator sends from the second address of the routed ones.
    if is_urpf && matches!(scale, Scale::Entries(..=2)) {
        let remedy = "no route leads to the sender among so few: 'base', or 3 and more";
        return with("scale", &scale.to_string(), remedy);
    }
    let remedy = match feature {
        _ if shape != Shape::Bgp => return None,
        Feature::PolicyRouting => "policies send packets past the routes: 'dense'",
        Feature::MultiPath => "its routes have one next hop each: 'dense'",
        _ if is_urpf => "its senders are on the link, and no route is looked up for them: 'dense'",
        _ => return None,
    };
    with(Shape::FIELD, shape.word(), remedy)
}

/// A value of a field contradicts that of another one.
fn clash(
    field: &'static str,
    value: &str,
    other: &'static str,
    by: &str,
    remedy: &'static str,
) -> Option<Contradiction> {
    Some(Contradiction { field, other, what: format!("{field} '{value}' contradicts {other} '{by}'"), remedy })
}

#[cfg(test)]
mod tests {
    use crate::read;

    /// The cases of these fields; or else what is wrong with them.
    fn cases(fields: &str) -> Result<usize, String> {
        let text = format!("suites:\n  - {{{fields}, driver: memif, frame: 64, search: mrr}}");
        let what = |errors: Vec<crate::SuiteError>| {
            errors.iter().map(|error| format!("{}; {}", error.what, error.remedy)).collect::<Vec<_>>().join("\n")
        };
        read([("a.yaml", text.as_str())]).map(|cases| cases.len()).map_err(what)
    }

    #[test]
    fn features_are_of_devices_functions_and_routes_that_can_have_them() {
        for (fields, error) in [
            (
                "function: l2xc, feature: routecount",
                "function 'l2xc'; only routers have it: 'none', or function 'ip4' or 'ip6'",
            ),
            (
                "function: ip4, feature: macswap",
                "device 'quiver'; testpmd alone swaps addresses: 'none', or device 'testpmd'",
            ),
            (
                "function: ip4, feature: conntrack",
                "device 'quiver'; the kernel alone tracks connections: 'none', or device 'linux'",
            ),
            (
                "function: l2xc, feature: vrf, device: testpmd",
                "device 'testpmd'; it is not told to: 'none', or device 'quiver' or 'vpp'",
            ),
            (
                "function: ip4, feature: urpfloose, scale: 2",
                "scale '2'; no route leads to the sender among so few: 'base', or 3 and more",
            ),
            (
                "function: ip4, feature: urpfstrict, scale: 1k, shape: bgp",
                "shape 'bgp'; its senders are on the link, and no route is looked up for them: 'dense'",
            ),
            (
                "function: ip4, feature: abf, scale: 1k, shape: bgp",
                "shape 'bgp'; policies send packets past the routes: 'dense'",
            ),
            (
                "function: ip4, feature: ecmp, scale: 1k, shape: bgp",
                "shape 'bgp'; its routes have one next hop each: 'dense'",
            ),
        ] {
            let feature = fields.split("feature: ").nth(1).and_then(|rest| rest.split(',').next()).expect("a feature");
            assert_eq!(cases(fields), Err(format!("feature '{feature}' contradicts {error}")));
        }
        assert_eq!(
            cases("function: ip4, feature: [vrf, routecount], scale: 1k, shape: bgp, device: [quiver, vpp]"),
            Ok(4)
        );
        let all = "urpfstrict, urpfloose, abf, ecmp, vrf, routecount, none";
        assert_eq!(cases(&format!("function: ip4, feature: [{all}], scale: [base, 3], device: [quiver, vpp]")), Ok(28));
        assert_eq!(cases("function: l2xc, feature: [none, macswap], device: testpmd"), Ok(2));
        let lists = "iacl1sl, iacl10sl, iacl50sl, iacl1sf, iacl10sf, iacl50sf";
        assert_eq!(cases(&format!("function: [ip4], feature: [{lists}], device: [quiver, vpp]")), Ok(12));
    }

    #[test]
    fn a_network_has_a_power_of_two_of_addresses() {
        assert_eq!(cases("function: ip4, scale: [2, 131072], shape: net"), Ok(2));
        for scale in ["base", "1", "20k"] {
            let error = cases(&format!("function: ip4, scale: {scale}, shape: net")).expect_err(scale);
            assert!(error.starts_with(&format!("shape 'net' contradicts scale '{scale}'; a network has")), "{error}");
        }
    }
}
