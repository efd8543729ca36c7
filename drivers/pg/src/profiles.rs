//! Streams by the names of the traffic profiles that FD.io CSIT's suites use: `ethip4-ip4dst10000`, `ethip4-macsrc5kdst5k`.
//!
//! A name is a family's with numbers in it: how many addresses, stations, VLANs, ports there are. Every profile has two
//! directions: the packets of the second, `reverse`, are answers to those of the first. Only addresses, VLANs and ports come
//! from it, as documented there; packets are UDP where CSIT's are bare IPv4, and rates and sizes are the stream's own.

mod families;
mod family;
mod ip6;
mod sessions;
mod vxlan;

pub use family::Family;
pub use sessions::{REFUSED, Refused};

use family::{ENDS, NONE};

use crate::stream::PgStream;

/// All families.
pub fn families() -> impl Iterator<Item = &'static Family> {
    [families::FAMILIES, ip6::FAMILIES, vxlan::FAMILIES, sessions::FAMILIES].into_iter().flatten()
}

/// Sets the fields that a profile names, for packets from its first side or, in reverse, from its second. The error says
/// which profiles there are.
pub fn apply(stream: &mut PgStream, name: &str, is_reverse: bool) -> Result<(), String> {
    let Some((family, numbers)) = families().find_map(|family| Some((family, numbers(family.name, name)?))) else {
        if let Some(refused) = REFUSED.iter().find(|refused| numbers(refused.name, name).is_some()) {
            return Err(format!("profile {name}: {}", refused.lacking));
        }
        let names: Vec<_> = families().map(|family| family.name.replace('#', "N")).collect();
        return Err(format!("there is no profile '{name}'; there are {}", names.join(", ")));
    };
    if let Some((number, most)) = numbers.iter().zip(family.most).find(|(number, most)| *number > most) {
        return Err(format!(
            "profile {name}: {number} is out of range; {} has up to {most}",
            family.name.replace('#', "N")
        ));
    }
    if is_reverse && !family.has_reverse {
        return Err(format!("profile {name}: nothing comes back: leave 'reverse' out"));
    }
    let [first, second] = ENDS;
    // Of a family with one number, or none, nobody looks at the others.
    let numbers = [0, 1].map(|at| numbers.get(at).copied().unwrap_or(NONE));
    (family.fields)(stream, if is_reverse { [second, first] } else { [first, second] }, numbers);
    Ok(())
}

