//! The order in which changes are made.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::spread::Spread;
use super::{HashMap, HashSet, Instance, ObjectError, ObjectRef, Step, shorten};
use crate::control::Control;
use crate::pace::{Pace, free};

impl Control {
    /// Checks changes as a whole, and gives the steps that make them, in order; nothing happens.
    pub(crate) async fn planned(&self, steps: Vec<Step>, pace: &mut Pace) -> Result<Vec<Step>, Vec<ObjectError>> {
        self.check_steps(&steps, pace).await?;
        self.check_needs(&steps, pace).await?;
        if let [step] = &steps[..]
            && self.is_alone(step)
        {
            return Ok(steps);
        }
        self.planned_in_two(steps, HashSet::default(), pace).await
    }

    /// The steps that recreate objects, with the objects that refer to them. Makes no change.
    pub(crate) async fn planned_anew(&self, steps: Vec<Step>, pace: &mut Pace) -> Result<Vec<Step>, Vec<ObjectError>> {
        let all = steps.iter().map(Step::id).collect();
        self.planned_in_two(steps, all, pace).await
    }

    /// Orders changes; those of `in_two` take two steps.
    async fn planned_in_two(
        &self,
        steps: Vec<Step>,
        mut in_two: HashSet<ObjectRef>,
        pace: &mut Pace,
    ) -> Result<Vec<Step>, Vec<ObjectError>> {
        loop {
            let halves = self.with_replacements(&steps, &in_two, pace).await;
            let stuck = match self.ordered(halves, pace).await {
                Ok(order) => {
                    free(steps, pace).await;
                    return Ok(order);
                }
                Err(stuck) => stuck,
            };
            // An object that is changed in one step may have to go before another step and come after it: then it takes
            // two steps.
            let before = in_two.len();
            let updates = stuck.iter().filter(|step| step.old.is_some() && step.new.is_some());
            in_two.extend(updates.map(Step::id));
            if in_two.len() == before {
                let stuck: Vec<String> = stuck.iter().map(|step| step.id().to_string()).collect();
                let what = format!("there is no order in which these can change: {}", shorten(&stuck));
                return Err(vec![ObjectError::whole(what).remedy("change them in two steps")]);
            }
        }
    }

    /// Whether a step splits nothing and takes no other object with it. PERF: so are most changes of clients, which make them
    /// by the million.
    fn is_alone(&self, step: &Step) -> bool {
        let is_update = step.old.is_some() && step.new.is_some();
        !is_update && !self.objects().names.borrow().has_followers(&step.id())
    }

    /// Splits updates that need a new object, and those of `in_two`, into a deletion and a creation. The same is done
    /// with the objects that refer to a recreated one, and with those that follow a changed one.
    async fn with_replacements(&self, steps: &[Step], in_two: &HashSet<ObjectRef>, pace: &mut Pace) -> Vec<Step> {
        let mut split: Vec<Step> = Vec::new();
        let mut rest: Vec<Step> = Vec::new();
        for step in steps {
            pace.step().await;
            match (&step.old, &step.new) {
                (Some(old), Some(new))
                    if in_two.contains(&step.id()) || old.object.must_be_replaced_by(&*new.object) =>
                {
                    split.extend(step.clone().halves());
                }
                _ => rest.push(step.clone()),
            }
        }
        loop {
            let touched = Touched::by(split.iter().chain(&rest), pace).await;
            // Running objects that no step touches, but that stand on something touched, go and come back too.
            pace.step().await;
            let mut bystanders = self.objects().names.borrow().users_of(touched.replaced.iter().map(|(name, ())| name));
            for (id, ()) in touched.planned.iter() {
                pace.step().await;
                bystanders.extend(self.objects().names.borrow().followers_of(id));
            }
            let bystanders = self.deletions(bystanders, |id| touched.planned.contains_key(id)).into_iter();
            let mut more: Vec<Step> = bystanders.map(|step| Step { new: step.old.clone(), ..step }).collect();
            let mut others = Vec::new();
            for step in rest {
                pace.step().await;
                let is_update = step.old.is_some() && step.new.is_some();
                let is_affected = is_update && (touched.carries(&step.old) || touched.carries(&step.new));
                let list = if is_affected { &mut more } else { &mut others };
                list.push(step);
            }
            rest = others;
            free(touched.planned.into_entries(), pace).await;
            if more.is_empty() {
                for step in rest {
                    pace.step().await;
                    split.push(step);
                }
                return split;
            }
            split.extend(more.into_iter().flat_map(Step::halves));
        }
    }

