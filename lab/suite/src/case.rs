//! A case: one point of a suite's matrix, its name, its tags, and what a machine needs for it.

use quiver_testbed::Topology;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::field::{
    Buffers, Device, Driver, Encap, Feature, Frame, Function, Keyword, Load, Pace, Scale, Search, Shape, Window,
};
use crate::needs::{Needs, Part};

/// One measurement, in all that it consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// Function of the device: cross-connect, bridge or router.
    pub function: Function,
    /// With how much in its tables.
    pub scale: Scale,
    /// How these lie.
    pub shape: Shape,
    /// Encapsulation of the packets.
    pub encap: Encap,
    /// Beside its function.
    pub feature: Feature,
    /// The device under test.
    pub device: Device,
    /// How it is joined to the generator.
    pub driver: Driver,
    /// Where its packets lie.
    pub buffers: Buffers,
    /// The size of frames.
    pub frame: Frame,
    /// On how many cores the device works.
    pub cores: u16,
    /// How the device waits for packets.
    pub pace: Pace,
    /// The search.
    pub search: Search,
    /// The load of each direction, in searches that hold one.
    pub load: Option<Load>,
    /// How many packets circle in a closed loop, where it is not as many as usual.
    pub window: Option<Window>,
    /// Memory of device and generator, in GiB.
    pub memory_gib: u16,
    /// On the ports of which testbed it runs, if not by links that are made for it on one machine.
    pub ports: Option<Topology>,
}

/// How ports of a testbed are taken, whatever they are: it stands in the driver's place.
const BY_PORTS: &str = "af-packet";

impl Case {
    /// The same on the ports of a testbed, where it can be had there: only interfaces of the kernel are found on any machine,
    /// so these are the cases that are joined by such.
    pub fn on_ports(self, topology: Topology) -> Option<Case> {
        (self.driver == Driver::Veth).then_some(Case { ports: Some(topology), ..self })
    }

    /// After CSIT's rules, `1n1l-<nic>-<encap>-<function>[-features]-<type>`, where the driver stands in for a NIC; `2n1l-` with the
    /// device on a machine of its own, and nothing instead of that with two of them. A device other than Quiver is one of the
    /// features, as testpmd is in CSIT's names.
    pub fn suite(&self) -> String {
        let shape = self.shape_word().map(|word| format!("-{word}")).unwrap_or_default();
        let feature = self.feature_word().map(|word| format!("-{word}")).unwrap_or_default();
        let device = if self.device == Device::Quiver { String::new() } else { format!("-{}", self.device.word()) };
        let buffers = if self.buffers == Buffers::Copied { String::new() } else { format!("-{}", self.buffers.word()) };
        let pace = if self.pace == Pace::Own { String::new() } else { format!("-{}", self.pace.word()) };
        let load = self.load.map(|load| format!("-{load}")).unwrap_or_default();
        let window = self.window.map(|window| format!("-{window}")).unwrap_or_default();
        let (driver, encap, search) = (self.driver_word(), self.encap_word(), self.search.word());
        let (topology, function) = (self.topology().prefix(), self.function_word());
        format!("{topology}{driver}-{encap}-{function}{shape}{feature}{device}{buffers}{pace}{load}{window}-{search}")
    }

    /// `64b-1c-<suite>`.
    pub fn name(&self) -> String {
        format!("{}-{}c-{}", self.frame, self.cores, self.suite())
    }

