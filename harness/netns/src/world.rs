//! A world: process, mount and network namespaces that live as long as their first process.
//!
//! Two processes take part. The outer one was started by the user: it makes the namespaces, starts the same program
//! again as their first process, and waits, so that terminal, signals and exit status are what a user expects. The
//! inner one does the work. Between them is the lifeline, a socket pair on the inner one's standard input: whichever
//! end sees the other close knows that the other is gone.

use std::ffi::CStr;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio, exit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, process, thread};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, chroot, dup2_stderr, dup2_stdout, fchdir, getegid, geteuid};

use crate::{Error, Rights, rights, run};

/// Tells the inner process that it is one; it also must have process id 1, so a grandchild is not misled.
const INSIDE: &str = "QUIVER_WORLD";
/// Byte that the inner process writes to the lifeline if it is to outlive the outer one.
const KEPT: u8 = b'k';

/// Set once the inner process need not die with the outer one.
static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Effect of a signal by which a user ends a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signalled {
    /// The world ends.
    Ends,
    /// Its first process gets it, and may end in good order; the second signal ends the world.
    PassesOn,
}

/// Network of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    /// A new network, with only what the world makes in it.
    Own,
    /// The network of the calling process.
    Machine,
}

/// Proof of living in a world, where namespaces may be made freely.
#[derive(Debug)]
pub struct World {
    lifeline: UnixStream,
}

/// Moves the rest of this program into a world.
///
/// Returns only inside. The process that the caller started waits for the inner one and exits with its status. Call it
/// before any thread is started, for the kernel makes a user namespace only for a program of one thread.
pub fn enter() -> Result<World, Error> {
    enter_as(Signalled::Ends, Network::Own)
}

/// The same, but the first signal by which the user ends the program goes to the process inside, which has handlers for it.
///
/// Where the machine allows it, `/proc` shows the processes of the world there, as they count themselves, and shared memory by
/// name is the world's own.
pub fn enter_handling_signals() -> Result<World, Error> {
    let world = enter_as(Signalled::PassesOn, Network::Own)?;
    own_views();
    Ok(world)
}

/// The same, but on the network of the caller, whose interfaces can be used; namespaces made in it are the world's. Its
/// `/run` is the machine's: programs that reach other machines find resolvers and key agents there. Needs the rights of
/// root without a user namespace: in a user namespace the machine's interfaces cannot be used.
///
/// An empty folder `/run/netns` is left where there was none, as by `ip netns`.
pub fn enter_machine_network() -> Result<World, Error> {
    let world = enter_as(Signalled::PassesOn, Network::Machine)?;
    own_views();
    Ok(world)
}

/// Of shared memory by name, and of processes.
fn own_views() {
    let none: Option<&str> = None;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    // Containers may forbid either. Then they are the machine's, which does no harm but that less is seen and cleaned up.
    let _ = mount(Some("world"), "/dev/shm", Some("tmpfs"), flags, none);
    let _ = mount(Some("proc"), "/proc", Some("proc"), flags, none);
}

fn enter_as(signalled: Signalled, network: Network) -> Result<World, Error> {
    if process::id() == 1 && env::var_os(INSIDE).is_some() { inside(network) } else { outside(signalled, network) }
}

impl World {
    /// Lets this world live on when its outer process returns to the user, which happens now.
    ///
    /// From here on the world can be found by [`crate::KeptWorld`] under `name`, of at most 15 bytes, and ends when it is
    /// stopped there. Call it on the program's first thread.
    pub fn keep(mut self, name: &CStr) -> Result<(), Error> {
        prctl::set_name(name).map_err(|e| Error::system("name this process", e))?;
        // The terminal or pipe belongs to the user again: a reader of our output must see its end.
        let null = fs::File::options().write(true).open("/dev/null").map_err(|e| Error::system("open /dev/null", e))?;
        dup2_stdout(&null).map_err(|e| Error::system("leave standard output", e))?;
        dup2_stderr(&null).map_err(|e| Error::system("leave standard error", e))?;
        IS_KEPT.store(true, Ordering::SeqCst);
        self.lifeline.write_all(&[KEPT]).map_err(|e| Error::system("tell the outer process to return", e))
    }
}

