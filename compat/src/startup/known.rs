//! The table of all settings of VPP, with their dispositions.
//!
//! The migration guide prints this table, and a test reads every example in it.

use std::path::PathBuf;

use crate::trace::MESSAGES;

use super::error::{Severity, StartupError};
use super::given::GivenValues;
use super::grammar::{Item, Word};
use super::plugins;
use super::settings::Startup;
use super::values::mask;

/// A setting.
pub struct Setting {
    /// Its section.
    pub section: &'static str,
    /// Syntax: words, `<values>`, `(one|of|these)`, and `{}` for a block. Empty for a section as a whole.
    pub form: &'static str,
    /// Its disposition.
    pub disposition: Disposition,
}

/// Disposition of a setting.
pub enum Disposition {
    /// It is used.
    Used {
        /// Effect, for people.
        becomes: &'static str,
        /// The setting as it could be written.
        example: &'static str,
        /// The options of quiverd that the example adds.
        gives: &'static str,
        /// Reads it.
        read: Read,
    },
    /// It has no meaning here, and why.
    Pointless(&'static str),
    /// It needs a feature that Quiver does not have yet; with the text of the warning.
    Missing(&'static str),
}

/// Reads a setting.
type Read = fn(&mut Startup, &GivenValues, &mut Vec<(Severity, String)>) -> Result<(), StartupError>;

impl Setting {
    /// Its words before the first value.
    pub fn name(&self) -> &'static str {
        let end = self.form.find(['<', '(', '{']).unwrap_or(self.form.len());
        let name = self.form[..end].trim_end();
        if name.is_empty() { self.section } else { name }
    }
}

/// Takes items that match a form from the end of `items`, where the next one is; returns their values and blocks.
pub(super) fn take(form: &str, items: &mut Vec<Item>) -> Option<Vec<Item>> {
    let (mut taken, mut arguments) = (0, Vec::new());
    let mut glued = None;
    for piece in form.split_whitespace() {
        let index = items.len().checked_sub(taken + 1)?;
        match (&items[index], piece) {
            (Item::Block(_), "{}") => arguments.push(items[index].clone()),
            (Item::Word(word), piece) if piece.starts_with('(') => {
                // VPP does not ask for white space behind such a word.
                let choices = piece[1..].trim_end_matches(')').split('|');
                let choice =
                    choices.filter(|choice| word.text.starts_with(choice)).max_by_key(|choice| choice.len())?;
                let rest = &word.text[choice.len()..];
                glued = (!rest.is_empty()).then(|| Item::Word(Word { text: rest.to_owned(), place: word.place }));
                arguments.push(Item::Word(Word { text: choice.to_owned(), place: word.place }));
            }
            (Item::Word(_), piece) if piece.starts_with('<') => arguments.push(items[index].clone()),
            (Item::Word(word), piece) if word.text == piece => {}
            _ => return None,
        }
        taken += 1;
    }
    items.truncate(items.len() - taken);
    items.extend(glued);
    Some(arguments)
}

/// Whether an item is the first word of a form.
pub(super) fn begins(form: &str, item: &Item) -> bool {
    matches!((item, form.split_whitespace().next()), (Item::Word(word), Some(first)) if word.text == first)
}

const fn used(
    section: &'static str,
    form: &'static str,
    becomes: &'static str,
    [example, gives]: [&'static str; 2],
    read: Read,
) -> Setting {
    Setting { section, form, disposition: Disposition::Used { becomes, example, gives, read } }
}

const fn pointless(section: &'static str, form: &'static str, why: &'static str) -> Setting {
    Setting { section, form, disposition: Disposition::Pointless(why) }
}

const fn missing(section: &'static str, form: &'static str, what: &'static str) -> Setting {
    Setting { section, form, disposition: Disposition::Missing(what) }
}

const MEMORY: &str = "memory is allocated on demand, and objects have limits of their own";
const CORE_DUMPS: &str = "core dumps are configured by the service manager (LimitCORE=) or by `ulimit -c`";
const NO_SEGMENT: &str = "clients use sockets, not a shared memory segment";
const LOG_BUFFER: &str = "the log is written at once, to the file or to standard error";
const NO_VPP_PLUGINS: &str = "VPP's plugins cannot be loaded; Quiver's own are named by `--plugin`";
const ONE_SIZE: &str = "buffers have one size, and longer packets are chains of them";
const ALL_LOG: &str = "`default-log-level` applies";

const LEVELS: [(&str, &str); 9] = [
    ("emerg", "error"),
    ("alert", "error"),
    ("crit", "error"),
    ("error", "error"),
    ("warn", "warn"),
    ("notice", "info"),
    ("info", "info"),
    ("debug", "debug"),
    ("disabled", "off"),
];

/// VPP's names of the instruction sets for which it compiles nodes.
const VARIANTS: [(&str, &str); 8] = [
    ("icl", "avx512"),
    ("skx", "avx512"),
    ("avx512", "avx512"),
    ("hsw", "avx2"),
    ("trm", "avx2"),
    ("adl", "avx2"),
    ("avx2", "avx2"),
    ("default", "baseline"),
];

/// All settings, section by section; where two begin alike, the longer one comes first.
pub const SETTINGS: &[Setting] = &[
    used("unix", "nodaemon", "quiverd stays in the foreground; without it: `--daemon`", ["nodaemon", ""], |s, _, _| {
        s.unix.foreground = true;
        Ok(())
    }),
    used(
        "unix",
        "interactive",
        "quiverd stays in the foreground; its console is `quiver`, or `vppctl`",
        ["interactive", ""],
        |s, _, _| {
            s.unix.foreground = true;
            Ok(())
        },
    ),
    used("unix", "nosyslog", "quiverd stays in the foreground, as VPP does", ["nosyslog", ""], |s, _, _| {
        s.unix.foreground = true;
        Ok(())
    }),
    used(
        "unix",
        "cli-listen <path-or-host:port>",
        "VPP's command line is served there, for `vppctl` and telnet",
        ["cli-listen /run/vpp/cli.sock", "--cli-listen /run/vpp/cli.sock"],
        |s, given, _| {
            s.unix.cli_listen = Some(given.text()?);
            Ok(())
        },
    ),
    used(
        "unix",
        "cli-prompt <text>",
        "the prompt of VPP's command line",
        ["cli-prompt edge#", "--cli-prompt edge#"],
        |s, given, _| {
            s.unix.terminal.prompt = Some(given.text()?);
            Ok(())
        },
    ),
    used("unix", "cli-no-pager", "the pager is disabled", ["cli-no-pager", "--cli-no-pager"], |s, _, _| {
        s.unix.terminal.no_pager = true;
        Ok(())
    }),
    used("unix", "cli-no-banner", "no banner is printed", ["cli-no-banner", "--cli-no-banner"], |s, _, _| {
        s.unix.terminal.no_banner = true;
        Ok(())
    }),
    used("unix", "nobanner", "no banner is printed", ["nobanner", "--cli-no-banner"], |s, _, _| {
        s.unix.terminal.no_banner = true;
        Ok(())
    }),
    used(
        "unix",
        "cli-line-mode",
        "echo and line editing are disabled",
        ["cli-line-mode", "--cli-line-mode"],
        |s, _, _| {
            s.unix.terminal.line_mode = true;
            Ok(())
        },
    ),
    used(
        "unix",
        "cli-pager-buffer-limit <lines>",
        "largest output that is paged, in lines",
        ["cli-pager-buffer-limit 1000", "--cli-pager-lines 1000"],
        |s, given, _| {
            s.unix.terminal.pager_lines = Some(given.number()?);
            Ok(())
        },
    ),
    used(
        "unix",
        "cli-history-limit <commands>",
        "length of the command history",
        ["cli-history-limit 10", "--cli-history 10"],
        |s, given, _| {
            s.unix.terminal.history = Some(given.number()?);
            Ok(())
        },
    ),
    pointless("unix", "nocolor", "output has no colors"),
    used(
        "unix",
        "runtime-dir <folder>",
        "runtime folder, also of sockets without a path",
        ["runtime-dir /tmp/v", "--runtime-dir /tmp/v"],
        |s, given, _| {
            s.unix.runtime_folder = given.path()?;
            Ok(())
        },
    ),
    used("unix", "use-current-dir", "the same", ["use-current-dir", "--runtime-dir ."], |s, _, _| {
        s.unix.runtime_folder = Some(PathBuf::from("."));
        Ok(())
    }),
    used(
        "unix",
        "exec <file>",
        "the commands of the file are run at start; errors are logged, and the rest is run",
        ["exec /etc/vpp/setup.gate", "--exec /etc/vpp/setup.gate --exec-all"],
        |s, given, _| {
            s.unix.exec = given.path()?;
            Ok(())
        },
    ),
    used(
        "unix",
        "startup-config <file>",
        "the same",
        ["startup-config /etc/vpp/setup.gate", "--exec /etc/vpp/setup.gate --exec-all"],
        |s, given, _| {
            s.unix.exec = given.path()?;
            Ok(())
        },
    ),
    used(
        "unix",
        "log <file>",
        "the log goes to the file",
        ["log /var/log/vpp/vpp.log", "--log-file /var/log/vpp/vpp.log"],
        |s, given, _| {
            s.unix.log = given.path()?;
            Ok(())
        },
    ),
    used("unix", "gid <group>", "the group may use the sockets", ["gid vpp", "--group vpp"], |s, given, _| {
        s.unix.group = Some(given.text()?);
        Ok(())
    }),
    used(
        "unix",
        "pidfile <file>",
        "the file has the process id of quiverd while it runs",
        ["pidfile /run/vpp/vpp.pid", "--pid-file /run/vpp/vpp.pid"],
        |s, given, _| {
            s.unix.pid_file = given.path()?;
            Ok(())
        },
    ),
    pointless("unix", "poll-sleep-usec <n>", "workers adapt to the load, and sleep when idle"),
    pointless("unix", "coredump-size <size>", CORE_DUMPS),
    pointless("unix", "full-coredump", CORE_DUMPS),
    used(
        "cpu",
        "workers <n>",
        "number of workers, on the highest cores",
        ["workers 2", "--workers 2"],
        |s, given, _| {
            s.cpu.workers = Some(given.number()?);
            s.cpu.cores.clear();
            Ok(())
        },
    ),
    used(
        "cpu",
        "corelist-workers <cores>",
        "a worker on each of these cores; cores beyond the machine's wrap around, with a warning",
        ["corelist-workers 1-2", "--workers 2 --cores 1,2"],
        |s, given, _| {
            s.cpu.cores = given.cores()?;
            Ok(())
        },
    ),
    used(
        "cpu",
        "coremask-workers <mask>",
        "the same, as a mask in hexadecimal digits",
        ["coremask-workers 0x6", "--workers 2 --cores 1,2"],
        |s, given, _| {
            let word = given.word()?;
            s.cpu.cores = mask(&word.text).ok_or_else(|| given.wrong(Some(word), "a mask such as 0x6"))?;
            Ok(())
        },
    ),
    used(
        "cpu",
        "scheduler-policy <policy>",
        "fifo and rr: workers have real-time priority; other, batch and idle: they have not",
        ["scheduler-policy fifo", "--realtime"],
        |s, given, _| {
            let known = [("fifo", true), ("rr", true), ("other", false), ("batch", false), ("idle", false)];
            s.cpu.realtime = given.choice(&known, "other, batch, idle, fifo or rr")?;
            Ok(())
        },
    ),
    pointless(
        "cpu",
        "scheduler-priority <n>",
        "real-time workers have the lowest of these priorities, below Linux's own",
    ),
    pointless("cpu", "main-core <n>", "the control thread carries no packets, so Linux chooses its core"),
    pointless("cpu", "skip-cores <n>", "workers begin at the highest core; `corelist-workers` chooses others"),
    missing("cpu", "relative", "cores always have the machine's numbers"),
    pointless("cpu", "thread-prefix <text>", "threads are called quiver-0 and so on"),
    pointless("cpu", "use-pthreads", "there are no other threads"),
    pointless("cpu", "numa-heap-size <size>", MEMORY),
    used(
        "buffers",
        "buffers-per-numa <n>",
        "number of buffers for all NUMA nodes together; without it the pool grows on demand",
        ["buffers-per-numa 128000", "--buffers 128000 --buffers-limit 128000"],
        |s, given, _| {
            s.buffers.count = Some(given.number()?);
            Ok(())
        },
    ),
    pointless("buffers", "default data-size <n>", ONE_SIZE),
    pointless("buffers", "page-size <size>", "huge pages are used where the system grants them"),
    pointless("buffers", "layout <layout>", "there is one layout"),
    pointless("buffers", "numa <n> {}", "the pool is one for all NUMA nodes"),
    pointless("memory", "", MEMORY),
    pointless("heapsize", "", MEMORY),
    pointless("physmem", "", MEMORY),
    used(
        "statseg",
        "socket-name <path>",
        "socket of the stats segment; by default in the runtime folder",
        ["socket-name /tmp/v/stats.sock", "--stats-socket /tmp/v/stats.sock"],
        |s, given, _| {
            s.stats_socket = given.path()?;
            Ok(())
        },
    ),
    used("statseg", "size <size>", "the size of the segment", ["size 64M", "--stats-size 67108864"], |s, given, _| {
        s.stats_size = Some(given.size()?);
        Ok(())
    }),
    pointless("statseg", "default", "it is the default"),
    pointless("statseg", "page-size <size>", "the segment has the system's pages"),
    used(
        "statseg",
        "per-node-counters (on|off)",
        "off: the segment has no per-node statistics",
        ["per-node-counters off", "--stats-without-nodes"],
        |s, given, _| {
            s.stats_without_nodes = !given.choice(&[("on", true), ("off", false)], "on or off")?;
            Ok(())
        },
    ),
    used(
        "statseg",
        "update-interval <seconds>",
        "interval between updates of rates; counters are always up to date",
        ["update-interval 0.5", "--stats-interval 0.5"],
        |s, given, _| {
            given.number::<f64>()?;
            s.stats_interval = Some(given.text()?);
            Ok(())
        },
    ),
    used(
        "socksvr",
        "socket-name <path>",
        "socket of the binary API; by default in the runtime folder",
        ["socket-name /tmp/v/api.sock", "--api-socket /tmp/v/api.sock"],
        |s, given, _| {
            s.api_socket = given.path()?;
            Ok(())
        },
    ),
    pointless("socksvr", "default", "it is the default"),
    used("api-segment", "gid <group>", "the group may use the sockets", ["gid vpp", "--group vpp"], |s, given, _| {
        s.unix.group = Some(given.text()?);
        Ok(())
    }),
    pointless("api-segment", "uid <user>", "sockets belong to quiverd's user"),
    pointless("api-segment", "prefix <text>", NO_SEGMENT),
    pointless("api-segment", "baseva <address>", NO_SEGMENT),
    pointless("api-segment", "global-size <size>", NO_SEGMENT),
    pointless("api-segment", "global-pvt-heap-size <size>", NO_SEGMENT),
    pointless("api-segment", "api-pvt-heap-size <size>", NO_SEGMENT),
    pointless("api-segment", "api-size <size>", NO_SEGMENT),
    pointless("api-queue", "", NO_SEGMENT),
    used("api-trace", "on", "the API trace is started", ["on", "--api-trace 262144"], |s, _, _| {
        s.api_trace.get_or_insert(MESSAGES);
        Ok(())
    }),
    used("api-trace", "enable", "the API trace is started", ["enable", "--api-trace 262144"], |s, _, _| {
        s.api_trace.get_or_insert(MESSAGES);
        Ok(())
    }),
    used(
        "api-trace",
        "nitems <n>",
        "number of messages in the API trace",
        ["nitems 100", "--api-trace 100"],
        |s, given, _| {
            s.api_trace = Some(given.number()?);
            Ok(())
        },
    ),
    missing("api-trace", "save-api-table <file>", "the table of messages is not written"),
    used(
        "plugins",
        "plugin default {}",
        "applies to VPP's plugins; Quiver's features are built in",
        ["plugin default { disable }", ""],
        |_, given, notes| {
            plugins::told("default", given, notes);
            Ok(())
        },
    ),
    used(
        "plugins",
        "plugin <name> {}",
        "Quiver's features are built in; enabling a missing one is a warning",
        ["plugin ping_plugin.so { enable }", ""],
        |_, given, notes| {
            plugins::told(&given.text()?, given, notes);
            Ok(())
        },
    ),
    pointless("plugins", "path <folders>", NO_VPP_PLUGINS),
    pointless("plugins", "add-path <folders>", NO_VPP_PLUGINS),
    pointless("plugins", "name-filter <name>", NO_VPP_PLUGINS),
    pointless("plugins", "vat-path <folders>", NO_VPP_PLUGINS),
    pointless("plugins", "vat-name-filter <name>", NO_VPP_PLUGINS),
    pointless("plugin_path", "", NO_VPP_PLUGINS),
    pointless("test_plugin_path", "", NO_VPP_PLUGINS),
    used(
        "logging",
        "default-log-level <level>",
        "what is logged",
        ["default-log-level debug", "--log-level debug"],
        |s, given, _| {
            s.log_level =
                Some(given.choice(&LEVELS, "emerg, alert, crit, error, warn, notice, info, debug or disabled")?);
            Ok(())
        },
    ),
    pointless("logging", "default-syslog-log-level <level>", ALL_LOG),
    pointless("logging", "default-kmsg-log-level <level>", ALL_LOG),
    pointless("logging", "size <n>", LOG_BUFFER),
    pointless("logging", "unthrottle-time <seconds>", LOG_BUFFER),
    pointless("logging", "add-to-elog", LOG_BUFFER),
    pointless("logging", "class <name> {}", "use `set logging class` or RUST_LOG for single modules"),
    used(
        "node",
        "default {}",
        "`variant`: the instruction set of all nodes",
        ["default { variant hsw }", "--isa avx2"],
        |s, given, notes| {
            let mut items = given.block().map(|block| block.items.clone()).unwrap_or_default();
            items.reverse();
            while let Some(mut arguments) = take("variant <name>", &mut items) {
                let variant = arguments.pop().map(|item| item.excerpt()).unwrap_or_default();
                match VARIANTS.iter().find(|(name, _)| *name == variant) {
                    Some((_, isa)) => s.isa = Some(isa),
                    None => {
                        notes.push((Severity::Warning, format!("variant {variant} is not known, and was left out")))
                    }
                }
            }
            Ok(())
        },
    ),
    pointless("node", "<name> {}", "all nodes use the same instruction set"),
    used(
        "punt",
        "socket <path>",
        "programs send and receive punted packets by it (`punt socket register`)",
        ["socket /tmp/v/punt.sock", "--punt-socket /tmp/v/punt.sock"],
        |s, given, _| {
            s.punt_socket = given.path()?;
            Ok(())
        },
    ),
    pointless("l2fib", "", "the table grows as needed; `learn-limit` of a bridge domain bounds it"),
    pointless("l3fib", "", "tables grow as needed"),
    pointless("ip", "", MEMORY),
    pointless("vlib", "", "there is no event log"),
    pointless("api-fuzz", "", "it is a test tool inside VPP"),
    missing("dpdk", "", "there is no DPDK driver yet: `create host-interface` uses what Linux has"),
    missing("dsa", "", "DSA engines are not used"),
    missing("devices", "", "there are no native drivers yet: `create host-interface` uses what Linux has"),
    missing("vhost-user", "", "there is no vhost-user driver yet: memif and tap are"),
    missing("tuntap", "", "use `create tap`"),
    pointless("ip6", "", MEMORY),
    missing("session", "", "there is no host stack"),
    missing("tcp", "", "there is no host stack"),
    missing("udp", "", "there is no host stack"),
    missing("tls", "", "there is no host stack"),
    missing("quic", "", "there is no host stack"),
    missing("http", "", "there is no host stack"),
    missing("ipsec", "", "there is no IPsec yet"),
    missing("crypto-engines", "", "there is no IPsec yet"),
    pointless("nat", "", "`nat44 plugin enable` begins, and tables grow as needed"),
    pointless("nat44", "", "`nat44 plugin enable` begins, and tables grow as needed"),
    missing("cnat", "", "there is no CNAT yet"),
    missing("dslite", "", "there is no DS-Lite yet"),
    used(
        "sfdp",
        "sessions-log2 <n>",
        "2 to the power of this sessions can exist",
        ["sessions-log2 20", "--sessions 1048576"],
        |s, given, _| {
            let power = given.number::<u32>()?;
            let sessions = 1u64.checked_shl(power).filter(|sessions| *sessions <= 1 << 24);
            s.sessions.count = Some(sessions.ok_or_else(|| given.wrong(None, "a number from 0 to 24"))?);
            Ok(())
        },
    ),
    used(
        "sfdp",
        "timer-interval <seconds>",
        "sessions end at most this much after their timeout",
        ["timer-interval 0.05", "--session-interval 0.05"],
        |s, given, _| {
            given.number::<f64>()?;
            s.sessions.interval = Some(given.text()?);
            Ok(())
        },
    ),
    pointless("sfdp", "sessions-per-thread-cache-log2 <n>", "each worker has records of its own"),
    pointless("sfdp", "tenants-log2 <n>", "there can be 65,536 tenants"),
    pointless(
        "sfdp",
        "eviction-sessions-margin <n>",
        "in a full table a new session evicts one that is unanswered or closed",
    ),
    pointless("sfdp", "no-main", "the main thread processes no packets"),
    pointless("acl-plugin", "", "ACL sessions share the table of `--sessions`; timeouts are in section `acl-settings`"),
    missing("mpls", "", "there is no MPLS"),
    missing("linux-cp", "", "interfaces are not mirrored into Linux"),
    missing("linux-nl", "", "routes are not taken from Linux"),
    missing("dns", "", "there is no resolver"),
    missing("nsim", "", "there is no network simulator"),
];

#[cfg(test)]
mod tests {
    use super::super::{Machine, Source};
    use super::*;

    fn options(text: &str) -> String {
        let mut startup = Startup::default();
        startup.read(Source::CommandLine, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        startup.options(&Machine { cores: 64, runtime_folder: "/run/vpp".into() }).join(" ")
    }

    #[test]
    fn every_example_is_read_and_gives_what_the_table_says() {
        for setting in SETTINGS {
            if let Disposition::Used { example, gives, .. } = setting.disposition {
                let text = format!("{} {{ {example} }}", setting.section);
                assert!(options(&text).contains(gives), "{text}: {}", options(&text));
                // Options of other settings are absent without it.
                assert!(gives.is_empty() || !options("").contains(gives), "{text}");
                let mut startup = Startup::default();
                startup.read(Source::CommandLine, &text).unwrap();
                assert!(
                    startup.notes.iter().all(|note| note.severity == Severity::Info),
                    "{text}: {:?}",
                    startup.notes
                );
            }
        }
    }

    #[test]
    fn every_other_form_is_told() {
        for setting in SETTINGS.iter().filter(|setting| !matches!(setting.disposition, Disposition::Used { .. })) {
            let choice = |piece: &str| piece.trim_matches(['(', ')']).split('|').next().unwrap_or_default().to_owned();
            let pieces = setting.form.split_whitespace().map(|piece| match piece.as_bytes()[0] {
                b'<' => "7".to_owned(),
                b'(' => choice(piece),
                b'{' => "{ x }".to_owned(),
                _ => piece.to_owned(),
            });
            let text = format!("{} {{ {} }}", setting.section, pieces.collect::<Vec<_>>().join(" "));
            let mut startup = Startup::default();
            startup.read(Source::CommandLine, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let severity = match setting.disposition {
                Disposition::Pointless(_) => Severity::Info,
                _ => Severity::Warning,
            };
            assert_eq!(startup.notes.iter().map(|note| note.severity).collect::<Vec<_>>(), [severity], "{text}");
            assert!(!startup.notes[0].text.contains("not known"), "{text}: {}", startup.notes[0]);
        }
    }
}
