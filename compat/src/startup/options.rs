//! A `startup.conf` as options of quiverd.

use std::path::{Path, PathBuf};

use super::error::{Note, Severity};
use super::settings::Startup;

/// Values of the machine that options depend on.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Number of cores that workers may use.
    pub cores: usize,
    /// The folder of sockets where the text names none.
    pub runtime_folder: PathBuf,
}

impl Startup {
    /// The equivalent options of quiverd. Like VPP, it then runs in the background unless told otherwise, serves the
    /// binary API and the stats segment in its runtime folder, and starts without configuration. It announces no
    /// addresses, sends no ICMP for a missing route, forwards packets that arrived in link-layer broadcasts, drops
    /// packets to unresolved neighbors, ignores ARP and neighbor solicitations of hosts outside the link's subnets, and
    /// punts unknown protocols.
    pub fn options(&self, machine: &Machine) -> Vec<String> {
        let mut options = Options::default();
        let unix = &self.unix;
        options.flag("--daemon", !unix.foreground);
        options.flag("--no-state", true);
        options.value("--no-route", Some("drop"));
        options.value("--link-layer-broadcast", Some("forward"));
        options.flag("--no-announcements", true);
        options.value("--unresolved", Some("drop"));
        options.value("--strangers", Some("ignore"));
        options.value("--unspoken", Some("punt"));
        options.value("--punt-socket", self.punt_socket.as_deref().map(text));
        options.value("--runtime-dir", unix.runtime_folder.as_deref().map(text));
        // VPP's users and tests look for captures and traces there.
        options.value("--captures", Some("/tmp"));
        options.value("--pid-file", unix.pid_file.as_deref().map(text));
        options.value("--log-file", unix.log.as_deref().map(text));
        options.value("--log-level", self.log_level);
        options.value("--group", unix.group.as_deref());
        options.value("--cli-listen", unix.cli_listen.as_deref());
        options.value("--cli-prompt", unix.terminal.prompt.as_deref());
        options.flag("--cli-no-banner", unix.terminal.no_banner);
        options.flag("--cli-no-pager", unix.terminal.no_pager);
        options.flag("--cli-line-mode", unix.terminal.line_mode);
        options.value("--cli-pager-lines", unix.terminal.pager_lines);
        options.value("--cli-history", unix.terminal.history);
        let folder = unix.runtime_folder.as_deref().unwrap_or(&machine.runtime_folder);
        let socket =
            |told: &Option<PathBuf>, name| told.clone().unwrap_or_else(|| folder.join(name)).display().to_string();
        options.value("--api-socket", Some(socket(&self.api_socket, "api.sock")));
        options.value("--api-trace", self.api_trace);
        options.value("--stats-socket", Some(socket(&self.stats_socket, "stats.sock")));
        options.value("--stats-size", self.stats_size);
        options.value("--stats-interval", self.stats_interval.as_deref());
        options.flag("--stats-without-nodes", self.stats_without_nodes);
        if self.cpu.cores.is_empty() {
            options.value("--workers", self.cpu.workers);
        } else {
            let cores = self.cpu.cores.iter().map(|core| (core % machine.cores.max(1)).to_string());
            options.value("--workers", Some(self.cpu.cores.len()));
            options.value("--cores", Some(cores.collect::<Vec<_>>().join(",")));
        }
        options.flag("--realtime", self.cpu.realtime);
        options.value("--buffers", self.buffers.count);
        options.value("--buffers-limit", self.buffers.count);
        options.value("--sessions", self.sessions.count);
        options.value("--session-interval", self.sessions.interval.as_deref());
        options.value("--isa", self.isa);
        options.value("--exec", unix.exec.as_deref().map(text));
        options.flag("--exec-all", unix.exec.is_some());
        options.0
    }

    /// Notes on the settings, with those that depend on this machine.
    pub fn notes_on(&self, machine: &Machine) -> Vec<Note> {
        let beyond: Vec<String> =
            self.cpu.cores.iter().filter(|core| **core >= machine.cores).map(ToString::to_string).collect();
        let warning = (!beyond.is_empty()).then(|| Note {
            severity: Severity::Warning,
            text: format!(
                "cpu: corelist-workers: this machine has {} cores, so core {} is counted round, and workers may share cores",
                machine.cores,
                beyond.join(", ")
            ),
        });
        self.notes.iter().cloned().chain(warning).collect()
    }
}

fn text(path: &Path) -> std::path::Display<'_> {
    path.display()
}

#[derive(Default)]
struct Options(Vec<String>);

impl Options {
    fn flag(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.0.push(name.to_owned());
        }
    }

    fn value(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.extend([name.to_owned(), value.to_string()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    fn machine(cores: usize) -> Machine {
        Machine { cores, runtime_folder: "/run/vpp".into() }
    }

    fn read(text: &str) -> Startup {
        let mut startup = Startup::default();
        startup.read(Source::CommandLine, text).unwrap();
        startup
    }

    #[test]
    fn without_a_word_it_is_what_vpp_does() {
        assert_eq!(
            read("").options(&machine(2)).join(" "),
            "--daemon --no-state --no-route drop --link-layer-broadcast forward --no-announcements --unresolved drop --strangers ignore --unspoken punt --captures /tmp --api-socket /run/vpp/api.sock --stats-socket /run/vpp/stats.sock"
        );
    }

    #[test]
    fn a_test_framework_gets_what_it_asks_for() {
        let text = "unix { nodaemon nosyslog  full-coredump coredump-size unlimited runtime-dir /t cli-listen  /t/cli.sock \
            } api-trace { on } api-segment { prefix p } cpu { main-core 0 corelist-workers 1,2 } physmem { max-size 32m \
            } statseg { socket-name /t/stats.sock } socksvr { socket-name /t/api.sock } node { default { variant avx512 } } \
            api-fuzz { off } plugins { plugin dpdk_plugin.so { disable } plugin unittest_plugin.so { enable } } statseg { \
            size 64M }";
        let startup = read(text);
        assert_eq!(
            startup.options(&machine(2)).join(" "),
            "--no-state --no-route drop --link-layer-broadcast forward --no-announcements --unresolved drop --strangers ignore --unspoken punt --runtime-dir /t --captures /tmp --cli-listen /t/cli.sock --api-socket /t/api.sock --api-trace 262144 --stats-socket /t/stats.sock \
             --stats-size 67108864 --workers 2 --cores 1,0 --isa avx512"
        );
        let told = startup.notes_on(&machine(2));
        assert!(told.iter().any(|note| note.text.contains("so core 2 is counted round")), "{told:?}");
        assert!(!startup.notes_on(&machine(4)).iter().any(|note| note.text.contains("counted round")));
    }

    #[test]
    fn sockets_without_a_path_are_in_the_runtime_folder() {
        let options = read("unix { nodaemon runtime-dir /t }").options(&machine(2)).join(" ");
        assert!(options.contains("--api-socket /t/api.sock --stats-socket /t/stats.sock"), "{options}");
    }
}
