//! The connection generator as client of a real server: nginx in a namespace, behind a TAP interface.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use quiver_netns::{Namespace, Program, World};
use quiver_site::Daemon;
use quiver_testkit::trials::Trial;
use serde_json::Value;

pub const TRIALS: &[Trial<World>] = &[("two_thousand_files_are_downloaded_at_once_and_whole", files)];

const FILES: u32 = 2000;
/// Bytes of a file at most.
const LONGEST: usize = 60_000;
const WITHIN: Duration = Duration::from_secs(60);

/// Writes so many files `f0000000`, `f0000001` and so on, of random sizes below `longest`; the CRC-32 of each.
pub fn write(folder: &Path, files: u32, longest: usize) -> Result<Vec<u32>, Failed> {
    let mut random = fastrand::Rng::with_seed(34);
    let mut file = |number: u32| -> Result<u32, Failed> {
        let mut bytes = vec![0; random.usize(1..longest)];
        random.fill(&mut bytes);
        fs::write(folder.join(format!("f{number:07}")), &bytes)?;
        Ok(crc32fast::hash(&bytes))
    };
    (0..files).map(&mut file).collect()
}

/// Starts nginx, with the folder `files` of a folder at port 8080 of both families. A connection has one download.
pub fn serve(web: &Namespace, folder: &Path) -> Result<Program, Failed> {
    let at = folder.display();
    let configuration = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\n\
         events {{ worker_connections 8192; }}\n\
         http {{ access_log off; client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi;\n\
         uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
         keepalive_timeout 0;\n\
         server {{ listen 8080 backlog=4096; listen [::]:8080 backlog=4096; root {at}/files; }} }}\n"
    );
    let path = folder.join("nginx.conf");
    fs::write(&path, configuration)?;
    let mut nginx = Program::start(web.command("nginx").arg("-c").arg(&path).arg("-e").arg(folder.join("error.log")))?;
    nginx.wait_until("nginx to listen", Duration::from_secs(10), |_| {
        quiver_netns::run(web.command("ss").args(["-ltn"])).is_ok_and(|sockets| sockets.contains(":8080"))
    })?;
    Ok(nginx)
}

fn files(world: &World) -> Result<(), Failed> {
    let (web, own) = (Namespace::add(world, "web")?, Namespace::add(world, "generator")?);
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("files"))?;
    let digests = write(&folder.path().join("files"), FILES, LONGEST)?;
    let daemon = Daemon::start_at(&own, Daemon::SOCKET, &["--workers", "1"])?;
    for line in [
        "create tap id 0 host-ns web host-if-name eth0 host-mac-addr 02:00:00:00:01:00",
        "create connection-generator interface cg0",
        "set interface l2 xconnect cg0 tap0",
        "set interface l2 xconnect tap0 cg0",
        "set interface state cg0 up",
        "set interface state tap0 up",
    ] {
        daemon.command(line)?;
    }
    // All servers are this one, and all clients are behind one station.
    for line in [
        "link set lo up",
        "link set eth0 up",
        "addr add 10.9.9.1/30 dev eth0",
        "route add local 20.0.0.0/24 dev lo",
        "neigh add 10.9.9.2 lladdr 02:00:00:00:00:01 dev eth0",
        "route add 192.168.0.0/24 via 10.9.9.2",
    ] {
        web.ip(line)?;
    }
    let _nginx = serve(&web, folder.path())?;
    daemon.command(
        "connections start cg0 side client clients 192.168.0.1 servers 20.0.0.1 hosts 40 ports 50 connections 2000 \
         get /f{n} response until-close digest yes timeout 500",
    )?;
    let begun = Instant::now();
    let shown = loop {
        let shown: Value = serde_json::from_str(&daemon.command("--json show connections cg0")?)?;
        let shown = shown[0].clone();
        if shown["closed"] == FILES && shown["open"] == 0 {
            break shown;
        }
        if begun.elapsed() > WITHIN || shown["failed"] != 0 {
            return Err(format!("after {:?}: {shown:#}", begun.elapsed()).into());
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    if shown["bad-checksums"] != 0 || shown["reset"] != 0 {
        return Err(format!("{shown:#}").into());
    }
    let rows: Value = serde_json::from_str(&daemon.command("--json show connections digests cg0")?)?;
    let rows = rows.as_array().ok_or("rows")?;
    if rows.len() != digests.len() {
        return Err(format!("{} of {} files", rows.len(), digests.len()).into());
    }
    for (row, digest) in rows.iter().zip(digests) {
        if row["crc-32"] != digest {
            return Err(format!("{row}: the file's is {digest}").into());
        }
    }
    Ok(())
}
