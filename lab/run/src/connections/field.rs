//! Both ends of connections, and what is between them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use quiver_connections::Load;
use quiver_generator::cores::allowed;
use quiver_generator::daemon::built;
use quiver_generator::{Generator, Link, Makes, NAME, Setup};
use quiver_netns::Namespace;
use quiver_result::Counters;
use quiver_stop::Stop;
use quiver_suite::{Case, Traffic};
use tempfile::TempDir;

use super::trial::{Limit, Trial};
use crate::cores::Cores;
use crate::devices::Devices;
use crate::links::{Links, MTU, links};
use crate::losses::since;
use crate::terms::check;
use crate::{Error, Place};

/// How long the device may take to be connected.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// How long connections may take to end, beside their retransmissions.
const END_WITHIN: Duration = Duration::from_secs(2);
/// How often is looked whether the run is to end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Both ends, joined.
pub(crate) struct Field<'run> {
    devices: Option<(Devices, &'run Case)>,
    client: Generator,
    /// The server's, where it is another one.
    server: Option<Generator>,
    links: Option<Box<dyn Links + 'run>>,
    /// Words for the MAC addresses of the clients' frames and the servers', where a device wants its own.
    stations: [String; 2],
    stop: &'run Stop,
    // Goes last: their sockets are in it.
    _folder: TempDir,
}

fn start(
    folder: &Path,
    (core, control): (usize, &[usize]),
    (links, namespace): ([Link; 2], Option<&Namespace>),
    stop: &Stop,
) -> Result<Generator, Error> {
    std::fs::create_dir_all(folder)?;
    Ok(Generator::start(&Setup {
        program: built("quiverd")?,
        folder: folder.to_owned(),
        core,
        control: control.to_vec(),
        namespace,
        makes: Makes::Connections,
        links,
        mtu: MTU,
        stop: stop.clone(),
    })?)
}