    /// Orders steps: an object is created before its users and deleted after them; a name is deleted before it is
    /// created again. Where the references leave it open, objects with an outside are created and changed first and
    /// deleted last, since the outside may refuse a change, and deleted outside state cannot be restored exactly.
    /// Between these, deletions come first, last kinds first, then the other changes, first kinds first: the order of a
    /// file's sections has no effect. Returns the steps in a circle, with the steps that wait for them, if there is no
    /// order.
    pub(super) async fn ordered(&self, steps: Vec<Step>, pace: &mut Pace) -> Result<Vec<Step>, Vec<Step>> {
        if steps.len() < 2 {
            return Ok(steps);
        }
        let kinds = self.objects().kinds();
        let ranks: HashMap<&str, usize> = kinds.iter().enumerate().map(|(rank, kind)| (kind.name(), rank)).collect();
        let mut by_rank: BTreeMap<(u8, usize), Vec<Step>> = BTreeMap::new();
        for step in steps {
            pace.step().await;
            let rank = ranks.get(step.kind.name()).copied().unwrap_or_default();
            let rank = match (&step.new, step.kind.is_outside()) {
                (Some(_), true) => (0, rank),
                (None, false) => (1, kinds.len() - rank),
                (Some(_), false) => (2, rank),
                (None, true) => (3, kinds.len() - rank),
            };
            by_rank.entry(rank).or_default().push(step);
        }
        let mut steps = Vec::new();
        for step in by_rank.into_values().flatten() {
            pace.step().await;
            steps.push(step);
        }
        let mut order = Order::of(&steps, pace).await;
        // Steps that became ready behind `next`, which goes through all.
        let (mut early, mut next) = (BTreeSet::new(), 0);
        let mut sequence = Vec::new();
        while next < steps.len() || !early.is_empty() {
            pace.step().await;
            let index = match early.pop_first() {
                Some(index) => index,
                None => {
                    next += 1;
                    if order.waits_for[next - 1] > 0 {
                        continue;
                    }
                    next - 1
                }
            };
            sequence.push(steps[index].clone());
            let mut edge = order.first_after[index];
            while let Some(Edge { then, following }) = order.edges.get(edge as usize).copied() {
                let then = then as usize;
                order.waits_for[then] -= 1;
                if order.waits_for[then] == 0 && then < next {
                    early.insert(then);
                }
                edge = following;
            }
        }
        let waits_for = order.waits_for;
        if sequence.len() < steps.len() {
            let stuck = steps.into_iter().zip(waits_for).filter(|(_, waits)| *waits > 0);
            return Err(stuck.map(|(step, _)| step).collect());
        }
        free(steps, pace).await;
        Ok(sequence)
    }
}

/// Names that steps touch.
struct Touched {
    /// Those that go and come back.
    replaced: Spread<ObjectRef, ()>,
    /// Those of the steps' objects.
    planned: Spread<ObjectRef, ()>,
}

impl Touched {
    async fn by(steps: impl Iterator<Item = &Step> + Clone, pace: &mut Pace) -> Touched {
        let (mut replaced, mut planned, mut removed) = (Spread::default(), Spread::default(), Spread::default());
        for step in steps.clone() {
            pace.step().await;
            planned.insert(step.id(), ());
            for name in step.removed_names() {
                removed.insert(name, ());
            }
        }
        if !removed.is_empty() {
            for step in steps {
                pace.step().await;
                for name in step.created_names().iter().filter(|name| removed.contains_key(*name)) {
                    replaced.insert(name.clone(), ());
                }
            }
        }
        Touched { replaced, planned }
    }

