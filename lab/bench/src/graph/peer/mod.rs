//! VPP beside us: the same packets over the same configuration, by its own packet generator, in turns with ours.
//!
//! Its figure is what `show runtime` says that its nodes took for a packet, together: all but `pg-input`, which makes the packets,
//! and with the one that sends them. Its clocks are those of the wall, so that what else runs on the machine shows.

mod runtime;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pcap_file::pcap::{PcapPacket, PcapWriter};
use tempfile::TempDir;

use super::filling::{FILL, FILLS, VECTORS};
use crate::path::Path as Measured;

/// How long VPP may take to answer, and to send the packets of a window.
const READY_WITHIN: Duration = Duration::from_secs(60);
const SENT_WITHIN: Duration = Duration::from_secs(60);
/// Between two looks at whether it is done.
const LOOK: Duration = Duration::from_millis(20);

/// The programs of a VPP.
#[derive(Clone, Debug)]
pub struct Programs {
    vpp: PathBuf,
    vppctl: PathBuf,
}

impl Programs {
    /// Finds the programs by this name, or in `PATH`; None if no name was given and there is none.
    pub fn find(named: Option<&Path>) -> Result<Option<Programs>, String> {
        let vpp = match named {
            Some(vpp) if vpp.is_file() => vpp.to_owned(),
            Some(vpp) => return Err(format!("--peer {}: there is no such program", vpp.display())),
            None => match in_path("vpp") {
                Some(vpp) => vpp,
                None => return Ok(None),
            },
        };
        let beside = vpp.with_file_name("vppctl");
        let vppctl = if beside.is_file() { Some(beside) } else { in_path("vppctl") };
        let vppctl = vppctl.ok_or_else(|| format!("{}: vppctl is neither beside it nor in PATH", vpp.display()))?;
        Ok(Some(Programs { vpp, vppctl }))
    }
}

