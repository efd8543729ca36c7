//! `quiver doctor`: what this machine offers to Quiver, and what to do about what it lacks.

mod cpu;
mod daemon;
mod finding;
mod machine;
mod memory;
mod rights;

use std::path::Path;
use std::process::ExitCode;

use owo_colors::{OwoColorize, Stream};
use serde::Serialize;

use finding::{Finding, Verdict};
use machine::Machine;

use crate::client::Session;
use crate::show;

/// Check this machine for Quiver, and suggest remedies
#[derive(Debug, clap::Args)]
pub struct Doctor {
    /// Print results as JSON
    #[arg(long)]
    json: bool,
}

/// Examines the machine. The exit status is 0 unless something is missing that quiverd cannot do without.
pub fn run(doctor: &Doctor, session: &Session) -> ExitCode {
    let findings = examine(&Machine::this(), &session.socket);
    let worst = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok);
    if doctor.json || session.json {
        #[derive(Serialize)]
        struct Report<'a> {
            verdict: Verdict,
            findings: &'a [Finding],
        }
        let report = Report { verdict: worst, findings: &findings };
        show::print(serde_json::to_string_pretty(&report).expect("the findings hold only plain values"));
    } else {
        findings.iter().for_each(print);
    }
    if worst == Verdict::Missing { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn examine(machine: &Machine, socket: &Path) -> Vec<Finding> {
    let mut findings = cpu::examine(machine);
    findings.extend(memory::examine(machine));
    findings.extend(rights::examine(machine));
    findings.push(daemon::examine(socket));
    findings
}

fn print(finding: &Finding) {
    let verdict = format!("{:<8}", finding.verdict.word());
    let verdict = verdict.if_supports_color(Stream::Stdout, |word| match finding.verdict {
        Verdict::Ok => word.style(owo_colors::Style::new().green()),
        Verdict::Degraded => word.style(owo_colors::Style::new().yellow()),
        Verdict::Missing => word.style(owo_colors::Style::new().red()),
    });
    show::print(format_args!("{verdict}  {:<24}{}", finding.about, finding.found));
    if let Some(remedy) = &finding.remedy {
        show::print(format_args!("{:10}{:24}-> {remedy}", "", ""));
    }
}