    /// Whether an object follows one of the touched objects, or refers to a replaced name.
    fn carries(&self, object: &Option<Rc<Instance>>) -> bool {
        object.as_ref().is_some_and(|object| {
            object.follows.iter().any(|name| self.planned.contains_key(name))
                || object.targets.iter().any(|name| self.replaced.contains_key(name))
        })
    }
}

/// No edge.
const NONE: u32 = u32::MAX;

/// A step that comes behind another one, and the number of the next such edge.
#[derive(Clone, Copy)]
struct Edge {
    then: u32,
    following: u32,
}

/// Order of steps, by their places: the steps that must come before each step. PERF: there may be a million of them, so
/// what they wait for lies in a few large blocks of memory.
struct Order {
    edges: Vec<Edge>,
    /// The number of the first edge from each step.
    first_after: Vec<u32>,
    waits_for: Vec<u32>,
}

/// Places of steps by names.
#[derive(Default)]
struct Places<'a> {
    removes: Spread<&'a ObjectRef, usize>,
    creates: Spread<&'a ObjectRef, usize>,
    /// Outside resources that deletions release, and their steps.
    frees: HashMap<String, usize>,
    /// The steps of an object: two, if it is an update in halves.
    touches: Spread<&'a ObjectRef, [Option<usize>; 2]>,
}

impl<'a> Places<'a> {
    fn add(&mut self, index: usize, step: &'a Step) {
        for name in step.removed_names() {
            self.removes.insert(name, index);
        }
        for name in step.created_names() {
            self.creates.insert(name, index);
        }
        if let (Some(old), None) = (&step.old, &step.new) {
            self.frees.extend(step.kind.takes(&*old.object).into_iter().map(|name| (name, index)));
        }
        if let Some(instance) = step.new.as_ref().or(step.old.as_ref()) {
            match self.touches.get_mut(instance.id()) {
                Some(touches) => touches[1] = Some(index),
                None => _ = self.touches.insert(instance.id(), [Some(index), None]),
            }
        }
    }

    /// The steps of objects that this one follows: it is down while they change.
    fn touching(&self, object: &Instance) -> Vec<usize> {
        object.follows.iter().filter_map(|name| self.touches.get(name)).flatten().flatten().copied().collect()
    }
}

impl Order {
    async fn of(steps: &[Step], pace: &mut Pace) -> Order {
        let mut places = Places::default();
        for (index, step) in steps.iter().enumerate() {
            pace.step().await;
            places.add(index, step);
        }
        let mut order = Order { edges: vec![], first_after: vec![], waits_for: vec![] };
        for _ in steps {
            pace.step().await;
            order.first_after.push(NONE);
            order.waits_for.push(0);
        }
        for (index, step) in steps.iter().enumerate() {
            pace.step().await;
            order.add(index, step, &places);
        }
        order
    }

    /// Notes the steps that a step waits for, and those that wait for it.
    fn add(&mut self, index: usize, step: &Step, places: &Places<'_>) {
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for target in step.new.iter().flat_map(|new| &new.targets) {
            edges.extend(places.creates.get(target).map(|provider| (*provider, index)));
        }
        for target in step.old.iter().flat_map(|old| &old.targets) {
            edges.extend(places.removes.get(target).map(|provider| (index, *provider)));
        }
        match (&step.old, &step.new) {
            (None, Some(new)) => {
                edges.extend(places.touching(new).into_iter().map(|touch| (touch, index)));
                let takes = step.kind.takes(&*new.object);
                edges.extend(takes.iter().filter_map(|name| places.frees.get(name)).map(|freed| (*freed, index)));
            }
            (Some(old), None) => edges.extend(places.touching(old).into_iter().map(|touch| (index, touch))),
            _ => {}
        }
        for name in step.created_names() {
            edges.extend(places.removes.get(name).map(|remover| (*remover, index)));
        }
        for (before, then) in edges.into_iter().filter(|(before, then)| before != then) {
            // There are fewer steps than 32 bits can number: an object takes hundreds of bytes.
            let (then, number) = (then as u32, self.edges.len() as u32);
            self.edges.push(Edge { then, following: std::mem::replace(&mut self.first_after[before], number) });
            self.waits_for[then as usize] += 1;
        }
    }
}