/// Lines of the configuration that say how much memory there is: more for sessions by the million, whose packets are in memory, too.
fn memory(sessions: Option<usize>, stats: &str) -> String {
    match sessions {
        None => format!("statseg {{ socket-name {stats} }}\nmemory {{ main-heap-size 512M }}"),
        Some(sessions) => {
            // As CSIT has it: a table of twice the next power of two.
            let log2 = sessions.next_power_of_two().trailing_zeros() + 1;
            format!(
                "statseg {{ socket-name {stats} size 2G }}\nmemory {{ main-heap-size 6G main-heap-page-size 2M }}\n\
                 sfdp {{ sessions-log2 {log2} }}"
            )
        }
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A VPP that is configured for a path; killed when this value is dropped.
pub struct Peer {
    child: Child,
    folder: TempDir,
    vppctl: PathBuf,
    /// VPP's version, as it reports it.
    pub version: String,
    /// The node that sends what comes of the packets.
    sends: String,
}

/// Pages of 2 MB that VPP's buffers and heap take; and with sessions by the million, whose heap has such pages alone.
const LARGE_PAGES: usize = 128;
const OF_MILLIONS: usize = LARGE_PAGES + 3072;

/// Whether there are so many: on pages of 4 KB, which it takes otherwise, VPP needs up to twice the ticks, and the figures would mean
/// nothing.
fn has_large_pages(wanted: usize) -> Result<(), String> {
    let told = |error: std::io::Error| format!("/proc/meminfo: {error}");
    let text = fs::read_to_string("/proc/meminfo").map_err(told)?;
    let free = text.lines().find_map(|line| line.strip_prefix("HugePages_Free:")?.trim().parse::<usize>().ok());
    match free.unwrap_or(0) {
        free if free >= wanted => Ok(()),
        free => {
            let more = wanted + LARGE_PAGES;
            Err(format!("{free} pages of 2 MB are free, and VPP wants {wanted}; run `sysctl vm.nr_hugepages={more}`"))
        }
    }
}

impl Peer {
    /// Starts one for a path, whose interfaces have these addresses, with its packets in vectors of these sizes, and packets that come before, by interface. None if the path
    /// is none of VPP's.
    pub fn new(
        programs: &Programs,
        path: &Measured,
        macs: [[u8; 6]; 2],
        (packets, vectors): (&[Vec<u8>], &[usize]),
        before: impl Iterator<Item = (&'static str, Vec<Vec<u8>>)>,
    ) -> Result<Option<Peer>, String> {
        let Some(further) = path.peer else { return Ok(None) };
        has_large_pages(if path.sessions.is_some() { OF_MILLIONS } else { LARGE_PAGES })?;
        let folder = TempDir::with_prefix("quiver-peer-").map_err(|error| error.to_string())?;
        let at = |name: &str| folder.path().join(name).display().to_string();
        let startup = [
            format!("unix {{ nodaemon cli-listen {} runtime-dir {} }}", at("cli"), at("")),
            format!("api-segment {{ prefix quiver{} }}", std::process::id()),
            format!("socksvr {{ socket-name {} }}", at("api")),
            memory(path.sessions, &at("stats")),
            "plugins { plugin dpdk_plugin.so { disable } }".into(),
        ];
        let told = |error: std::io::Error| error.to_string();
        fs::write(at("startup.conf"), startup.join("\n")).map_err(told)?;
        let log = fs::File::create(at("log")).map_err(told)?;
        let mut command = Command::new(&programs.vpp);
        command.arg("-c").arg(at("startup.conf")).stdin(Stdio::null());
        command.stdout(log.try_clone().map_err(told)?).stderr(log);
        let child = command.spawn().map_err(|error| format!("{}: {error}", programs.vpp.display()))?;
        let sends = format!("{}-tx", path.sends);
        let mut peer = Peer { child, folder, vppctl: programs.vppctl.clone(), version: String::new(), sends };
        peer.wait()?;
        let said = peer.say("show version")?;
        peer.version = said.split_whitespace().nth(1).unwrap_or("unknown").to_owned();
        for (interface, mac) in ["pg0", "pg1"].into_iter().zip(macs) {
            let mac = mac.map(|octet| format!("{octet:02x}")).join(":");
            peer.configure(&format!("create packet-generator interface {interface}"))?;
            peer.configure(&format!("set interface mac address {interface} {mac}"))?;
            // Its sub-interfaces can be up only if it is.
            peer.configure(&format!("set interface state {interface} up"))?;
        }
        let commands = (path.commands)().into_iter().chain(further()).map(|line| as_vpp_says(&line));
        let file = peer.folder.path().join("commands");
        fs::write(&file, commands.collect::<Vec<_>>().join("\n") + "\n").map_err(told)?;
        peer.configure(&format!("exec {}", file.display()))?;
        for (n, (interface, packets)) in before.enumerate() {
            let name = format!("first{n}");
            peer.stream(&name, interface, &packets, VECTORS[VECTORS.len() - 1], packets.len())?;
            peer.run(&name)?;
            peer.configure(&format!("packet-generator delete {name}"))?;
        }
        for vector in vectors.iter().copied() {
            peer.stream(&vector.to_string(), "pg0", packets, vector, FILL * FILLS)?;
        }
        Ok(Some(peer))
    }
    fn wait(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while start.elapsed() < READY_WITHIN {
            if let Some(status) = self.child.try_wait().map_err(|error| error.to_string())? {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                return Err(format!("VPP ended with {status}: {}", log.trim()));
            }
            if self.say("show version").is_ok_and(|said| said.starts_with("vpp ")) {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("VPP does not answer within {} s", READY_WITHIN.as_secs()))
    }
    /// Sends a command to VPP and returns the answer.
    fn say(&self, line: &str) -> Result<String, String> {
        let mut command = Command::new(&self.vppctl);
        command.arg("-s").arg(self.folder.path().join("cli")).args(line.split(' '));
        let output = command.output().map_err(|error| format!("{}: {error}", self.vppctl.display()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        }
    }
    /// Runs a command that has nothing to say but names of what it made.
    fn configure(&self, line: &str) -> Result<(), String> {
        let said = self.say(line)?;
        let is_name = |said: &str| !said.trim().contains(' ') || said.starts_with("bridge-domain ");
        match said.lines().all(is_name) {
            true => Ok(()),
            false => Err(format!("VPP says to `{line}`: {}", said.split_whitespace().collect::<Vec<_>>().join(" "))),
        }
    }
    /// Defines a stream of VPP's packet generator that sends these packets in order, `all` packets in total.
    fn stream(&self, name: &str, from: &str, packets: &[Vec<u8>], vector: usize, all: usize) -> Result<(), String> {
        let file = self.folder.path().join(format!("{name}.pcap"));
        let told = |error: pcap_file::PcapError| format!("{}: {error}", file.display());
        let mut writer = PcapWriter::new(fs::File::create(&file).map_err(|error| error.to_string())?).map_err(told)?;
        for packet in packets {
            let length = packet.len() as u32;
            writer.write_packet(&PcapPacket::new(Duration::ZERO, length, packet)).map_err(told)?;
        }
        drop(writer);
        self.configure(&format!(
            "packet-generator new {{ name {name} limit {all} pcap {} source {from} node ethernet-input maxframe {vector} }}",
            file.display()
        ))
    }
    /// Runs a stream to its end.
    fn run(&self, name: &str) -> Result<(), String> {
        self.configure(&format!("packet-generator enable-stream {name}"))?;
        let start = Instant::now();
        while runtime::is_running(&self.say("show packet-generator")?, name) {
            if start.elapsed() > SENT_WITHIN {
                return Err(format!("VPP's generator does not end within {} s", SENT_WITHIN.as_secs()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }
    /// Ticks per packet over one window, as [`Bench::window`](super::Bench) has them.
    pub fn window(&mut self, vector: usize) -> Result<f64, String> {
        // As with ours the first one is unseen.
        self.run(&vector.to_string())?;
        self.configure("clear runtime")?;
        self.run(&vector.to_string())?;
        let nodes = runtime::nodes(&self.say("show runtime")?);
        let all = FILL * FILLS;
        let sent = nodes.iter().find(|node| node.name == self.sends).map_or(0, |node| node.packets);
        // It may have sent an advertisement of its own meanwhile.
        if sent < all as u64 {
            return Err(format!("VPP sent {sent} of {all} packets: {}", self.say("show errors")?.trim()));
        }
        let clocks = nodes.iter().filter(|node| node.name != "pg-input").map(|node| node.clocks * node.packets as f64);
        Ok(clocks.sum::<f64>() / all as f64)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command of ours without what only we know: how a table is made for many routes, or counts by route, which VPP always does.
fn as_vpp_says(line: &str) -> String {
    line.split(' ').filter(|word| !["large", "counters", ""].contains(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_we_know_is_left_out() {
        assert_eq!(as_vpp_says("ip table add 1 counters large"), "ip table add 1");
        assert_eq!(as_vpp_says("ip table add 1  "), "ip table add 1");
        let route = "ip route add count 8 48.0.0.0/16 table 1 via 10.2.0.2 pg1";
        assert_eq!(as_vpp_says(route), route);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = Programs::find(Some(Path::new("/nowhere/vpp"))).expect_err("there is none");
        assert_eq!(error, "--peer /nowhere/vpp: there is no such program");
    }
}
