//! Commands on this machine, and on one behind ssh: the same trials against a shell of its own, and against OpenSSH's server on
//! the loopback interface of a network namespace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::kill;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use quiver_netns::{Program, Rights, World, enter, find, rights, run};
use quiver_testbed::{Command, Reach, Shell, ShellError};

/// Far more than anything takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A property of every shell.
type TrialOf = fn(&Shell) -> Result<(), Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // Before any thread is started.
    let world = if arguments.list { Err("only listed".into()) } else { enter().map_err(|error| error.to_string()) };
    let server = world.and_then(|world| Server::start(&world).map(|server| (world, server)));
    if let Err(reason) = &server
        && !arguments.list
    {
        eprintln!("there is no server of ssh, so its trials are ignored: {reason}");
    }
    let here = Shell::new("here", &Reach::Here);
    let there = server.as_ref().map(|(_, server)| server.shell(22)).unwrap_or_else(|_| here.clone());
    let nobody = server.as_ref().map(|(_, server)| server.shell(23)).unwrap_or_else(|_| here.clone());
    let all: [(&str, TrialOf); 6] = [
        ("arguments_arrive_as_they_are", arguments_arrive),
        ("failures_are_named", failures_are_named),
        ("what_takes_too_long_is_stopped", slow_commands_are_stopped),
        ("nothing_stays_behind", nothing_stays_behind),
        ("what_ends_is_not_waited_for", ends_are_seen),
        ("files_are_written", files_are_written),
    ];
    let mut trials = Vec::new();
    for (name, trial) in all {
        let (here, there) = (here.clone(), there.clone());
        trials.push(Trial::test(format!("{name}_here"), move || trial(&here)));
        trials.push(Trial::test(format!("{name}_by_ssh"), move || trial(&there)).with_ignored_flag(server.is_err()));
    }
    trials.push(
        Trial::test("whom_ssh_does_not_reach_is_named", move || is_unreachable(&nobody))
            .with_ignored_flag(server.is_err()),
    );
    trials.push(Trial::test("what_is_stopped_before_it_has_begun_ends", ends_before_it_begins));
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(server);
    conclusion.exit_code()
}

/// OpenSSH's server, and a client's configuration that reaches it.
struct Server {
    config: PathBuf,
    _server: Program,
}

impl Server {
    fn start(_: &World) -> Result<Server, String> {
        if !matches!(rights(), Rights::Own) {
            return Err("sshd needs root".into());
        }
        let sshd = find("sshd").ok_or("sshd is missing: install openssh-server")?;
        let text = |error: std::io::Error| error.to_string();
        // The world's own.
        let folder = Path::new("/run/ssh");
        for folder in [folder, Path::new("/run/sshd")] {
            fs::create_dir(folder).map_err(text)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(text)?;
        }
        for key in ["host", "user"] {
            let mut command = process::Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f", &format!("/run/ssh/{key}")]);
            run(&mut command).map_err(|error| error.to_string())?;
        }
        let server = "ListenAddress 127.0.0.1\nHostKey /run/ssh/host\nAuthorizedKeysFile /run/ssh/user.pub\nStrictModes no\n\
            UsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 100\n";
        let client = "Host *\n IdentityFile /run/ssh/user\n UserKnownHostsFile /run/ssh/known\n \
            StrictHostKeyChecking accept-new\n LogLevel ERROR\n";
        let config = folder.join("client");
        fs::write(folder.join("server"), server).map_err(text)?;
        fs::write(&config, client).map_err(text)?;
        let mut command = process::Command::new(sshd);
        let mut server =
            Program::start(command.args(["-D", "-e", "-f", "/run/ssh/server"])).map_err(|e| e.to_string())?;
        server.wait_for_output("Server listening", LIMIT).map_err(|error| error.to_string())?;
        Ok(Server { config, _server: server })
    }

    fn shell(&self, port: u16) -> Shell {
        let reach = Reach::Ssh { target: "root@127.0.0.1".into(), port: Some(port), config: Some(self.config.clone()) };
        Shell::new("there", &reach)
    }
}

fn sh(script: &str) -> Command {
    Command::new("sh").args(["-c", script])
}

fn arguments_arrive(shell: &Shell) -> Result<(), Failed> {
    let words = ["", "two words", "it's", "$HOME `id` \"quoted\" \\", "line\nline", "*", "-n", "ä€"];
    let said = shell.run(&Command::new("printf").arg("[%s]").args(words), LIMIT)?;
    let expected: String = words.iter().map(|word| format!("[{word}]")).collect();
    assert_eq!((said.output, said.errors), (expected, String::new()));
    let much = shell.run(&sh("head -c 3000000 /dev/zero | tr '\\0' x; echo end; echo warning >&2"), LIMIT)?;
    assert!(much.output.ends_with("xend\n") && much.output.len() == 1 << 20, "{}", much.output.len());
    assert_eq!(much.errors, "warning\n");
    Ok(())
}

