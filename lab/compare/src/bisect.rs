//! Which commit made something slower: commits are built and measured, each half-way between a good and a bad one.
//!
//! Each is measured in turns with the good one, which itself is, too: its samples are ratios, in which what the machine did to
//! both cancels, however long the bisection takes.
//!
//! What is known is in a file at any moment, so a bisection that was interrupted goes on where it was. The two commits that
//! it ends with are measured once more, in turns: the search follows every difference there is, noise too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use quiver_verdict::bisect::{Bisect, Joined, Next};
use quiver_verdict::bits::Resolution;
use quiver_verdict::compare::{Side, order, paired};
use quiver_verdict::gate::{Judgement, Verdict};
use serde::{Deserialize, Serialize};

use crate::gate::{Bench, GateError, Plan, gate};

/// Builds and measures commits.
pub trait Commits {
    /// Why a measurement failed.
    type Error: std::error::Error;

    /// Makes a commit ready; it stays ready beside others.
    ///
    /// # Errors
    /// Why it is to be skipped: it does not build, say.
    fn build(&mut self, commit: &str) -> Result<(), Self::Error>;

    /// Whether the user wants it to end: an error of a build then says nothing of the commit, whatever it looks like.
    fn is_to_stop(&self) -> bool;

    /// Measures a commit that is ready, once.
    ///
    /// # Errors
    /// It could not be measured.
    fn measure(&mut self, commit: &str) -> Result<f64, Self::Error>;
}

/// A bisection to do: the commits, and how they are measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Ids of the commits, from the good one to the bad one.
    pub commits: Vec<String>,
    /// How often each is measured.
    pub samples: usize,
    /// The commands that build and measure. A state file with other ones is refused.
    pub method: Vec<String>,
}

/// The content of the state file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    question: Question,
    /// Answers by commit.
    answers: BTreeMap<String, Answer>,
    /// Mean figure of the good commit. Samples are ratios to it, measured in turns, times this level.
    level: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Samples(Vec<f64>),
    Skipped(String),
}

/// A bisection, and the file that keeps it.
#[derive(Debug)]
pub struct Bisection {
    known: Known,
    file: PathBuf,
}

/// Progress of a bisection.
#[derive(Debug)]
pub enum Event<'a> {
    /// This commit is built and measured; at most so many are left with it.
    Measures {
        /// The commit.
        commit: &'a str,
        /// Number of commits left to measure, at most.
        remaining: u32,
    },
    /// It was measured earlier.
    Knows {
        /// The commit.
        commit: &'a str,
    },
    /// It cannot be built.
    Skips {
        /// The commit.
        commit: &'a str,
        /// The reason.
        because: &'a str,
    },
    /// The samples of a commit join the good side or the bad side.
    Joins {
        /// The commit.
        commit: &'a str,
        /// How sure that is, in bits.
        joined: Joined,
    },
    /// The commits that the search ended with are measured in turns.
    Confirms {
        /// The last good one.
        good: &'a str,
        /// The first bad one.
        bad: &'a str,
    },
}

/// The result of a bisection.
#[derive(Clone, Debug, PartialEq)]
pub struct BisectionResult {
    /// The commit that made the change; several if those between them could not be built.
    pub commits: Vec<String>,
    /// The last good one against the last of these, in turns.
    pub judgement: Judgement,
}