    /// Tags for expressions, with CSIT's words where it has some.
    pub fn tags(&self) -> Vec<String> {
        let upper = |word: &str| word.to_uppercase();
        let is_base = self.scale == Scale::Base;
        let mut tags: Vec<String> = [self.topology().tag(), "PERFTEST"].map(String::from).into();
        tags.push(upper(self.search.word()));
        tags.push(format!("DRV_{}", upper(self.driver_word())));
        tags.push(upper(self.encap.word()));
        tags.push(if is_base { "BASE" } else { "SCALE" }.to_owned());
        let own: &[&str] = match (self.function, is_base) {
            (Function::CrossConnect, _) => &["L2XCFWD", "L2XCBASE"],
            (Function::Bridge, true) => &["L2BDMACLRN", "L2BDBASE"],
            (Function::Bridge, false) => &["L2BDMACLRN", "L2BDSCALE"],
            (Function::Ip4, true) => &["IP4FWD", "IP4_ROUTING", "IP4BASE"],
            (Function::Ip4, false) => &["IP4FWD", "IP4_ROUTING", "IP4SCALE"],
            (Function::Ip6, true) => &["IP6FWD", "IP6_ROUTING", "IP6BASE"],
            (Function::Ip6, false) => &["IP6FWD", "IP6_ROUTING", "IP6SCALE"],
        };
        tags.extend(own.iter().map(|tag| (*tag).to_owned()));
        if !is_base {
            tags.push(format!("FIB_{}", upper(&self.scale.to_string())));
        }
        tags.extend(self.shape_word().map(upper));
        if let Some(feature) = self.feature_word() {
            tags.extend(["FEATURE".to_owned(), upper(feature)]);
        }
        tags.push(upper(self.device.word()));
        if self.buffers != Buffers::Copied {
            tags.push(upper(self.buffers.word()));
        }
        if self.pace != Pace::Own {
            tags.push(upper(self.pace.word()));
        }
        tags.extend(self.window.map(|window| upper(&window.to_string())));
        if self.device == Device::Testpmd {
            tags.push("DPDK".to_owned());
        }
        tags.push(upper(&self.frame.to_string()));
        tags.push(format!("{}C", self.cores));
        tags.push(format!("{}-{}", self.encap_word(), self.function_word()));
        tags
    }

    /// Requirements of the case.
    pub fn needs(&self) -> Needs {
        let program = match self.device {
            Device::Vpp => Some("vpp"),
            Device::Testpmd => Some("dpdk-testpmd"),
            Device::Quiver | Device::Linux => None,
        };
        // The generator has a core of its own, where it is not inside the device.
        let cores = self.cores + u16::from(self.driver != Driver::Pg);
        // What too many workers cost is a part of what is asked.
        // VPP wants a core for each worker.
        let may_share_cores = self.search == Search::Power && self.device != Device::Vpp;
        Needs { program, cores, memory_gib: self.memory_gib, parts: self.parts(), may_share_cores }
    }

    fn parts(&self) -> Vec<Part> {
        let is_of_kernel = self.device == Device::Linux;
        let is_by_kernel = matches!(self.driver, Driver::Veth | Driver::Tap);
        let needed = [
            (Part::Namespaces, is_by_kernel && self.ports.is_none()),
            (Part::OwnPackets, self.driver == Driver::Pg),
            (Part::VhostNet, self.device == Device::Vpp && self.driver == Driver::Tap),
            (Part::Vlans, is_of_kernel && self.encap != Encap::Eth),
        ];
        needed.into_iter().filter(|(_, is_needed)| *is_needed).map(|(part, _)| part).collect()
    }

    fn topology(&self) -> Topology {
        self.ports.unwrap_or(Topology::OneNode)
    }

    fn driver_word(&self) -> &'static str {
        if self.ports.is_some() { BY_PORTS } else { self.driver.word() }
    }

    fn shape_word(&self) -> Option<&'static str> {
        (self.shape != Shape::Dense).then(|| self.shape.word())
    }

    fn feature_word(&self) -> Option<&'static str> {
        (self.feature != Feature::None).then(|| self.feature.word())
    }

    fn encap_word(&self) -> &'static str {
        match (self.encap, self.function) {
            (Encap::Eth, Function::Ip4) => "ethip4",
            (Encap::Eth, Function::Ip6) => "ethip6",
            (encap, _) => encap.word(),
        }
    }

    /// `l2xcbase`, `l2bdscale10kmaclrn`, `ip4scale2m`.
    fn function_word(&self) -> String {
        let scale = match self.scale {
            Scale::Base => "base".to_owned(),
            scale => format!("scale{scale}"),
        };
        let learning = if self.function == Function::Bridge { "maclrn" } else { "" };
        format!("{}{scale}{learning}", self.function.word())
    }
}

