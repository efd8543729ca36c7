//! `show chain`: the nodes that packets of each receive queue passed together without waiting, and the nodes where they
//! parted.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use quiver_control::Control;
use quiver_control::cli::{Cell as Shown, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_engine::{Dataplane, NodeId, QueueId};
use quiver_interface::walk;

/// Duration of timing stages one by one.
const TIMED: Duration = Duration::from_secs(1);

/// Number of commands that have stages timed one by one.
#[derive(Default)]
struct Timings(Cell<usize>);

/// Has stages timed one by one until it is dropped, also when a client disconnects, unless another command needs it.
struct Timing(Control);

impl Timing {
    fn begin(control: &Control) -> Timing {
        let timings = control.room::<Timings>();
        timings.0.set(timings.0.get() + 1);
        control.room::<Dataplane>().time_chains(true);
        Timing(control.clone())
    }
}
impl Drop for Timing {
    fn drop(&mut self) {
        let timings = self.0.room::<Timings>();
        timings.0.set(timings.0.get() - 1);
        if timings.0.get() == 0 {
            self.0.room::<Dataplane>().time_chains(false);
        }
    }
}

pub(crate) fn register(control: &Control) {
    control.insert_room(Timings::default());
    let show = "Show the chains of each receive queue: the nodes that its last packets passed, and the header bytes that they read.";
    let show = Command::waiting("show chain [timed]", show, show_chain);
    let timed = "time each stage for a second, instead of all that follow one another";
    control.commands().add(show.argument("timed", timed));
}

/// Counters of a node on a worker: packets, and ticks.
fn counted(control: &Control, worker: usize, node: NodeId) -> [u64; 2] {
    let dataplane = control.room::<Dataplane>();
    let counters = dataplane.graph().counters(node).nth(worker);
    counters.map_or([0; 2], |counters| [counters.packets.get(), counters.clocks.get()])
}

async fn show_chain(control: Control, matches: Matches, output: Output) -> Result<Reply, CommandError> {
    let is_timed = matches.has("timed");
    let nodes: Vec<NodeId> = control.room::<Dataplane>().graph().nodes().collect();
    let all = |control: &Control| -> Vec<Vec<[u64; 2]>> {
        let workers = control.room::<Dataplane>().workers();
        (0..workers).map(|worker| nodes.iter().map(|node| counted(control, worker, *node)).collect()).collect()
    };
    let mut before = vec![];
    if is_timed {
        let _timing = Timing::begin(&control);
        before = all(&control);
        control.sleep(TIMED).await;
    }
    let after = all(&control);
    let found = control.room::<Dataplane>().chains();
    let columns = ["Interface", "Queue", "Worker", "Node", "Previous node", "Bytes read", "Packets", "Ticks/packet"];
    let mut rows = Rows::new(&control, &output, columns.into_iter().take(if is_timed { 8 } else { 7 }));
    let mut chains: BTreeMap<QueueId, Vec<(NodeId, NodeId)>> = BTreeMap::new();
    for of_worker in found.await {
        for (queue, chain) in of_worker {
            rows.step().await;
            chains.insert(queue, chain);
        }
    }
    for id in walk(&control) {
        rows.step().await;
        let dataplane = control.room::<Dataplane>();
        for queue in dataplane.queues_of(id.0) {
            let chain = chains.get(&queue.id).map_or(&[][..], |nodes| nodes);
            let chain = chain.iter().map(|(previous, node)| (Some(*previous), node));
            for (previous, node) in std::iter::once((None, &queue.input)).chain(chain) {
                let of = |counts: &[Vec<[u64; 2]>]| {
                    let of_worker = counts.get(queue.worker).and_then(|counts| counts.get(node.index()));
                    of_worker.copied().unwrap_or_default()
                };
                let ([packets, ticks], [packets_before, ticks_before]) = (of(&after), of(&before));
                let (packets, ticks) = (packets.saturating_sub(packets_before), ticks.saturating_sub(ticks_before));
                let reads = dataplane.graph().reads(*node).map_or(String::new(), |bytes| bytes.to_string());
                let mut cells = vec![
                    Shown::from(crate::interface_name(&control, queue.interface)),
                    Shown::from(queue.index),
                    Shown::from(queue.worker),
                    Shown::from(dataplane.graph().name(*node)),
                    previous.map_or(Shown::empty(), |previous| Shown::from(dataplane.graph().name(previous))),
                    Shown::from(reads),
                    Shown::from(packets),
                ];
                if is_timed {
                    cells.push(if packets == 0 { Shown::empty() } else { Shown::from(ticks as f64 / packets as f64) });
                }
                rows.row(cells);
            }
        }
    }
    Ok(rows.end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiver_engine::Settings;
    use quiver_testkit::executor::Executor;

    #[test]
    fn stages_are_timed_for_as_long_as_any_command_wants() {
        let control = Executor::new(1).control();
        control.insert_room(Dataplane::new(Settings { buffers: 200, ..Settings::default() }).expect("a data plane"));
        register(&control);
        let wanted = || control.room::<Timings>().0.get();
        let (first, second) = (Timing::begin(&control), Timing::begin(&control));
        drop(first);
        assert_eq!(wanted(), 1, "the other one is not done");
        drop(second);
        assert_eq!(wanted(), 0);
    }
}
