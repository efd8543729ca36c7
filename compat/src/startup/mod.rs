//! VPP's `startup.conf`, from a file or from the command line, and its conversion to options of quiverd.
//!
//! - `grammar`: words, and blocks in braces, with their places.
//! - [`known`]: the table of all settings: form and disposition of each; `given`: the values that a text gives a
//!   setting; `reader`: reads a text by the table.
//! - `settings`: [`Startup`], the values that were read.
//! - `values`: sizes, lists of cores.
//! - `options`: these values as options of quiverd's command line, which is all that they can say.
//! - `plugins`: what has become of VPP's plugins.
//!
//! A setting has one of four dispositions. It is used; it is ignored, with the reason; it asks for a feature that
//! Quiver does not have yet, which is a warning; or it is unknown, which is also a warning. Only text that cannot be
//! parsed is an error.
//!
//! ```
//! use quiver_compat::startup::{Machine, Source, Startup};
//!
//! let mut startup = Startup::default();
//! startup.read(Source::CommandLine, "unix { nodaemon cli-listen /tmp/cli.sock } cpu { workers 2 }")?;
//! let machine = Machine { cores: 4, runtime_folder: "/run/vpp".into() };
//! let options = startup.options(&machine).join(" ");
//! assert!(options.contains("--cli-listen /tmp/cli.sock") && options.ends_with("--workers 2"), "{options}");
//! # Ok::<(), quiver_compat::startup::StartupError>(())
//! ```

mod error;
mod given;
mod grammar;
pub mod known;
mod options;
mod plugins;
mod reader;
mod settings;
mod values;

pub use error::{Note, Place, Severity, StartupError};
pub use options::Machine;
pub use plugins::AT_HOME;
pub use reader::Source;
pub use settings::{Buffers, Cpu, Startup, Terminal, Unix};
pub use values::size;

/// Whether a text looks like a `startup.conf` rather than like a configuration of Quiver's own, which is YAML: its first
/// word is the bare name of a section, and no colon follows it.
pub fn looks_like(text: &str) -> bool {
    let is_blank = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let mut lines = text.lines().skip_while(is_blank);
    let Some(first) = lines.next().map(str::trim_start) else { return false };
    let name_end = first.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c)).unwrap_or(first.len());
    let (name, rest) = first.split_at(name_end);
    // A line of three hyphens begins a document of YAML.
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return false;
    }
    let rest = rest.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        // The brace stands on a line of its own.
        return lines.find(|line| !is_blank(line)).is_some_and(|line| line.trim_start().starts_with('{'));
    }
    !rest.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_startup_conf_is_told_from_yaml() {
        for text in
            ["unix { nodaemon }", "\n# vpp\nunix{", "unix # main\n\n{ nodaemon }", "heapsize 64M", "api-trace\n{ on }"]
        {
            assert!(looks_like(text), "{text}");
        }
        for text in [
            "",
            "# nothing\n",
            "taps: [{id: 1}]",
            "taps :\n- id: 1",
            "---\ntaps: []",
            "{taps: []}",
            "\"taps\": []",
            "taps",
        ] {
            assert!(!looks_like(text), "{text}");
        }
    }
}
