//! A host of a testbed on which devices are measured: here or behind ssh.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use quiver_stop::Stop;
use quiver_suite::field::{Device, Keyword as _};
use quiver_testbed::{Command, Host, Shell, Stay};
use serde_json::Value;

use crate::Error;

/// How long a host may take to answer a question.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// The first script on a host: a line for each answer, and then its interfaces.
const FACTS: &str = "id -u; uname -sr; uname -m; sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
cat /proc/sys/kernel/random/boot_id; ip -json link show";

/// A host on which devices are started: it has been reached and looked at, and holds a folder of the run, which goes with this value.
pub struct Site {
    name: String,
    stay: Arc<Stay>,
    programs: BTreeMap<String, PathBuf>,
    facts: Facts,
    /// Programs that were copied, by their files here.
    brought: OnceCell<(PathBuf, PathBuf)>,
    /// Numbers files.
    files: Cell<u32>,
}

/// Facts of a host that were read when it was reached.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    user: String,
    kernel: String,
    architecture: String,
    cores: Vec<usize>,
    boot: String,
    interfaces: Vec<Value>,
}

impl Site {
    /// Goes to a host. `socket` is a path here at which the connection can be had, and that is free; the flag of
    /// `stop` ends every wait for it.
    ///
    /// # Errors
    /// The host is not reached, or lacks what every device needs.
    pub fn open(host: &Host, socket: &Path, stop: &Stop) -> Result<Site, Error> {
        let stay = Arc::new(Stay::begin(&host.shell().heeding(stop), socket)?);
        let said = stay.shell().run(&Command::new("sh").args(["-ec", FACTS]), ANSWER_WITHIN)?.output;
        let foreign = || Error::Site {
            host: host.name.clone(),
            what: format!("it answers `{FACTS}` without a line for each: {said}"),
            remedy: "it must be a Linux with iproute2".to_owned(),
        };
        let facts = facts(&said).ok_or_else(foreign)?;
        let (name, programs) = (host.name.clone(), host.programs.clone());
        Ok(Site { name, stay, programs, facts, brought: OnceCell::new(), files: Cell::new(0) })
    }

    /// The host's name in the testbed's file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs commands on the host.
    pub fn shell(&self) -> &Shell {
        self.stay.shell()
    }

    pub(crate) fn stay(&self) -> &Arc<Stay> {
        &self.stay
    }

    /// Whether it is another machine than this one.
    pub fn is_away(&self) -> bool {
        self.shell().is_away()
    }

    /// Its kernel, by name and release.
    pub fn kernel(&self) -> &str {
        &self.facts.kernel
    }

    /// The boot id of the host's kernel: testbed hosts may share one kernel.
    pub fn boot(&self) -> &str {
        &self.facts.boot
    }

    /// The cores that programs may use there.
    pub fn cores(&self) -> &[usize] {
        &self.facts.cores
    }

    /// The entry of `ip -json link show` for an interface when the host was reached.
    ///
    /// # Errors
    /// There is none of this name, it is down, or nobody here may take it. `port` is what the testbed calls it.
    pub fn interface(&self, port: &str, name: &str) -> Result<&Value, Error> {
        let refused = |what: String, remedy: String| Error::Site { host: self.name.clone(), what, remedy };
        let found = self.facts.interfaces.iter().find(|link| link["ifname"] == name);
        let all =
            || self.facts.interfaces.iter().filter_map(|link| link["ifname"].as_str()).collect::<Vec<_>>().join(", ");
        let what = || format!("there is no interface {name} for port '{port}'");
        let link = found.ok_or_else(|| refused(what(), format!("its interfaces are: {}", all())))?;
        let is_up = link["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == "UP"));
        if !is_up {
            let what = format!("interface {name} of port '{port}' is down");
            return Err(refused(what, format!("run `ip link set {name} up` there")));
        }
        if self.facts.user != "0" && !self.programs.contains_key("quiverd") {
            let what = format!("user {} has no right to take interface {name} of port '{port}'", self.facts.user);
            let remedy = "log in as root, or name below 'programs' a quiverd there that has the right \
                (`setcap cap_net_raw,cap_net_admin=ep`)";
            return Err(refused(what, remedy.to_owned()));
        }
        Ok(link)
    }

    /// Whether the user there has the rights that a device needs. A quiverd with capabilities of its own needs fewer.
    pub(crate) fn admits(&self, device: Device) -> Result<(), Error> {
        if device == Device::Quiver || self.facts.user == "0" {
            return Ok(());
        }
        let what = format!("user {} has no right to have {} take its interfaces", self.facts.user, device.word());
        Err(Error::Site { host: self.name.clone(), what, remedy: "log in as root".to_owned() })
    }

    /// Runs a short script there and returns its output.
    ///
    /// # Errors
    /// It fails, or the host is not reached.
    pub fn ask(&self, script: &str) -> Result<String, Error> {
        Ok(self.stay.ask(script, ANSWER_WITHIN)?)
    }

    /// A path there for a file, which no other file has.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let number = self.files.replace(self.files.get() + 1);
        Path::new(self.stay.folder()).join(format!("{number}-{name}"))
    }