fn outside(signalled: Signalled, network: Network) -> Result<World, Error> {
    let user = match (rights(), network) {
        (Rights::Own, _) => CloneFlags::empty(),
        (Rights::UserNamespace, Network::Own) => CloneFlags::CLONE_NEWUSER,
        (Rights::UserNamespace, Network::Machine) => {
            return Err(Error::Forbidden { remedy: "run it as root".to_owned() });
        }
        (Rights::None(remedy), _) => return Err(Error::Forbidden { remedy }),
    };
    let (uid, gid) = (geteuid(), getegid());
    // Read before there are other mounts, in which the path would be another in a chroot.
    let program = env::current_exe().map_err(|e| Error::system("find the path of this program", e))?;
    // Blocked before the child starts, so that no signal can come between.
    let signals = signals();
    signals.thread_block().map_err(|e| Error::system("block signals", e))?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)
        .map_err(|e| Error::system("receive signals by a file descriptor", e))?;

    let own = if network == Network::Own { CloneFlags::CLONE_NEWNET } else { CloneFlags::empty() };
    let namespaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | own;
    unshare(user | namespaces).map_err(|e| Error::system("make process, mount and network namespaces", e))?;
    if !user.is_empty() {
        write("/proc/self/setgroups", "deny")?;
        write("/proc/self/uid_map", &format!("0 {uid} 1"))?;
        write("/proc/self/gid_map", &format!("0 {gid} 1"))?;
    }
    let (lifeline, inner_end) = UnixStream::pair().map_err(|e| Error::system("make a socket pair", e))?;
    let child = Command::new(&program)
        .args(env::args_os().skip(1))
        .env(INSIDE, "1")
        .stdin(Stdio::from(OwnedFd::from(inner_end)))
        // A group of its own: Ctrl-C reaches only the outer process, which then ends the world as a whole instead of
        // letting its programs fail one after the other.
        .process_group(0)
        .spawn()
        .map_err(|source| Error::Start { command: program.display().to_string(), source })?;
    exit(wait(child, lifeline, signals, signalled)?)
}

/// The signals by which a user ends a program.
fn signals() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT].into_iter().collect()
}

/// Waits until the world ends, is stopped by a signal or is kept; returns the exit status for the user.
fn wait(mut child: Child, mut lifeline: UnixStream, signals: SignalFd, mut first: Signalled) -> Result<i32, Error> {
    let mut stopped_by = None;
    loop {
        let mut events =
            [PollFd::new(lifeline.as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        match poll(&mut events, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            result => result.map_err(|e| Error::system("wait for the world", e))?,
        };
        let [lifeline_event, signal_event] = events.map(|event| event.any() == Some(true));
        if signal_event && let Ok(Some(signal)) = signals.read_signal() {
            if std::mem::replace(&mut first, Signalled::Ends) == Signalled::PassesOn {
                let signal = Signal::try_from(signal.ssi_signo as i32);
                let passed = signal.and_then(|signal| kill(Pid::from_raw(child.id() as i32), signal));
                passed.map_err(|e| Error::system("pass a signal on", e))?;
                continue;
            }
            stopped_by = Some(signal.ssi_signo as i32);
            // Killing the first process makes the kernel kill every other one of the world.
            child.kill().map_err(|e| Error::system("stop the world", e))?;
        }
        if lifeline_event {
            let mut byte = [0];
            if lifeline.read(&mut byte).is_ok_and(|length| length == 1) {
                return Ok(0);
            }
            let status = child.wait().map_err(|e| Error::system("wait for the world's first process", e))?;
            // The shell's convention for a program that a signal ended.
            return Ok(stopped_by.map_or(status.code().unwrap_or(1), |signal| 128 + signal));
        }
    }
}

fn inside(network: Network) -> Result<World, Error> {
    // The outer process takes them and ends the world; programs of the world can be ended by them in good order.
    signals().thread_unblock().map_err(|e| Error::system("let signals come", e))?;
    let lifeline = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let lifeline = lifeline.map_err(|e| Error::system("take the lifeline", e))?;
    let mut watched = lifeline.try_clone().map_err(|e| Error::system("share the lifeline", e))?;

    make_mounts_private().map_err(|e| Error::system("make all mounts private", e))?;
    let memory = |path: &str| {
        mount(Some("world"), path, Some("tmpfs"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV, Some("mode=755"))
            .map_err(|e| Error::system(format!("mount a private {path}"), e))
    };
    let make = || fs::create_dir_all("/run/netns").map_err(|e| Error::system("make /run/netns", e));
    match network {
        Network::Own => {
            memory("/run")?;
            make()?;
            run(Command::new("ip").args(["link", "set", "lo", "up"]))?;
        }
        Network::Machine => {
            make()?;
            memory("/run/netns")?;
        }
    }

    // The outer process may be killed in a way that it cannot answer; then its end of the lifeline closes.
    let watch = move || {
        let ended = !matches!(watched.read(&mut [0]), Ok(1..));
        if ended && !IS_KEPT.load(Ordering::SeqCst) {
            exit(1);
        }
    };
    thread::Builder::new().name("lifeline".to_owned()).spawn(watch).map_err(|e| Error::system("start a thread", e))?;
    Ok(World { lifeline })
}

/// Keeps the mounts of this mount namespace from appearing in the namespace that it was copied from.
fn make_mounts_private() -> nix::Result<()> {
    let none: Option<&str> = None;
    let make_private = || mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none);
    match make_private() {
        // In a chroot "/" is no mount. Entering the namespace where one already is leads to its root, beyond the chroot.
        Err(Errno::EINVAL) => {
            let chroot_folder = open("/", OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
            let namespace = open("/proc/self/ns/mnt", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
            let folder = open(".", OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
            setns(namespace, CloneFlags::CLONE_NEWNS)?;
            make_private()?;
            fchdir(chroot_folder)?;
            chroot(".")?;
            fchdir(folder)
        }
        result => result,
    }
}

fn write(path: &str, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|e| Error::system(format!("write \"{text}\" to {path}"), e))
}
