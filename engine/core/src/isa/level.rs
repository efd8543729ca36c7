//! The level that the hot paths run on, chosen once, at start.
//!
//! `--cfg quiver_without_baseline`, `quiver_without_avx2` and `quiver_without_avx512` leave out the code of a level, for builds
//! that stay on one machine: `make run` compiles for its own CPU only.
#![allow(unsafe_code)]

use super::Isa;
#[cfg(not(quiver_without_avx2))]
use super::x86::Avx2;
#[cfg(not(quiver_without_avx512))]
use super::x86::Avx512;
#[cfg(not(quiver_without_baseline))]
use super::x86::Sse2;
use std::str::FromStr;

/// Work that can be compiled for every level.
pub trait Kernel {
    /// The work, in the code of one level.
    fn run<I: Isa>(self, isa: I);
}

/// A level that this CPU has; a value is the proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level(Name);
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Name {
    Baseline,
    Avx2,
    Avx512,
}
impl Name {
    const ALL: [Name; 3] = [Name::Baseline, Name::Avx2, Name::Avx512];
    fn text(self) -> &'static str {
        match self {
            Name::Baseline => "baseline",
            Name::Avx2 => "avx2",
            Name::Avx512 => "avx512",
        }
    }
    /// Whether this build holds the level's code and this CPU can run it.
    fn is_here(self) -> bool {
        self.is_built() && self.is_of_cpu()
    }
    fn is_built(self) -> bool {
        match self {
            Name::Baseline => cfg!(not(quiver_without_baseline)),
            Name::Avx2 => cfg!(not(quiver_without_avx2)),
            Name::Avx512 => cfg!(not(quiver_without_avx512)),
        }
    }
    /// Whether this CPU has all features that the level's function, below, is compiled for.
    fn is_of_cpu(self) -> bool {
        match self {
            // SSE2 is part of the architecture.
            Name::Baseline => true,
            Name::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            Name::Avx512 => {
                Name::Avx2.is_of_cpu()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }
}

/// Why there is no level of a name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LevelError {
    /// The CPU does not have it.
    #[error("this CPU does not have {0}; its best is {best}", best = Level::best().name())]
    Missing(&'static str),
    /// The build leaves it out.
    #[error("this build was made for one machine and lacks {0}; it has {best}", best = Level::best().name())]
    NotBuilt(&'static str),
    /// There is none on any CPU.
    #[error("`{0}` is no instruction set; there are baseline, avx2 and avx512")]
    Unknown(String),
}

impl Level {
    /// Every level, with None where this CPU lacks it.
    pub fn all() -> [(&'static str, Option<Level>); 3] {
        Name::ALL.map(|name| (name.text(), name.is_here().then_some(Level(name))))
    }
    /// The highest level that this CPU has.
    ///
    /// # Panics
    ///
    /// If the build leaves out all levels of this CPU, as a build for another machine may.
    pub fn best() -> Level {
        let best = Name::ALL.into_iter().rfind(|name| name.is_here());
        Level(best.expect("this program was built for another CPU's instruction set: build it on this machine"))
    }
    /// The level's name, as settings have it.
    pub fn name(self) -> &'static str {
        self.0.text()
    }
    /// Runs the kernel in the code compiled for this level.
    pub fn run(self, kernel: impl Kernel) {
        match self.0 {
            #[cfg(not(quiver_without_baseline))]
            Name::Baseline => baseline(kernel),
            // SAFETY: values are made where the CPU has the level only.
            #[cfg(not(quiver_without_avx2))]
            Name::Avx2 => unsafe { avx2(kernel) },
            // SAFETY: as above.
            #[cfg(not(quiver_without_avx512))]
            Name::Avx512 => unsafe { avx512(kernel) },
            #[cfg(any(quiver_without_baseline, quiver_without_avx2, quiver_without_avx512))]
            _ => unreachable!("values are made for levels of this build only"),
        }
    }
}
impl FromStr for Level {
    type Err = LevelError;
    fn from_str(text: &str) -> Result<Level, LevelError> {
        let name = Name::ALL.into_iter().find(|name| name.text() == text);
        let name = name.ok_or_else(|| LevelError::Unknown(text.into()))?;
        match (name.is_built(), name.is_of_cpu()) {
            (true, true) => Ok(Level(name)),
            (false, _) => Err(LevelError::NotBuilt(name.text())),
            (true, false) => Err(LevelError::Missing(name.text())),
        }
    }
}

// `cargo xtask disassemble` looks for these functions by their names.
#[cfg(not(quiver_without_baseline))]
#[inline(never)]
fn baseline(kernel: impl Kernel) {
    // SAFETY: SSE2 is part of the architecture.
    kernel.run(unsafe { Sse2::proven() });
}
#[cfg(not(quiver_without_avx2))]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx2(kernel: impl Kernel) {
    // SAFETY: this function runs where the CPU has these features only.
    kernel.run(unsafe { Avx2::proven() });
}
#[cfg(not(quiver_without_avx512))]
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512vl")]
fn avx512(kernel: impl Kernel) {
    // SAFETY: as above.
    kernel.run(unsafe { Avx512::proven() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_refused() {
        for (name, level) in Level::all() {
            assert_eq!(name.parse(), level.ok_or(LevelError::Missing(name)));
        }
        assert_eq!("baseline".parse::<Level>().map(Level::name), Ok("baseline"));
        let error = "sse9".parse::<Level>().unwrap_err().to_string();
        assert_eq!(error, "`sse9` is no instruction set; there are baseline, avx2 and avx512");
    }
}
