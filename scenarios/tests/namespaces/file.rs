//! A large file over HTTP.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;
use quiver_netns::{Program, run};
use quiver_site::Site;

const BYTES: usize = 200_000_000;
/// Below the world's private `/run`, so it goes with the world.
const FOLDER: &str = "/run/http";
const PORT: &str = "8000";

/// `curl` gets from Python's web server what that has.
pub fn over_http(site: &Site) -> Result<(), Failed> {
    let file = Path::new(FOLDER).join("file");
    fs::create_dir_all(FOLDER)?;
    write_noise(&file, BYTES)?;
    let address = site.server_address().to_string();
    let mut python = site.server().command("python3");
    python.args(["-u", "-m", "http.server", "--bind", &address, "--directory", FOLDER, PORT]);
    let mut server = Program::start(&mut python)?;
    server.wait_for_output("Serving HTTP", Duration::from_secs(10))?;

    let received = Path::new(FOLDER).join("received");
    let mut curl = site.client().command("curl");
    curl.args(["--silent", "--show-error", "--fail", "--max-time", "60", "--output"]).arg(&received);
    run(curl.arg(format!("http://{address}:{PORT}/file")))?;
    let length = fs::metadata(&received)?.len();
    let sums = [checksum(&file)?, checksum(&received)?];
    fs::remove_dir_all(FOLDER)?;
    assert_eq!(length, BYTES as u64);
    assert_eq!(sums[0], sums[1], "the file was changed on its way");
    Ok(())
}

/// Writes so many bytes of noise, the same every time, in which no part resembles another.
pub fn write_noise(path: &Path, bytes: usize) -> Result<(), Failed> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..bytes / 8 {
        file.write_all(&random.u64(..).to_le_bytes())?;
    }
    Ok(file.flush()?)
}

fn checksum(path: &Path) -> Result<String, Failed> {
    let line = run(Command::new("sha256sum").arg(path))?;
    Ok(line.split(' ').next().unwrap_or_default().to_owned())
}
