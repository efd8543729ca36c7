//! The calls of Ligato's vpp-agent to VPP at its start (`clients/ligato`), made to quiverd; and a client of VPP 23.06
//! beside one of 26.10.

use std::path::Path;

use crate::go::{self, Programs, said};
use crate::quiverd::Daemon;
use libtest_mimic::{Arguments, Failed, Trial};
use quiver_client::Client;
use quiver_compat::{Message, Text};

pub fn trials(arguments: &Arguments) -> Vec<Trial> {
    let old =
        "a client of 23.06 finds all its messages at a socket of that profile, while one of 26.10 works at another";
    go::trials(
        arguments,
        "ligato",
        "ligato",
        &[".", "./release"],
        [("the agent finds all that it needs", agent), (old, release)],
    )
}

/// Something of each kind that there is.
const CONFIGURED: &str = "
    create packet-generator interface pg0
    create packet-generator interface pg1
    create loopback interface
    set interface state pg0 up
    set interface ip address pg0 10.0.0.1/24
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    ip route add 10.9.0.0/16 via 10.0.0.2
    create bridge-domain 7
    set interface l2 bridge pg1 7
    l2fib add 02:00:00:00:00:07 7 pg1 static
    create vxlan tunnel src 10.0.0.1 dst 10.0.0.2 vni 5";

fn agent(programs: &Programs) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("api.sock");
    let daemon = Daemon::start_in(folder.path(), |command| {
        command.arg("--api-socket").arg(&socket).args(["--workers", "2", "--buffers", "4096"]);
    });
    for line in CONFIGURED.lines().map(str::trim).filter(|line| !line.is_empty()) {
        daemon.run(line).map_err(|error| format!("{line}: {error}"))?;
    }
    let text = said(programs.program("ligato").arg("-socket").arg(&socket))?;
    let of = |beginning: &str| text.lines().filter_map(|line| line.strip_prefix(beginning)).collect::<Vec<_>>();
    let process = format!("quiver {}, process {}, client 1", env!("CARGO_PKG_VERSION"), daemon.id());
    let module = |name: &str| of("module ").iter().any(|module| module.starts_with(name));
    let one = |name: &str| of(&format!("{name}: ")).first().and_then(|count| count.parse::<usize>().ok());
    assert_eq!(of("core: "), ["all 521 messages are there"], "{text}");
    assert_eq!(of("plugins: "), ["all 346 messages are there"], "{text}");
    assert!(text.lines().any(|line| line == process), "{process}: {text}");
    assert!(["interface ", "ip ", "vpe ", "memclnt "].into_iter().all(module), "{text}");
    assert_eq!(of("thread "), ["0 vpp_main ", "1 vpp_wk_0 workers", "2 vpp_wk_1 workers"], "{text}");
    assert!(of("started as ")[0].contains(&format!("--api-socket {}", socket.display())), "{text}");
    assert_eq!(of("memory of thread ").len(), 1, "{text}");
    for worker in 0..2 {
        let polled = format!("runtime of thread {} vpp_wk_{worker}: pg-input polling: 0 calls, 0 vectors", worker + 1);
        assert!(text.lines().any(|line| line == polled), "{polled}: {text}");
    }
    assert!(of("buffers default-numa-0: ")[0].starts_with("2368 bytes each, "), "{text}");

    // What is there is found, local0 among it; what there cannot be is not, and nothing fails.
    let found = ["sw_interface_dump", "ip_table_dump", "bridge_domain_dump", "l2_fib_table_dump", "ip_neighbor_dump"];
    assert_eq!(found.map(one), [5, 2, 1, 1, 1].map(Some), "{text}");
    assert_eq!(one("vxlan_tunnel_dump"), Some(1), "{text}");
    let routes = of("ip_route_dump: ").iter().filter_map(|count| count.parse::<usize>().ok()).sum::<usize>();
    assert!(routes >= 3, "{text}");
    let missing = ["gre_tunnel_dump", "acl_dump", "nat44_interface_dump", "ipsec_spds_dump", "wireguard_peers_dump"];
    assert_eq!(missing.map(one), [Some(0); 5], "{text}");
    assert_eq!(of("gre_tunnel_add_del: "), ["unimplemented"], "{text}");
    Ok(())
}

/// Which program is this?
#[derive(Message)]
#[message(request, reply = ShowVersionReply)]
struct ShowVersion;

/// The program and its build.
#[derive(Message, Default)]
#[message(reply)]
struct ShowVersionReply {
    program: Text<32>,
    version: Text<32>,
    build_date: Text<32>,
    build_directory: Text<256>,
}

/// Messages that VPP 23.06 has with another checksum than 26.10.
const OTHERS: [&str; 7] = [
    "cnat_session_details_7e5017c7",
    "cnat_set_snat_policy_d3e6eaf4",
    "cnat_snat_policy_add_del_if_6828deca",
    "cnat_translation_details_347e1f16",
    "cnat_translation_update_cd5aedf5",
    "ikev2_profile_details_670d01d9",
    "ikev2_set_ike_transforms_076d7378",
];

fn release(programs: &Programs) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (new, old) = (folder.path().join("new.sock"), folder.path().join("old.sock"));
    let _daemon = Daemon::start_in(folder.path(), |command| {
        let profile = format!("{},profile=23.06", old.display());
        command.arg("--api-socket").arg(&new).args(["--api-socket", &profile, "--buffers", "4096"]);
    });
    // It is there before the other, and after it.
    let mut of_new = Client::connect(&new, "new")?;
    let ask = |client: &mut Client| client.request(&ShowVersion).map(|reply| reply.program.0);
    let at = |socket: &Path| said(programs.program("release").arg("-socket").arg(socket));
    let done = "messages: 1746\nloop0: flags 3\nroute: 198.51.100.0/24\ncnat_translation_update: ";
    for (socket, missing, told) in [(&old, &[][..], "unimplemented"), (&new, &OTHERS[..], "unknown message")] {
        assert_eq!(ask(&mut of_new)?, "quiver");
        let text = at(socket)?;
        let mut lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("missing: ")).collect();
        lines.sort_unstable();
        assert_eq!(lines, missing, "{text}");
        let rest: String =
            text.lines().filter(|line| !line.starts_with("missing: ")).map(|line| format!("{line}\n")).collect();
        assert!(rest.starts_with(done) && rest.to_lowercase().contains(told), "{text}");
    }
    assert_eq!(ask(&mut of_new)?, "quiver");
    Ok(())
}