/// Why nothing was found.
#[derive(Debug, thiserror::Error)]
pub enum BisectionError<E: std::error::Error> {
    /// The file is of something else.
    #[error("{path}: {what}; delete it, or name another folder")]
    File {
        /// The path.
        path: PathBuf,
        /// The mismatch.
        what: String,
    },
    /// The file cannot be written.
    #[error("{path}: cannot be written: {error}")]
    Write {
        /// The path.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The ends are the same, as far as can be seen.
    #[error("the good and the bad commit are not told apart: {0}")]
    NotApart(Judgement),
    /// An end does not build.
    #[error("{commit}: {because}")]
    End {
        /// The commit.
        commit: String,
        /// The reason.
        because: String,
    },
    /// A measurement failed. What is known is kept.
    #[error("{commit}: {error}")]
    Measure {
        /// The commit.
        commit: String,
        /// The error.
        error: E,
    },
    /// The last two cannot be compared.
    #[error(transparent)]
    Confirm(#[from] GateError<E>),
    /// Samples that no verdict can be drawn from.
    #[error(transparent)]
    Bisect(#[from] quiver_verdict::bisect::BisectError),
    /// Samples without a ratio.
    #[error(transparent)]
    Incomparable(#[from] quiver_verdict::compare::Incomparable),
}

impl Bisection {
    /// Begins, or goes on where the file has answers to the same question.
    ///
    /// # Errors
    /// The file is there, and of something else.
    pub fn open<E: std::error::Error>(file: &Path, question: Question) -> Result<Bisection, BisectionError<E>> {
        let wrong = |what: String| BisectionError::File { path: file.to_owned(), what };
        let known = match fs::read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Known { question, answers: BTreeMap::new(), level: None }
            }
            Err(error) => return Err(wrong(error.to_string())),
            Ok(text) => {
                let known: Known =
                    serde_json::from_slice(&text).map_err(|error| wrong(format!("is no bisection: {error}")))?;
                if known.question != question {
                    return Err(wrong("belongs to a bisection of other commits, or by other commands".into()));
                }
                known
            }
        };
        Ok(Bisection { known, file: file.to_owned() })
    }

    /// Measures until it is found. The plan is for both ends, and for what the search ends with.
    ///
    /// # Errors
    /// The plan is too small, which is said before anything is built; the ends are not told apart or do not build, or a
    /// measurement fails.
    pub fn run<C: Commits>(
        &mut self,
        commits: &mut C,
        plan: Plan,
        mut seen: impl FnMut(Event<'_>),
    ) -> Result<BisectionResult, BisectionError<C::Error>> {
        plan.check(1).map_err(GateError::from)?;
        let mut bisect = Bisect::new(self.known.question.commits.clone(), Resolution::default())?;
        let mut compared = false;
        loop {
            if !compared && let Some(ends) = self.ends() {
                let judgement = plan.gate.judge(paired(&ends, plan.confidence)?);
                if judgement.verdict != Verdict::Regression {
                    return Err(BisectionError::NotApart(judgement));
                }
                compared = true;
            }
            let commit = match bisect.next() {
                Next::Measure(commit) => commit.clone(),
                Next::Found(found) => {
                    let found = found.to_vec();
                    return self.confirm(commits, plan, found, &mut seen);
                }
            };
            let is_end =
                [self.known.question.commits.first(), self.known.question.commits.last()].contains(&Some(&commit));
            match self.answer(commits, &commit, plan.seed, bisect.remaining(), &mut seen)? {
                Answer::Samples(samples) => {
                    if let Some(joined) = bisect.answer(samples)? {
                        seen(Event::Joins { commit: &commit, joined });
                    }
                }
                Answer::Skipped(because) if is_end => return Err(BisectionError::End { commit, because }),
                Answer::Skipped(because) => {
                    seen(Event::Skips { commit: &commit, because: &because });
                    bisect.skip()?;
                }
            }
        }
    }

    /// Returns the answer of a commit; builds and measures it if there is none yet.
    fn answer<C: Commits>(
        &mut self,
        commits: &mut C,
        commit: &str,
        seed: u64,
        remaining: u32,
        seen: &mut impl FnMut(Event<'_>),
    ) -> Result<Answer, BisectionError<C::Error>> {
        if let Some(answer) = self.known.answers.get(commit) {
            seen(Event::Knows { commit });
            return Ok(answer.clone());
        }
        seen(Event::Measures { commit, remaining });
        let answer = match commits.build(commit) {
            Err(error) if commits.is_to_stop() => {
                return Err(BisectionError::Measure { commit: commit.to_owned(), error });
            }
            Err(error) => Answer::Skipped(error.to_string()),
            Ok(()) => Answer::Samples(self.samples(commits, commit, seed)?),
        };
        self.known.answers.insert(commit.to_owned(), answer.clone());
        self.keep()?;
        Ok(answer)
    }

    /// Measures a commit in turns with the good one.
    fn samples<C: Commits>(
        &mut self,
        commits: &mut C,
        commit: &str,
        seed: u64,
    ) -> Result<Vec<f64>, BisectionError<C::Error>> {
        let all = &self.known.question.commits;
        let good = all.first().map_or(commit, String::as_str).to_owned();
        let place = all.iter().position(|own| own == commit).unwrap_or(0);
        let measured = |commit: &str| {
            let commit = commit.to_owned();
            move |error| BisectionError::Measure { commit, error }
        };
        // Whoever goes on with an earlier bisection may have to make it ready again.
        commits.build(&good).map_err(measured(&good))?;
        let mut pairs = Vec::new();
        for pair in 0..self.known.question.samples {
            let mut both = (0.0, 0.0);
            for side in order(seed.wrapping_add(place as u64), pair) {
                match side {
                    Side::Parent => both.0 = commits.measure(&good).map_err(measured(&good))?,
                    Side::Current => both.1 = commits.measure(commit).map_err(measured(commit))?,
                }
            }
            pairs.push(both);
        }
        let level =
            self.known.level.unwrap_or_else(|| pairs.iter().map(|pair| pair.0).sum::<f64>() / pairs.len() as f64);
        self.known.level = Some(level);
        Ok(pairs.iter().map(|(good, own)| own / good * level).collect())
    }

    /// Pairs of figures of the good and the bad end, one for each sample, once both are known.
    fn ends(&self) -> Option<Vec<(f64, f64)>> {
        let (level, bad) = (self.known.level?, self.known.question.commits.last()?);
        match self.known.answers.get(bad)? {
            Answer::Samples(samples) => Some(samples.iter().map(|sample| (level, *sample)).collect()),
            Answer::Skipped(_) => None,
        }
    }

    fn confirm<C: Commits>(
        &self,
        commits: &mut C,
        plan: Plan,
        found: Vec<String>,
        seen: &mut impl FnMut(Event<'_>),
    ) -> Result<BisectionResult, BisectionError<C::Error>> {
        let all = &self.known.question.commits;
        // What is found is never the first of all, and never nothing.
        let first = all.iter().position(|commit| Some(commit) == found.first()).unwrap_or(1);
        let (good, bad) = (all[first - 1].as_str(), all[first + found.len() - 1].as_str());
        seen(Event::Confirms { good, bad });
        for commit in [good, bad] {
            let failed = |error| BisectionError::Measure { commit: commit.to_owned(), error };
            commits.build(commit).map_err(failed)?;
        }
        let judgement = gate(&mut Two { commits, good, bad }, plan, |_, _| {})?;
        Ok(BisectionResult { commits: found, judgement })
    }

    /// Writes the state file atomically: a failed write leaves the old one.
    fn keep<E: std::error::Error>(&self) -> Result<(), BisectionError<E>> {
        let write = || {
            let folder = self.file.parent().unwrap_or(Path::new("."));
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer_pretty(&mut file, &self.known)?;
            file.as_file().sync_all()?;
            file.persist(&self.file).map_err(|error| error.error).map(drop)
        };
        write().map_err(|error| BisectionError::Write { path: self.file.clone(), error })
    }
}

struct Two<'a, C> {
    commits: &'a mut C,
    good: &'a str,
    bad: &'a str,
}

impl<C: Commits> Bench for Two<'_, C> {
    type Error = C::Error;

    fn measure(&mut self, side: Side) -> Result<f64, C::Error> {
        self.commits.measure(match side {
            Side::Parent => self.good,
            Side::Current => self.bad,
        })
    }
}