impl Serialize for Case {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name())?;
        map.serialize_entry("suite", &self.suite())?;
        map.serialize_entry("function", &self.function)?;
        map.serialize_entry("scale", &self.scale.to_string())?;
        map.serialize_entry("shape", &self.shape)?;
        map.serialize_entry("encap", &self.encap)?;
        map.serialize_entry("feature", &self.feature)?;
        map.serialize_entry("device", &self.device)?;
        map.serialize_entry("driver", self.driver_word())?;
        map.serialize_entry("buffers", &self.buffers)?;
        map.serialize_entry("frame", &self.frame.to_string())?;
        map.serialize_entry("cores", &self.cores)?;
        map.serialize_entry("pace", &self.pace)?;
        map.serialize_entry("search", &self.search)?;
        if let Some(Load(mbit)) = self.load {
            map.serialize_entry("load_mbit", &mbit)?;
        }
        if let Some(Window(packets)) = self.window {
            map.serialize_entry("window", &packets)?;
        }
        map.serialize_entry("tags", &self.tags())?;
        map.serialize_entry("needs", &self.needs())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::{Lack, Machine};

    const CASE: Case = Case {
        function: Function::Ip4,
        scale: Scale::Entries(2_000_000),
        shape: Shape::Dense,
        encap: Encap::Eth,
        feature: Feature::RouteCounters,
        device: Device::Vpp,
        driver: Driver::Memif,
        buffers: Buffers::Copied,
        frame: Frame::Bytes(64),
        cores: 1,
        pace: Pace::Own,
        search: Search::NdrPdr,
        load: None,
        window: None,
        memory_gib: 4,
        ports: None,
    };

    #[test]
    fn names_and_tags_are_csits() {
        assert_eq!(CASE.name(), "64b-1c-1n1l-memif-ethip4-ip4scale2m-routecount-vpp-ndrpdr");
        let tags = CASE.tags();
        for tag in ["NDRPDR", "DRV_MEMIF", "ETH", "IP4FWD", "SCALE", "FIB_2M", "64B", "1C", "ethip4-ip4scale2m", "VPP"]
        {
            assert!(tags.iter().any(|own| own == tag), "{tag}: {tags:?}");
        }
        let bgp = Case { shape: Shape::Bgp, search: Search::ClosedLoop, window: Some(Window(8)), ..CASE };
        assert_eq!(bgp.name(), "64b-1c-1n1l-memif-ethip4-ip4scale2m-bgp-routecount-vpp-w8-closedloop");
        let six = Case { function: Function::Ip6, frame: Frame::Bytes(78), feature: Feature::None, ..bgp };
        assert_eq!(six.name(), "78b-1c-1n1l-memif-ethip6-ip6scale2m-bgp-vpp-w8-closedloop");
        for tag in ["IP6FWD", "IP6_ROUTING", "IP6SCALE", "FIB_2M", "78B", "ethip6-ip6scale2m", "BGP"] {
            assert!(six.tags().iter().any(|own| own == tag), "{tag}: {:?}", six.tags());
        }
        let shared = Case { buffers: Buffers::ZeroCopy, pace: Pace::Polling, ..CASE };
        assert_eq!(shared.name(), "64b-1c-1n1l-memif-ethip4-ip4scale2m-routecount-vpp-zerocopy-polling-ndrpdr");
        assert!(shared.tags().contains(&"ZEROCOPY".to_owned()));
        assert!(["BGP", "W8"].iter().all(|tag| bgp.tags().contains(&(*tag).to_owned())), "{:?}", bgp.tags());
        assert!(CASE.tags().contains(&"FEATURE".to_owned()) && !six.tags().contains(&"FEATURE".to_owned()));
        for (feature, word) in [
            (Feature::UrpfStrict, "urpfstrict"),
            (Feature::UrpfLoose, "urpfloose"),
            (Feature::PolicyRouting, "abf"),
            (Feature::MultiPath, "ecmp"),
            (Feature::OwnTable, "vrf"),
        ] {
            let case = Case { feature, device: Device::Quiver, ..CASE };
            assert_eq!(case.name(), format!("64b-1c-1n1l-memif-ethip4-ip4scale2m-{word}-ndrpdr"));
            assert!(["FEATURE", &word.to_uppercase()].iter().all(|tag| case.tags().iter().any(|own| own == tag)));
        }
        let bridge = Case {
            function: Function::Bridge,
            scale: Scale::Entries(10_000),
            encap: Encap::Dot1q,
            feature: Feature::None,
            device: Device::Quiver,
            frame: Frame::Imix,
            ..CASE
        };
        assert_eq!(bridge.name(), "imix-1c-1n1l-memif-dot1q-l2bdscale10kmaclrn-ndrpdr");
        let testpmd = Case { function: Function::CrossConnect, scale: Scale::Base, device: Device::Testpmd, ..bridge };
        assert_eq!(testpmd.suite(), "1n1l-memif-dot1q-l2xcbase-testpmd-ndrpdr");
        assert!(testpmd.tags().contains(&"DPDK".to_owned()));
        let swapping = Case { feature: Feature::MacSwap, encap: Encap::Eth, ..testpmd };
        assert_eq!(swapping.suite(), "1n1l-memif-eth-l2xcbase-macswap-testpmd-ndrpdr");
        assert!(swapping.tags().contains(&"MACSWAP".to_owned()));
    }

    #[test]
    fn ports_of_a_testbed_stand_in_the_drivers_place() {
        let joined = Case { driver: Driver::Veth, device: Device::Quiver, feature: Feature::None, ..CASE };
        let names = [
            (Topology::OneNode, "64b-1c-1n1l-af-packet-ethip4-ip4scale2m-ndrpdr", "1_NODE_SINGLE_LINK_TOPO"),
            (Topology::TwoNode, "64b-1c-2n1l-af-packet-ethip4-ip4scale2m-ndrpdr", "2_NODE_SINGLE_LINK_TOPO"),
            (Topology::ThreeNode, "64b-1c-af-packet-ethip4-ip4scale2m-ndrpdr", "3_NODE_SINGLE_LINK_TOPO"),
        ];
        for (topology, name, tag) in names {
            let case = joined.on_ports(topology).expect("interfaces of the kernel");
            assert_eq!(case.name(), name);
            assert!(case.tags().contains(&tag.to_owned()) && case.tags().contains(&"DRV_AF-PACKET".to_owned()));
        }
        assert_eq!(CASE.on_ports(Topology::TwoNode), None);
    }

    #[test]
    fn power_is_measured_with_too_many_workers_too() {
        let power = Case { search: Search::Power, load: Some(Load(500)), pace: Pace::Adaptive, cores: 8, ..CASE };
        assert_eq!(power.name(), "64b-8c-1n1l-memif-ethip4-ip4scale2m-routecount-vpp-adaptive-500m-power");
        assert!(power.tags().contains(&"ADAPTIVE".to_owned()));
        let machine = Machine { cores: 2, memory_gib: 4, has_program: &|_| true, has_part: &|_| true };
        assert_eq!(power.needs().lacking(machine), [Lack::Cores { needed: 9, there: 2 }]);
        let power = Case { device: Device::Quiver, ..power };
        assert_eq!(power.needs().lacking(machine), []);
        assert!(power.needs().is_oversubscribed(2) && !power.needs().is_oversubscribed(9));
    }

    #[test]
    fn what_a_machine_lacks_is_said() {
        let machine = |cores, memory_gib| Machine {
            cores,
            memory_gib,
            has_program: &|program| program == "vpp",
            has_part: &|part| part == Part::Namespaces,
        };
        let lacks = |case: Case, machine| case.needs().lacking(machine).iter().map(Lack::to_string).collect::<Vec<_>>();
        assert_eq!(lacks(CASE, machine(2, 4)), [""; 0]);
        assert_eq!(lacks(CASE, machine(1, 3)), ["2 cores needed, 1 here", "4 GiB of memory needed, 3 here"]);
        let testpmd = Case { device: Device::Testpmd, ..CASE };
        assert_eq!(lacks(testpmd, machine(8, 8)), ["no program dpdk-testpmd"]);
        let of = |device, driver, encap| lacks(Case { device, driver, encap, ..CASE }, machine(8, 8));
        for (lacking, said) in [
            (of(Device::Vpp, Driver::Tap, Encap::Eth), "/dev/vhost-net, which VPP's TAP takes: let root run `modprobe"),
            (of(Device::Linux, Driver::Veth, Encap::Dot1q), "8021q, which the kernel's VLANs take: let root run"),
            (of(Device::Quiver, Driver::Pg, Encap::Eth), "packets themselves: choose cases of another driver"),
        ] {
            assert!(matches!(&lacking[..], [only] if only.contains(said)), "{lacking:?}");
        }
        for (device, driver) in
            [(Device::Linux, Driver::Tap), (Device::Quiver, Driver::Tap), (Device::Vpp, Driver::Veth)]
        {
            assert_eq!(of(device, driver, Encap::Eth), [""; 0]);
        }
        let no_rights = Machine { has_part: &|_| false, ..machine(8, 8) };
        let by_kernel = Case { device: Device::Linux, driver: Driver::Veth, ..CASE };
        assert!(lacks(by_kernel, no_rights)[0].contains("no right to make network namespaces: run it as root"));
        let ports = by_kernel.on_ports(Topology::TwoNode).expect("interfaces of the kernel");
        assert_eq!(lacks(ports, no_rights), [""; 0], "the hosts' interfaces are there");
        assert_eq!(lacks(CASE, no_rights), [""; 0], "memif takes none");
        assert_eq!(Case { driver: Driver::Pg, cores: 4, ..CASE }.needs().cores, 4);
    }
}
