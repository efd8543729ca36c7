//! Programs of everyday: `iperf3`, `traceroute`, `dig` and dnsmasq, `curl` and vsftpd.

use std::fs;
use std::net::IpAddr;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_netns::{Program, run};
use quiver_site::{Direction, Protocol, iperf3_between};

use super::Site;

/// Port of iperf3.
const IPERF: u16 = 5201;
/// Longest time for a server to start.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// A stream flows in each direction, and the gateway has counted its bytes.
pub fn streams(site: &Site) -> Result<(), Failed> {
    let counted = |server| site.policy.counted(&site.gateway, server, IPERF);
    for &server in site.policy.servers() {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let before = counted(server)?;
            let transfer =
                iperf3_between(&site.gateway.host, &site.outside.server, server, direction, Protocol::Tcp, 1)?;
            let bytes = counted(server)? - before;
            if transfer.bytes == 0 || bytes < transfer.bytes {
                return Err(format!("{direction:?} by {server}: {transfer:?}, {bytes} bytes of sessions").into());
            }
        }
    }
    Ok(())
}

/// Each hop answers: the gateway, the router and the server, whose errors find back to the program.
pub fn traces(site: &Site) -> Result<(), Failed> {
    let hops = site.gateway.inside().into_iter().zip(site.gateway.router());
    for (&server, (gateway, router)) in site.policy.servers().iter().zip(hops) {
        for by in ["-I", "-U", "-T"] {
            let mut traceroute = site.gateway.host.command("traceroute");
            traceroute.args(["-n", by, "-q", "1", "-N", "1", "-w", "3", "-m", "5", &server.to_string()]);
            let said = run(&mut traceroute)?;
            let seen = said.lines().skip(1).map(|line| line.split_whitespace().nth(1)?.parse::<IpAddr>().ok());
            if !seen.eq([gateway, router, server].map(Some)) {
                return Err(format!("traceroute {by} has not seen {gateway}, {router}, {server}: {said}").into());
            }
        }
    }
    Ok(())
}

/// `dig` gets answers of dnsmasq by UDP and by TCP. It asks again by TCP if an answer is truncated.
pub fn names(site: &Site) -> Result<(), Failed> {
    let long = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|letter| letter.repeat(200));
    let mut dnsmasq = site.outside.server.command("dnsmasq");
    dnsmasq.args(["--no-daemon", "--conf-file=/dev/null", "--no-resolv", "--no-hosts", "--pid-file=", "--user=root"]);
    dnsmasq.args(["--group=root", "--host-record=www.quiver.test,192.0.2.80,2001:db8::80"]);
    let mut dnsmasq = Program::start(dnsmasq.arg(format!("--txt-record=long.quiver.test,{}", long.join(","))))?;
    dnsmasq.wait_for_output("started", READY_WITHIN)?;
    let long = long.map(|text| format!("\"{text}\"")).join(" ");
    let questions = [
        ("+notcp", "www.quiver.test", "A", "192.0.2.80", "(UDP)"),
        ("+tcp", "www.quiver.test", "A", "192.0.2.80", "(TCP)"),
        ("+notcp", "www.quiver.test", "AAAA", "2001:db8::80", "(UDP)"),
        ("+notcp", "long.quiver.test", "TXT", long.as_str(), "(TCP)"),
    ];
    for server in site.policy.servers() {
        for (by, name, kind, answer, came_by) in questions {
            let mut dig = site.gateway.host.command("dig");
            dig.args(["+time=5", "+tries=3", by, &format!("@{server}"), name, kind]);
            let said = run(&mut dig)?;
            if !said.contains(answer) || !said.contains(came_by) {
                return Err(format!("no {answer} {came_by}: {said}").into());
            }
        }
    }
    Ok(())
}

/// Files come by passive FTP, to both commands for it, and `curl` uploads one.
pub fn files(site: &Site) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let at = folder.path().display();
    let (root, file, received) =
        (folder.path().join("root"), folder.path().join("root/file"), folder.path().join("received"));
    fs::create_dir(&root)?;
    fs::create_dir(folder.path().join("empty"))?;
    crate::file::write_noise(&file, 1_000_000)?;
    let settings = folder.path().join("vsftpd.conf");
    let lines = format!(
        "listen=NO\nlisten_ipv6=YES\nbackground=NO\nanonymous_enable=YES\nno_anon_password=YES\nanon_root={at}/root\n\
         run_as_launching_user=YES\nsecure_chroot_dir={at}/empty\nseccomp_sandbox=NO\nisolate=NO\nisolate_network=NO\n\
         xferlog_enable=NO\nconnect_from_port_20=NO\n"
    );
    fs::write(&settings, lines)?;
    let mut vsftpd = Program::start(site.outside.server.command("vsftpd").arg(&settings))?;
    vsftpd.wait_until("vsftpd to listen", READY_WITHIN, |_| {
        run(site.outside.server.command("ss").args(["-ltn"])).is_ok_and(|sockets| sockets.contains(":21 "))
    })?;
    for server in site.policy.servers() {
        let host = if server.is_ipv6() { format!("[{server}]") } else { server.to_string() };
        // PASV has no place for an IPv6 address.
        let commands: &[&str] = if server.is_ipv6() { &["--ftp-pasv"] } else { &["--ftp-pasv", "--disable-epsv"] };
        for command in commands {
            let mut curl = site.gateway.host.command("curl");
            curl.args(["--silent", "--show-error", "--max-time", "30", command, "--output"]).arg(&received);
            run(curl.arg(format!("ftp://{host}/file")))?;
            if fs::read(&received)? != fs::read(&file)? {
                return Err(format!("{command} from {server}: another file came").into());
            }
        }
    }
    Ok(())
}