impl<'run> Field<'run> {
    /// Both ends in one daemon, joined by memif, or by the same kind of link as a case's device.
    pub fn looped(place: &'run Place, case: Option<&Case>, stop: &'run Stop) -> Result<Field<'run>, Error> {
        let folder = place.folder()?;
        let (path, own) = (folder.path().join("links"), folder.path().join("generator"));
        std::fs::create_dir(&path)?;
        let (cores, links) = match case {
            Some(case) => (Cores::of(case, place.testbed())?, links(case, place, &path)?),
            None => {
                let core = allowed().last().copied().ok_or(Error::Nothing("a core may be used"))?;
                let cores = Cores { generator: core, devices: vec![vec![core]], control: allowed(), there: 1 };
                (cores, crate::links::looped(&path)?)
            }
        };
        let mut client = start(&own, (cores.generator, &cores.control), links.looped(), stop)?;
        client.wait_for_links()?;
        Ok(Field {
            devices: None,
            client,
            server: None,
            links: Some(links),
            stations: Default::default(),
            stop,
            _folder: folder,
        })
    }

    /// Each end in a daemon of its own, on a core of its own, with memif between.
    pub fn apart(place: &Place, stop: &'run Stop) -> Result<Field<'run>, Error> {
        let folder = place.folder()?;
        let cores = allowed();
        let [one, .., other] = cores[..] else {
            return Err(Error::Lacking("two cores are needed, one for each end: use one core".into()));
        };
        let socket = folder.path().join("memif");
        // Both have two links; the second one has nothing to do.
        let [masters, slaves] = [
            [0, 1].map(|id| Link::Memif { socket: socket.clone(), id }),
            [0, 1].map(|id| Link::MemifSlave { socket: socket.clone(), id }),
        ];
        let mut client = start(&folder.path().join("client"), (one, &[one]), (masters, None), stop)?;
        let mut server = start(&folder.path().join("server"), (other, &[other]), (slaves, None), stop)?;
        client.wait_for_links()?;
        server.wait_for_links()?;
        Ok(Field {
            devices: None,
            client,
            server: Some(server),
            links: None,
            stations: Default::default(),
            stop,
            _folder: folder,
        })
    }

    /// Both ends in one daemon, with a device between.
    pub fn with_device(
        case: &'run Case,
        place: &'run Place,
        program: Option<PathBuf>,
        stop: &'run Stop,
    ) -> Result<Field<'run>, Error> {
        let cores = Cores::of(case, place.testbed())?;
        let folder = place.folder()?;
        let [link_folder, own, device] = ["links", "generator", "device"].map(|name| folder.path().join(name));
        [&link_folder, &device].into_iter().try_for_each(std::fs::create_dir)?;
        let links = links(case, place, &link_folder)?;
        let devices = || {
            let program = program.clone().or_else(|| place.program(case.device));
            Devices::start(case, &*links, place.hosts(), &cores, &device, program, stop)
        };
        let generator = || start(&own, (cores.generator, &cores.control), links.ends(), stop);
        let (mut devices, mut client) = match links.are_made_by_device() {
            true => {
                let devices = devices()?;
                (devices, generator()?)
            }
            false => {
                let generator = generator()?;
                (devices()?, generator)
            }
        };
        devices.wait_until_ready(READY_WITHIN)?;
        client.wait_for_links()?;
        let stations = Traffic::of(case).sides.map(|side| format!("mac {} gateway {}", side.station, side.gateway));
        Ok(Field {
            devices: Some((devices, case)),
            client,
            server: None,
            links: Some(links),
            stations,
            stop,
            _folder: folder,
        })
    }

    /// Versions of generator and device.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let own = (NAME.to_owned(), self.client.version().to_owned());
        self.devices.iter().flat_map(|(devices, _)| devices.versions()).chain([own]).collect()
    }

    /// The generator of the server, and its side there.
    fn server(&mut self) -> (&mut Generator, usize) {
        match &mut self.server {
            Some(server) => (server, 0),
            None => (&mut self.client, 1),
        }
    }

    /// The client's daemon, and the server's if it is another one.
    fn daemons(&self) -> impl Iterator<Item = &Generator> {
        [&self.client].into_iter().chain(&self.server)
    }

    /// Busy ticks of the server's worker, where it has one of its own.
    fn server_ticks(&mut self) -> Result<Option<u64>, Error> {
        Ok(self.server.as_mut().map(Generator::busy_ticks).transpose()?)
    }

    /// Opens connections for so many seconds, and waits for their end.
    pub fn trial(&mut self, words: &str, load: &Load, seconds: f64, ceiling: Option<f64>) -> Result<Trial, Error> {
        check(self.stop)?;
        let (begun, start) = (Instant::now(), SystemTime::now());
        let before = self.losses()?;
        let resident_before = self.daemons().filter_map(Generator::memory).collect();
        let stations = self.stations.clone();
        let (server, side) = self.server();
        server.begin(side, &format!("{words} {} side server", stations[1]))?;
        let ticks = self.client.busy_ticks()?;
        let server_ticks = self.server_ticks()?;
        self.client.begin(0, &format!("{words} {} side client", stations[0]))?;
        let opening = Instant::now();
        let mut wait = self.stop.wait(Duration::from_secs_f64(seconds));
        while !wait.is_over() {
            wait.sleep(LOOK_EVERY);
        }
        let resident = self.daemons().filter_map(Generator::memory).collect();
        self.client.stop_opening(0)?;
        let opening = opening.elapsed().as_secs_f64();
        // The last try is as long after the one before as all others together.
        let tries = Duration::from_millis(u64::from(load.timeout) << (load.retries + 1));
        let within = if load.stay { Duration::ZERO } else { END_WITHIN + tries };
        let wait = self.stop.wait(within);
        let client = self.client.wait_for_end(0, wait)?;
        let (stop, is_staying) = (self.stop, load.stay);
        let (server, side) = self.server();
        // What the last packet of a client starts there is done within a moment.
        let limit = if is_staying { Duration::ZERO } else { Duration::from_millis(500) };
        server.stop_opening(side)?;
        let server = server.wait_for_end(side, stop.wait(limit))?;
        let ticks = self.client.busy_ticks()?.saturating_sub(ticks);
        let since_then = |(now, then): (u64, u64)| now.saturating_sub(then);
        let server_ticks = self.server_ticks()?.zip(server_ticks).map(since_then);
        let losses = since(&before, self.losses()?);
        let intended = (load.rate > 0.0).then_some(load.rate);
        let effective = begun.elapsed().as_secs_f64();
        let limit = Limit::Load;
        let trial = Trial {
            client,
            server,
            intended,
            begun: start,
            opening,
            effective,
            losses,
            ticks,
            server_ticks,
            resident,
            resident_before,
            limit,
        };
        Ok(Trial { limit: trial.judge(ceiling), ..trial })
    }

    /// Configuration of generator and device, by name.
    pub fn configuration(&self) -> BTreeMap<String, String> {
        let own = (NAME.to_owned(), self.client.configuration());
        self.devices.iter().flat_map(|(devices, _)| devices.configuration()).chain([own]).collect()
    }

    /// Counters of generator and device, by name.
    pub fn counters(&mut self) -> Result<Counters, Error> {
        let own = (NAME.to_owned(), self.client.drops()?);
        let devices = self.devices.as_mut().map(|(devices, _)| devices.counters()).transpose()?;
        Ok(devices.into_iter().flatten().chain([own]).collect())
    }

    /// Losses up to now of generators, links and device, by their own names.
    fn losses(&mut self) -> Result<BTreeMap<String, u64>, Error> {
        let named = |name: &'static str| move |(what, count): (String, u64)| (format!("{name} {what}"), count);
        let mut losses: BTreeMap<String, u64> = self.client.drops()?.into_iter().map(named(NAME)).collect();
        if let Some(server) = &mut self.server {
            losses.extend(server.drops()?.into_iter().map(named("server")));
        }
        if let Some((devices, case)) = &mut self.devices {
            losses.extend(devices.drops(case)?);
        }
        if let Some(links) = &self.links {
            losses.extend(links.losses()?);
        }
        Ok(losses)
    }

    /// Ends all in good order.
    pub fn end(self) -> Result<(), Error> {
        self.devices.map_or(Ok(()), |(devices, _)| devices.stop())
    }
}