    /// The path of a program there, by its path or by its name in `PATH`; or nothing.
    fn path(&self, program: &Path) -> Result<Option<PathBuf>, Error> {
        // Administrators' programs are not on everybody's path.
        let script =
            r#"PATH=$PATH:/usr/sbin:/sbin; case $1 in */*) [ -x "$1" ] && echo "$1";; *) command -v "$1";; esac"#;
        let look = Command::new("sh").args(["-c", script, "look"]).arg(program.to_string_lossy());
        match self.shell().run(&look, ANSWER_WITHIN) {
            Ok(said) => Ok(Some(said.output.trim().into())),
            Err(quiver_testbed::ShellError::Failed { .. }) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }

    /// A program that the testbed names there, or that is in the host's `PATH`. `remedy` is for one that is not.
    pub(crate) fn found(&self, name: &str, remedy: &str) -> Result<PathBuf, Error> {
        let named = self.programs.get(name).map_or_else(|| Path::new(name), PathBuf::as_path);
        self.path(named)?.ok_or_else(|| Error::Site {
            host: self.name.clone(),
            what: format!("there is no program {}", named.display()),
            remedy: format!("{remedy} there, or name it below 'programs': {{{name}: PATH}}"),
        })
    }

    /// A program that the testbed names there, or else the one from here, which is copied once.
    pub(crate) fn brought(&self, name: &str, here: Result<PathBuf, Error>) -> Result<PathBuf, Error> {
        let missing = |what: String, remedy: String| Error::Site { host: self.name.clone(), what, remedy };
        if let Some(path) = self.programs.get(name) {
            let remedy = "build it, or leave it out below 'programs': then it is copied from here";
            let what = || format!("there is no program {}", path.display());
            return self.path(path)?.ok_or_else(|| missing(what(), remedy.to_owned()));
        }
        let here = here?;
        if !self.is_away() {
            return Ok(here);
        }
        if let Some((of, there)) = self.brought.get()
            && *of == here
        {
            return Ok(there.clone());
        }
        let (own, its) = (std::env::consts::ARCH, &self.facts.architecture);
        if own != its {
            let what = format!("its processor is {its}, and the {name} here is for {own}");
            return Err(missing(what, format!("build one there, and name it below 'programs': {{{name}: PATH}}")));
        }
        let program = std::fs::read(&here).map_err(Error::file(&here))?;
        let there = self.file(name);
        let text = there.to_string_lossy().into_owned();
        self.shell().write(&text, &program)?;
        self.shell().run(&Command::new("chmod").args(["700", &text]), ANSWER_WITHIN)?;
        // Where builds take turns, each is copied again.
        let _ = self.brought.set((here, there.clone()));
        Ok(there)
    }
}

/// Its answer to [`FACTS`].
fn facts(said: &str) -> Option<Facts> {
    let mut lines = said.lines();
    let mut line = || lines.next().map(|line| line.trim().to_owned());
    let (user, kernel, architecture) = (line()?, line()?, line()?);
    let (cores, boot) = (cores(&line()?)?, line()?);
    let interfaces = serde_json::from_str(&lines.collect::<String>()).ok()?;
    Some(Facts { user, kernel, architecture, cores, boot, interfaces })
}

/// Numbers as the kernel lists them: `0-3,8`.
fn cores(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_tells_what_it_is_line_by_line() {
        let said = "0\nLinux 6.1.0\nx86_64\n0-1,4\n7d1c\n[{\"ifname\":\"lo\",\n\"flags\":[\"UP\"]}]\n";
        let found = facts(said).expect("all lines");
        assert_eq!((found.user.as_str(), found.kernel.as_str(), found.boot.as_str()), ("0", "Linux 6.1.0", "7d1c"));
        assert_eq!((found.cores, &found.interfaces[0]["ifname"]), (vec![0, 1, 4], &Value::from("lo")));
        assert_eq!(facts("0\nLinux 6.1.0\n"), None);
        assert_eq!(facts(&said.replace("0-1,4", "all")), None);
    }

    #[test]
    fn this_machine_is_a_site_whose_ports_are_checked() {
        let testbed = quiver_testbed::Testbed::here(&[], None);
        let folder = tempfile::tempdir().expect("a folder");
        let host = testbed.host(testbed.generator.host);
        let site = Site::open(host, &folder.path().join("ssh"), &Stop::default()).expect("this machine");
        assert!(!site.is_away() && !site.cores().is_empty() && site.kernel().starts_with("Linux "));
        let error = site.interface("left", "no-such-port").expect_err("no such interface").to_string();
        assert!(error.starts_with("localhost: there is no interface no-such-port for port 'left'; its"), "{error}");
        let loopback = |site: &Site| site.interface("left", "lo").map(drop).map_err(|error| error.to_string());
        let facts = Facts { interfaces: vec![serde_json::json!({"ifname": "lo", "flags": ["UP"]})], ..site.facts };
        let mut site = Site { facts: Facts { user: "0".into(), ..facts }, ..site };
        assert_eq!(loopback(&site), Ok(()));
        site.facts.user = "1000".into();
        let error = loopback(&site).expect_err("not root");
        assert!(
            error.contains("user 1000 has no right to take interface lo of port 'left'; log in as root"),
            "{error}"
        );
        site.programs.insert("quiverd".into(), "/opt/quiverd".into());
        assert_eq!(loopback(&site), Ok(()));
        assert!(site.admits(Device::Quiver).is_ok());
        let error = site.admits(Device::Linux).expect_err("not root").to_string();
        assert_eq!(error, "localhost: user 1000 has no right to have linux take its interfaces; log in as root");
        site.programs.clear();
        site.facts.interfaces[0]["flags"] = serde_json::json!([]);
        let error = loopback(&site).expect_err("down");
        assert!(error.ends_with("lo of port 'left' is down; run `ip link set lo up` there"), "{error}");
        let own = site.brought("quiverd", Ok("/bin/sh".into())).expect("it is here already");
        assert_eq!(own, Path::new("/bin/sh"));
        let kept = site.file("cli");
        assert!(kept.parent().is_some_and(Path::is_dir));
        drop(site);
        assert!(kept.parent().is_some_and(|folder| !folder.exists()));
    }
}
