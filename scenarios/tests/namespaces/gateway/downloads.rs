//! `curl` downloads many files from nginx at a time.

use std::fs;
use std::net::IpAddr;

use libtest_mimic::Failed;
use quiver_netns::Program;

use super::Site;
use crate::downloads::{serve, write};

const FILES: u32 = 2000;
/// Bytes of a file at most.
const LONGEST: usize = 8000;
/// Programs that share the files, at the same time. They take turns with the families.
const PROGRAMS: u32 = 4;
/// Connections of a program at a time.
const PARALLEL: &str = "50";

/// Each file comes whole, by a connection of its own.
pub fn whole(site: &Site) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (files, received) = (folder.path().join("files"), folder.path().join("received"));
    fs::create_dir(&files)?;
    fs::create_dir(&received)?;
    let digests = write(&files, FILES, LONGEST)?;
    let _nginx = serve(&site.outside.server, folder.path())?;
    let servers = site.policy.servers().iter().cycle();
    let start = |(number, server): (u32, &IpAddr)| {
        let (first, end) = (FILES / PROGRAMS * number, FILES / PROGRAMS * (number + 1));
        let mut curl = site.gateway.host.command("curl");
        curl.args(["--no-progress-meter", "--fail", "--max-time", "60", "--parallel", "--parallel-max", PARALLEL]);
        curl.args(["--resolve", &format!("web:8080:{server}"), "--output"]).arg(received.join("#1"));
        Program::start(curl.arg(format!("http://web:8080/f[{first:07}-{:07}]", end - 1)))
    };
    let programs: Vec<_> = (0..PROGRAMS).zip(servers).map(start).collect::<Result<_, _>>()?;
    for program in programs {
        program.finish()?;
    }
    for (number, &digest) in digests.iter().enumerate() {
        let bytes = fs::read(received.join(format!("{number:07}")))?;
        if crc32fast::hash(&bytes) != digest {
            return Err(format!("file {number} came damaged, with {} bytes", bytes.len()).into());
        }
    }
    Ok(())
}
