//! Changes of the graph while workers run: features, nodes, arcs. Each is posted as a whole.

use super::Dataplane;
use crate::graph::{Blueprint, GraphError, NodeId, NodeSpec};

impl Dataplane {
    /// Enables or disables a feature on an interface.
    pub fn enable(&mut self, arc: &str, node: &str, interface: u32, on: bool) -> Result<(), GraphError> {
        if self.blueprint.enable(arc, node, interface, on)? {
            self.wire();
        }
        Ok(())
    }
    /// Registers a node while workers run.
    pub fn insert_node(&mut self, spec: NodeSpec) -> Result<NodeId, GraphError> {
        self.extend(|blueprint| blueprint.node(spec))
    }
    /// Registers nodes, feature arcs, features and stand-ins while workers run: all that `add` does, or, if the graph
    /// would not fit together then, nothing.
    pub fn extend<T>(&mut self, add: impl FnOnce(&mut Blueprint) -> Result<T, GraphError>) -> Result<T, GraphError> {
        let before = self.blueprint.nodes().count();
        let added = self.blueprint.extend(add)?;
        for id in self.blueprint.nodes().skip(before).collect::<Vec<_>>() {
            for worker in 0..self.workers.len() {
                let instance = self.blueprint.instance(id, worker);
                self.post(worker, move |w| w.graph().add(instance));
            }
        }
        self.counted.name_arcs(&self.blueprint);
        self.wire();
        Ok(added)
    }
    /// Closes all paths over a node that is not to be used any more, or not yet: see [`Blueprint::bypass`].
    pub fn bypass(&mut self, node: NodeId, pass: Option<u16>) {
        self.blueprint.bypass(node, pass);
        self.wire();
    }
    /// Opens them again.
    pub fn open(&mut self, node: NodeId) {
        self.blueprint.open(node);
        self.wire();
    }
    /// Lets an arc lead elsewhere from now on, or (None) where it was declared to lead.
    pub fn rewire(&mut self, node: NodeId, arc: u16, to: Option<NodeId>) {
        self.blueprint.rewire(node, arc, to);
        self.wire();
    }
    /// Lets changes of the graph wait for each other: those up to [`Dataplane::post_changes`] are posted as one.
    /// Letters do not overtake them: what is posted meanwhile goes behind the changes before it. May be called again before that.
    ///
    /// PERF: an interface that comes into being enables features of several rooms. A wiring that workers have is copied
    /// where it changes, so each that is posted costs as much as enabling the features.
    pub fn collect_changes(&self) {
        self.steps.begin();
    }
    /// Ends one [`Dataplane::collect_changes`]; the last end posts the changes, if there are any.
    pub fn post_changes(&self) {
        if self.steps.end() {
            self.post_when_due();
        }
    }
    /// Lets changes of tables and of the graph wait for each other, up to [`Dataplane::release`]: see [`quiver_table::waiting`]. Letters
    /// do not overtake them, and wake no sleeping worker; one that is awake, or is woken by packets, reads them all the same.
    /// Questions wake their worker at once. May be called again before that.
    ///
    /// PERF: waking a worker costs as much as many a change, and so does publishing one; clients make changes by the thousand.
    pub fn hold(&self) {
        self.domain.hold();
    }
    /// Ends one [`Dataplane::hold`]; the last end publishes the changes, and wakes the workers if there are letters.
    pub fn release(&self) {
        if self.domain.release() {
            self.post.wake();
        }
    }
    /// Publishes the changes that wait.
    pub(super) fn flush(&self) {
        self.domain.flush();
        self.post.post_wiring();
    }
    /// Has the wiring as it is now posted. Called after every change of the blueprint.
    pub(super) fn wire(&mut self) {
        if !self.blueprint.current_wiring().is_computed()
            && let Err(error) = self.blueprint.wiring()
        {
            // Names were checked when they were registered; a change that breaks them is refused before.
            tracing::error!("the graph keeps its old wiring: {error}");
            return;
        }
        self.post.note_change();
        if !self.steps.is_inside() {
            self.post_when_due();
        }
    }
    /// Posts the wiring now, or with the changes that wait.
    fn post_when_due(&self) {
        match self.domain.is_held() {
            true => self.post.wait(),
            false => self.post.post_wiring(),
        }
    }
}