/// The numbers, none of them zero, that stand in a name for the `#` of a family's.
fn numbers(family: &str, name: &str) -> Option<Vec<u32>> {
    let mut parts = family.split('#');
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut numbers = vec![];
    for part in parts {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, behind) = rest.split_at(digits);
        let number: u32 = number.parse().ok()?;
        let (factor, behind) = behind.strip_prefix('k').map_or((1, behind), |behind| (1000, behind));
        numbers.push(number.checked_mul(factor).filter(|number| *number > 0)?);
        rest = behind.strip_prefix(part)?;
    }
    rest.is_empty().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use quiver_control::object::Scalar;

    use super::*;
    use crate::values::Values;

    /// Fields that a profile sets, in both directions: MAC addresses, VLAN, addresses, ports.
    fn fields(name: &str) -> [[String; 7]; 2] {
        [false, true].map(|is_reverse| {
            let mut stream = PgStream::unnamed();
            apply(&mut stream, name, is_reverse).expect(name);
            crate::check::check(&stream).expect(name);
            [
                stream.source_mac.to_string(),
                stream.destination_mac.to_string(),
                stream.vlan.map(|vlan| vlan.to_string()).unwrap_or_default(),
                stream.source.to_string(),
                stream.destination.to_string(),
                stream.source_port.to_string(),
                stream.destination_port.to_string(),
            ]
        })
    }
    /// The addresses of IPv4 that a profile sets, forth and back.
    fn addresses(name: &str) -> [[String; 2]; 2] {
        fields(name).map(|[_, _, _, source, destination, ..]| [source, destination])
    }

    #[test]
    fn names_of_csit_are_understood() {
        assert_eq!(addresses("ethip4-ip4dst1"), [["10.0.0.1", "20.0.0.0"], ["20.0.0.1", "10.0.0.0"]]);
        assert_eq!(
            addresses("ethip4-ip4dst1000000"),
            [["10.0.0.1", "20.0.0.0-20.15.66.63"], ["20.0.0.1", "10.0.0.0-10.15.66.63"]]
        );
        assert_eq!(addresses("ethip4-ip4dst-rnd10000")[0], ["10.0.0.1", "random:20.0.0.0-20.0.39.15"]);
        assert_eq!(
            addresses("ethip4-ip4src254"),
            [["10.10.10.1-10.10.10.254", "20.20.20.1"], ["20.20.20.1-20.20.20.254", "10.10.10.1"]]
        );
        assert_eq!(addresses("ethip4-ip4src253")[0], ["10.10.10.2-10.10.10.254", "20.20.20.2"]);
        let [forth, back] = fields("ethip4-macsrc100kip4src100k");
        assert_eq!(
            (forth[0].as_str(), forth[3].as_str()),
            ("ca:fe:00:00:00:00-ca:fe:00:01:86:9f", "10.0.0.2-10.1.134.161")
        );
        assert_eq!((back[0].as_str(), back[4].as_str()), ("fa:ce:00:00:00:00-fa:ce:00:01:86:9f", "10.0.0.1"));
        let [forth, back] = fields("ethip4-macsrc500kdst500k");
        assert_eq!(forth[..2], ["ca:fe:00:00:00:00-ca:fe:00:07:a1:1f", "fa:ce:00:00:00:00-fa:ce:00:07:a1:1f"]);
        assert_eq!([&forth[0], &forth[1], &forth[3], &forth[4]], [&back[1], &back[0], &back[4], &back[3]]);
        let [forth, back] = fields("dot1qip4-vlan1ip4src254ip4dst254");
        assert_eq!(forth[2..5], ["100", "10.10.10.1-10.10.10.254", "20.20.20.1-20.20.20.254"]);
        assert_eq!(back[2], "200");
        let [forth, _] = fields("dot1qip4-vlan1kip4src254ip4dst254");
        assert_eq!(forth[2..5], ["1-1000", "10.0.0.1-10.0.0.254", "20.0.0.1-20.0.0.254"]);
        let [forth, back] = fields("ethip4udp-10u1000p-conc");
        assert_eq!(forth[3..], ["10.10.10.2-10.10.10.11", "20.20.20.2-20.20.20.11", "1001-2000", "2001-3000"]);
        assert_eq!(back[5..], ["2001-3000", "1001-2000"]);
    }

    #[test]
    fn names_with_ports_functions_and_nat_are_understood() {
        assert_eq!(addresses("ethip4-ip4dst10000-2p"), addresses("ethip4-ip4dst10000"));
        assert_eq!(addresses("ethip4-ip4dst-rnd1000000-6p"), addresses("ethip4-ip4dst-rnd1000000"));
        let [forth, back] = fields("ethip4-ip4dst1000-4cnf");
        assert_eq!([&*forth[1], &*forth[4]], ["02:02:00:00:12:00-02:02:00:00:12:03", "20.0.0.0-20.0.3.231"]);
        assert_eq!(back[1], "02:02:00:00:02:00-02:02:00:00:02:03");
        assert_eq!(
            addresses("ethip4-ip4dst253_l3fwd"),
            [["20.20.20.2", "198.18.0.2-198.18.0.254"], ["10.10.10.2", "198.18.1.2-198.18.1.254"]]
        );
        assert_eq!(addresses("ethip4-ip4src2ip4dst2")[1], ["20.0.0.0,20.0.1.0", "10.0.0.0,10.0.1.0"]);
        let [forth, back] = fields("2n3n-ethip4-ip4src254-2c4n");
        assert_eq!(
            [&*forth[1], &*back[1]],
            ["52:54:00:00:00:01,52:54:00:00:00:05", "52:54:00:00:00:04,52:54:00:00:00:08"]
        );
        assert_eq!((&*forth[3], &*forth[4]), ("10.10.10.1-10.10.10.254", "20.20.20.1"));
        let [forth, back] = fields("dot1qip4-vlan1ip4src254ip4dst254-2");
        assert_eq!((&*forth[2], &*back[2], &*forth[3]), ("1", "1", "random:10.0.0.1-10.0.0.254"));
        let [forth, back] = fields("dot1qip4-vlan1ip4src254ip4dst254-bvi");
        assert_eq!((&*forth[2], &*back[2], &*back[3]), ("100", "200", "random:20.20.20.1-20.20.20.254"));
        let [forth, back] = fields("dot1qip4asym-ip4src254");
        assert_eq!((&*forth[2], &*back[2]), ("", "10"));
        // 16,384 users with 63 ports each are 1,032,192 sessions: 16 addresses outside with all of their ports.
        let [forth, back] = fields("ethip4udp-16384u63p");
        assert_eq!(forth[3..], ["192.168.0.0-192.168.63.255", "20.0.0.0", "1024-1086", "1024"]);
        assert_eq!(back[3..], ["20.0.0.0", "68.142.68.0-68.142.68.15", "1024", "random:1024-65535"]);
        let [forth, back] = fields("ethip4udp-10u15p");
        assert_eq!(forth[3..], ["20.0.0.0-20.0.0.9", "12.0.0.2", "random:1024-1038", "1024"]);
        assert_eq!(back[3..], ["12.0.0.2", "200.0.0.0", "1024", "1024-1173"]);
        let [forth, back] = fields("ethip4udp-lb");
        assert_eq!(forth[3..], ["192.168.50.74-192.168.50.79", "90.1.2.1", "63", "20000"]);
        assert_eq!(back[3..5], ["192.168.60.74-192.168.60.79", "192.168.50.74-192.168.50.79"]);
        let mut stream = PgStream::unnamed();
        apply(&mut stream, "ethip4udp-1024u63p-udir", false).expect("a profile");
        assert_eq!(
            (stream.destination.to_string(), stream.destination_port.to_string()),
            ("20.0.0.0-20.0.3.255".into(), "8080".into())
        );
        apply(&mut stream, "ethip4-ip4dst40-udir", false).expect("a profile");
        assert_eq!(stream.destination.to_string(), "20.0.0.0-20.0.0.39");
    }

    #[test]
    fn every_family_holds_at_its_least_and_greatest_numbers() {
        for family in families() {
            let name = |numbers: [u32; 2]| {
                numbers.iter().fold(family.name.to_owned(), |name, number| name.replacen('#', &number.to_string(), 1))
            };
            let check = |name: &str, is_reverse: bool| {
                // As much as the headers of any family take.
                let mut stream = PgStream { size: Values::parse("128").expect("a size"), ..PgStream::unnamed() };
                apply(&mut stream, name, is_reverse).expect(name);
                crate::check::check(&stream).expect(name);
            };
            for numbers in [[1, 1], family.most] {
                check(&name(numbers), false);
                if family.has_reverse {
                    check(&name(numbers), true);
                }
            }
            let mut stream = PgStream::unnamed();
            let before = stream.clone();
            if !family.has_reverse {
                let error = apply(&mut stream, &name([1, 1]), true).expect_err("nothing comes back");
                assert!(error.contains("leave 'reverse' out") && stream == before, "{error}");
            }
            if family.most == [0, 0] {
                continue;
            }
            let error = apply(&mut stream, &name([family.most[0] + 1, 1]), false).expect_err("more than there are");
            assert!(error.contains("is out of range"), "{error}");
            assert_eq!(stream, before);
        }
    }

    #[test]
    fn sessions_of_tcp_are_refused_with_what_they_lack() {
        let mut stream = PgStream::unnamed();
        for name in ["ethip4tcp-1024h", "ethip4tcp-262144h-pps"] {
            let error = apply(&mut stream, name, false).expect_err(name);
            assert!(error.starts_with(&format!("profile {name}: ")) && error.contains("handshake"), "{error}");
        }
        assert_eq!(stream, PgStream::unnamed());
    }

    #[test]
    fn other_names_are_refused() {
        let mut stream = PgStream::unnamed();
        for name in [
            "",
            "ethip4",
            "ethip4-ip4dst",
            "ethip4-ip4dst0",
            "ethip4-ip4dst5x",
            "ethip4-ip4dst99999999999",
            "ethip4-macsrc5k",
        ] {
            let error = apply(&mut stream, name, false).expect_err(name);
            assert!(error.contains("ethip4-macsrcNdstN"), "{error}");
        }
    }
}