fn failures_are_named(shell: &Shell) -> Result<(), Failed> {
    let failed = |command: &Command| shell.run(command, LIMIT).expect_err("it should fail");
    let error = failed(&sh("echo why >&2; exit 7"));
    assert!(matches!(&error, ShellError::Failed { status, .. } if status.code() == Some(7)), "{error}");
    assert!(
        error.to_string().contains("`sh -c 'echo why >&2; exit 7'` ended with") && error.to_string().ends_with("why")
    );
    let missing = failed(&Command::new("/nonexistent/vpp").arg("-c"));
    assert!(matches!(&missing, ShellError::Failed { .. }), "{missing}");
    assert!(missing.to_string().contains("/nonexistent/vpp: No such file"), "{missing}");
    // What a program ends with is not taken for ssh's own.
    let odd = failed(&sh("exit 255"));
    assert!(matches!(&odd, ShellError::Failed { .. }), "{odd}");
    Ok(())
}

fn slow_commands_are_stopped(shell: &Shell) -> Result<(), Failed> {
    let error = shell.run(&sh("echo $$; exec sleep 1000"), Duration::from_secs(1)).expect_err("it takes too long");
    let ShellError::Slow { said, .. } = &error else { return Err(format!("{error}").into()) };
    if let Ok(pid) = said.trim().parse() {
        is_gone(pid)?;
    }
    Ok(())
}

fn nothing_stays_behind(shell: &Shell) -> Result<(), Failed> {
    for is_dropped in [false, true] {
        let mut running = shell.start(&sh("sleep 1000 & echo $! $$ started; wait"))?;
        running.wait_for("started", LIMIT)?;
        let output = running.output();
        let pids: Vec<i32> = output.split_whitespace().flat_map(str::parse).collect();
        assert_eq!(pids.len(), 2, "{output}");
        assert!(running.ended()?.is_none());
        if is_dropped {
            drop(running)
        } else {
            running.stop()?
        }
        pids.into_iter().try_for_each(is_gone)?;
    }
    // What does not listen is stopped all the same; what it left behind goes with it.
    let mut deaf = shell.start(&sh("trap '' TERM; echo $$ started; while :; do sleep 0.1; done"))?;
    deaf.wait_for("started", LIMIT)?;
    let deaf_pid = deaf.output().split_whitespace().flat_map(str::parse).next().ok_or("no pid")?;
    deaf.stop()?;
    is_gone(deaf_pid)?;
    let left = shell.run(&sh("sleep 1000 >/dev/null 2>&1 & echo $!"), LIMIT)?;
    is_gone(left.output.trim().parse()?)
}

/// The guard's input ends while its command has no session yet: here that takes half a second.
fn ends_before_it_begins() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let slow = folder.path().join("setsid");
    let setsid = find("setsid").ok_or("setsid is missing: install util-linux")?;
    fs::write(&slow, format!("#!/bin/sh\nsleep 0.5\nexec {} \"$@\"\n", setsid.display()))?;
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH")?);
    let mut guard = process::Command::new("sh");
    guard.args(["-c", include_str!("../src/guard.sh"), "guard", "3", "sleep", "1000"]).env("PATH", path);
    let mut guard = guard.stdin(process::Stdio::null()).spawn()?;
    let until = Instant::now() + LIMIT;
    while guard.try_wait()?.is_none() {
        if Instant::now() > until {
            guard.kill()?;
            return Err("its command runs on".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn ends_are_seen(shell: &Shell) -> Result<(), Failed> {
    let error = shell.start(&sh("echo nothing; exit 3"))?.wait_for("ready", LIMIT).expect_err("it never is");
    assert!(matches!(&error, ShellError::Failed { status, .. } if status.code() == Some(3)), "{error}");
    shell.start(&sh("echo ready"))?.wait_for("ready", LIMIT)?;
    Ok(())
}

fn files_are_written(shell: &Shell) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("it's a file");
    let contents: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let text = path.to_str().ok_or("a path")?;
    for contents in [&contents[..], b"less"] {
        shell.write(text, contents)?;
        assert!(fs::read(&path)? == contents);
    }
    let error = shell.write("/nonexistent/file", b"").expect_err("there is no such folder");
    assert!(error.to_string().contains("/nonexistent/file"), "{error}");
    Ok(())
}

fn is_unreachable(shell: &Shell) -> Result<(), Failed> {
    let error = shell.run(&sh("true"), LIMIT).expect_err("nobody listens");
    assert!(matches!(&error, ShellError::Unreachable { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("refused") && error.ends_with("try `ssh root@127.0.0.1 true`"), "{error}");
    Ok(())
}

/// All processes run on this machine, in the world whose first process this one is: it inherits orphans.
fn is_gone(pid: i32) -> Result<(), Failed> {
    let (pid, until) = (Pid::from_raw(pid), Instant::now() + LIMIT);
    while kill(pid, None).is_ok() {
        let _: nix::Result<WaitStatus> = waitpid(pid, Some(WaitPidFlag::WNOHANG));
        if Instant::now() > until {
            return Err(format!("process {pid} is still there").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
