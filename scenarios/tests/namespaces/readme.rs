//! The README's first session: its configuration is applied and its commands run as they stand there.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use libtest_mimic::Failed;
use quiver_netns::{World, run};
use quiver_testkit::trials::Trial;

const README: &str = include_str!("../../../README.md");
/// Prepares the private network, `/run` and `/var/lib` of the session, and stops at the first command that fails.
const PREPARE: &str = "set -e
mount -t tmpfs run /run
mkdir /run/netns
mount -t tmpfs state /var/lib
ip link set lo up
";

pub const TRIALS: &[Trial<World>] = &[("a_newcomer_can_run_the_first_session", first_session)];

fn first_session(_: &World) -> Result<(), Failed> {
    let (_, session) = README.split_once("\n## A first session\n").ok_or("the README has a first session")?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("site.yaml"), block(session, "yaml")?)?;
    let script = format!("{PREPARE}{}", block(session, "sh")?);
    fs::write(folder.path().join("session.sh"), &script)?;
    let this = env::current_exe()?;
    let programs = this.ancestors().nth(2).ok_or("a folder of programs")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(programs.to_owned()).chain(env::split_paths(&path)))?;
    // Everything that the session starts and makes ends with its shell.
    let said = run(Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "session.sh"])
        .current_dir(folder.path())
        .env("PATH", path))?;
    for (expected, count) in [(" 3 received, 0% packet loss", 2), ("dropped by acl-input-ip4: denied", 1)] {
        if said.matches(expected).count() != count {
            return Err(format!("not {count} times `{expected}`:\n{said}").into());
        }
    }
    saved(&folder.path().join("running.yaml"))
}

/// The session ends with a configuration that has all sections of the initial one.
fn saved(file: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(file)?;
    let sections = ["taps:", "sub-interfaces:", "bridge-domains:", "acls:", "acl-interfaces:"];
    match sections.into_iter().find(|section| !text.contains(section)) {
        Some(missing) => Err(format!("{missing} was not saved:\n{text}").into()),
        None => Ok(()),
    }
}

/// The first block of code of a language.
fn block<'a>(text: &'a str, language: &str) -> Result<&'a str, Failed> {
    let (_, rest) = text.split_once(&format!("\n```{language}\n")).ok_or(format!("there is no {language} block"))?;
    let (block, _) = rest.split_once("\n```").ok_or(format!("the {language} block has no end"))?;
    Ok(block)
}
