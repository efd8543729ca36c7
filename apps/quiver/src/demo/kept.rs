//! A demo that was left up: how to play with it and how to end it.

use std::os::unix::process::CommandExt;
use std::time::Duration;
use std::{env, fs, thread};

use quiver_netns::{KeptWorld, Program, World};
use quiver_site::{Daemon, Site};

use super::WORLD;
use super::error::Error;
use crate::show;

/// Lets the user's process return, and stays until the world is stopped.
pub fn keep(world: World, site: &Site) -> Result<(), Error> {
    let mut server = Program::start(site.server().command("iperf3").args(["--server", "--forceflush"]))?;
    server.wait_for_output("Server listening", Duration::from_secs(10))?;
    show::print(instructions(site)?);
    world.keep(WORLD)?;
    loop {
        thread::park();
    }
}

fn instructions(site: &Site) -> Result<String, Error> {
    let program = env::current_exe().map_err(|e| quiver_netns::Error::system("find the path of this program", e))?;
    let quiver = program.display();
    let address = site.server_address();
    let mut text = "\nThe last path is left up; an iperf3 server listens at its end. To play with it:\n".to_owned();
    // `/proc` is still the machine's, so it knows this process by the number that it has outside.
    let id = fs::read_link("/proc/self").map_err(|e| quiver_netns::Error::system("read /proc/self", e))?;
    let id = id.display();
    if site.daemon().is_some() {
        text += &format!("  {quiver} --socket /proc/{id}/root{}\n", Daemon::SOCKET);
    }
    text += &format!(
        "  {quiver} demo --id {id} --in client -- ping {address}\n  \
         {quiver} demo --id {id} --in client -- iperf3 -c {address}\n\
         To end it:\n  \
         {quiver} demo --id {id} --stop"
    );
    Ok(text)
}

/// Ends a kept demo of this user, or all of them.
pub fn stop(id: Option<i32>) -> Result<(), Error> {
    let worlds = worlds(id)?;
    for world in &worlds {
        world.stop()?;
    }
    match worlds.len() {
        0 => show::print("no demo of yours is up"),
        1 => show::print("the demo is ended; nothing of it is left"),
        more => show::print(format_args!("{more} demos are ended; nothing of them is left")),
    }
    Ok(())
}

/// The kept demos of this user, or that with an id.
fn worlds(id: Option<i32>) -> Result<Vec<KeptWorld>, Error> {
    let mut worlds = KeptWorld::all(WORLD);
    if let Some(id) = id
        && !worlds.is_empty()
    {
        let known = ids(&worlds);
        worlds.retain(|world| world.id() == id);
        if worlds.is_empty() {
            return Err(Error::UnknownId { id, known });
        }
    }
    Ok(worlds)
}

fn ids(worlds: &[KeptWorld]) -> String {
    worlds.iter().map(|world| world.id().to_string()).collect::<Vec<_>>().join(" or ")
}

/// Becomes `command` in a namespace of a kept demo.
pub fn run_in(id: Option<i32>, namespace: &str, command: &[String]) -> Result<(), Error> {
    let [program, arguments @ ..] = command else { unreachable!("clap demands a command") };
    let worlds = worlds(id)?;
    let world = match worlds[..] {
        [] => return Err(Error::NotUp),
        [world] => world,
        _ => return Err(Error::Several { known: ids(&worlds) }),
    };
    let known: Vec<_> = fs::read_dir(world.path("/run/netns"))
        .map_err(|e| quiver_netns::Error::system("read the namespaces of the demo", e))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    if !known.iter().any(|name| name == namespace) {
        return Err(Error::UnknownNamespace { name: namespace.to_owned(), known: known.join(", ") });
    }
    let error = world.command(namespace, program).args(arguments).exec();
    Err(quiver_netns::Error::Start { command: command.join(" "), source: error }.into())
}
