//! Callgrind around this very program, and what it says.

use std::fmt;
use std::process::Command;

/// The function whose instructions are counted, and the one after which they are dumped, as callgrind calls them. Patterns do not
/// work for dumps. A dump takes callgrind some 30 ms, so there is one for each count, however many calls it adds up.
const COUNTED: &str = "quiver_bench::instructions::turns::counted_turns";
const DUMPED: &str = "quiver_bench::instructions::turns::say";

/// Instructions of some packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    pub path: String,
    pub way: String,
    pub vector: String,
    pub packets: usize,
    pub instructions: u64,
}

/// The line by which the program says what it has just let be counted.
impl fmt::Display for Count {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{}\t{}\t{}\t{}", self.path, self.way, self.vector, self.packets)
    }
}

impl Count {
    fn read(line: &str, instructions: u64) -> Option<Count> {
        let mut cells = line.split('\t');
        let mut next = || cells.next().map(str::to_owned);
        let (path, way, vector) = (next()?, next()?, next()?);
        Some(Count { path, way, vector, packets: next()?.parse().ok()?, instructions })
    }
}

/// Runs this program under callgrind at a level: once for the paths, and once for connections. Valgrind finds no place for the
/// memory of all their daemons in one process.
pub fn counts(level: &str) -> Result<Vec<Count>, String> {
    let parts = [super::PATHS, super::CONNECTIONS].into_iter().map(|only| counts_of(level, only));
    Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
}

fn counts_of(level: &str, only: &str) -> Result<Vec<Count>, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = tempfile::TempDir::with_prefix("quiver-callgrind-").map_err(|error| error.to_string())?;
    let file = folder.path().join("counts");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", "--combine-dumps=yes"]);
    command.arg(format!("--toggle-collect={COUNTED}")).arg(format!("--dump-after={DUMPED}"));
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(this).args(["counted", "--isa", level, "--only", only]);
    let output = command.output().map_err(|error| {
        format!(
            "valgrind cannot be started ({error}); `apt-get install valgrind`, or `harness/provide test`, installs it"
        )
    })?;
    if !output.status.success() {
        return Err(format!(
            "valgrind at {level}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let dumps = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    matched(&String::from_utf8_lossy(&output.stdout), &dumps)
}

/// The program's lines, each with the instructions of its dump.
fn matched(lines: &str, dumps: &str) -> Result<Vec<Count>, String> {
    let sums: Vec<u64> = sums(dumps).collect();
    // After the last line comes one dump more: the end of the program.
    let said = lines.lines().count();
    if said == 0 || sums.len() < said {
        return Err(format!("callgrind has dumped {} counts, and the program has said {said}", sums.len()));
    }
    let count = |(line, instructions)| {
        let count = Count::read(line, instructions).ok_or_else(|| format!("the program says `{line}`"))?;
        match instructions {
            0 => Err(format!("callgrind has counted nothing of {}, {}", count.path, count.way)),
            _ => Ok(count),
        }
    };
    lines.lines().zip(sums).map(count).collect()
}

/// The instructions of each dump.
fn sums(dumps: &str) -> impl Iterator<Item = u64> {
    dumps.lines().filter_map(|line| line.strip_prefix("summary: ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_gets_its_dump() {
        let lines = "a\tnodes\t8\t1024\nm\tnodes\t256\t768\n";
        let dumps = "part: 1\nsummary: 2048\nfn=x\n1 2\nsummary: 1024\nsummary: 0\n";
        let found: Vec<_> =
            matched(lines, dumps).expect("counts").iter().map(|count| (count.packets, count.instructions)).collect();
        assert_eq!(found, [(1024, 2048), (768, 1024)]);
    }

    #[test]
    fn dumps_that_are_missing_are_told() {
        let error = matched("a\tnodes\t8\t1024\n", "").expect_err("no dump");
        assert_eq!(error, "callgrind has dumped 0 counts, and the program has said 1");
        let error = matched("a\tnodes\t8\t1024\n", "summary: 0\n").expect_err("nothing");
        assert_eq!(error, "callgrind has counted nothing of a, nodes");
    }
}
