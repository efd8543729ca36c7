//! moto's server from PyPI, which speaks Amazon's S3, with a bucket `lab`.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The packages that it needs, for [`crate::Packages::install`] or [`crate::python`].
pub const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/moto/requirements.txt");
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/moto/server.py");

/// A running server, which ends with this value.
pub struct Moto {
    child: Child,
    endpoint: String,
    port: u16,
}

/// The files of a server's certificate and of its key, in PEM.
pub struct Tls<'file> {
    /// The certificate.
    pub certificate: &'file Path,
    /// Its key.
    pub key: &'file Path,
}

impl Moto {
    /// Starts one on the loopback interface, with TLS if there is a certificate.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(python: &Path, tls: Option<Tls<'_>>) -> io::Result<Moto> {
        let mut command = Command::new(python);
        command.arg(SERVER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let scheme = match tls {
            Some(Tls { certificate, key }) => {
                command.arg(certificate).arg(key);
                "https"
            }
            None => "http",
        };
        let mut moto = Moto { child: command.spawn()?, endpoint: String::new(), port: 0 };
        let output = moto.child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        moto.port = line.trim().parse().map_err(|_| io::Error::other(format!("'{line}' is no port")))?;
        moto.endpoint = format!("{scheme}://127.0.0.1:{}", moto.port);
        Ok(moto)
    }

    /// Where it listens on the loopback interface.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address, for `AWS_ENDPOINT_URL`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

impl Drop for Moto {
    fn drop(&mut self) {
        // Either fails only if it has ended, which is what is wanted.
        let _: io::Result<()> = self.child.kill();
        let _: io::Result<_> = self.child.wait();
    }
}
