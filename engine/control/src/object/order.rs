//! The order in which changes are made.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{HashMap, HashSet};
use super::{Instance, ObjectError, ObjectRef, Step, shorten};
use crate::control::Control;
use crate::pace::Pace;

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
            let halves = self.with_replacements(steps.clone(), &in_two, pace).await;
            let stuck = match self.ordered(halves, pace).await {
                Ok(order) => return Ok(order),
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
    async fn with_replacements(&self, steps: Vec<Step>, in_two: &HashSet<ObjectRef>, pace: &mut Pace) -> Vec<Step> {
        let mut split: Vec<Step> = Vec::new();
        let mut rest: Vec<Step> = Vec::new();
        for step in steps {
            match (&step.old, &step.new) {
                (Some(old), Some(new))
                    if in_two.contains(&step.id()) || old.object.must_be_replaced_by(&*new.object) =>
                {
                    split.extend(step.halves());
                }
                _ => rest.push(step),
            }
        }
        loop {
            let both = || split.iter().chain(&rest);
            let removed: HashSet<&ObjectRef> = both().flat_map(Step::removed_names).collect();
            let replaced: HashSet<ObjectRef> =
                both().flat_map(Step::created_names).filter(|name| removed.contains(name)).cloned().collect();
            let planned: HashSet<ObjectRef> = both().map(Step::id).collect();
            let stands = |object: &Option<Rc<Instance>>| {
                object.as_ref().is_some_and(|object| {
                    object.follows.iter().any(|name| planned.contains(name))
                        || object.targets.iter().any(|name| replaced.contains(name))
                })
            };
            // Running objects that no step touches, but that stand on something touched, go and come back too.
            pace.step().await;
            let bystanders = {
                let names = self.objects().names.borrow();
                [names.users_of(&replaced), names.followers_of(&planned)].concat()
            };
            let bystanders = self.deletions(bystanders, &planned).into_iter();
            let mut more: Vec<Step> = bystanders.map(|step| Step { new: step.old.clone(), ..step }).collect();
            let affected =
                |step: &Step| step.old.is_some() && step.new.is_some() && (stands(&step.old) || stands(&step.new));
            let (updated, others): (Vec<Step>, Vec<Step>) = rest.into_iter().partition(affected);
            rest = others;
            more.extend(updated);
            if more.is_empty() {
                return split.into_iter().chain(rest).collect();
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
    pub(super) async fn ordered(&self, mut steps: Vec<Step>, pace: &mut Pace) -> Result<Vec<Step>, Vec<Step>> {
        if steps.len() < 2 {
            return Ok(steps);
        }
        let kinds = self.objects().kinds();
        let ranks: HashMap<&str, usize> = kinds.iter().enumerate().map(|(rank, kind)| (kind.name(), rank)).collect();
        let rank = |step: &Step| ranks.get(step.kind.name()).copied().unwrap_or_default();
        steps.sort_by_key(|step| match (&step.new, step.kind.is_outside()) {
            (Some(_), true) => (0, rank(step)),
            (None, false) => (1, kinds.len() - rank(step)),
            (Some(_), false) => (2, rank(step)),
            (None, true) => (3, kinds.len() - rank(step)),
        });
        let mut order = Order::new(&steps);
        for (index, step) in steps.iter().enumerate() {
            pace.step().await;
            order.add(index, step);
        }
        let mut ready: BTreeSet<usize> = (0..steps.len()).filter(|index| order.waits_for[*index] == 0).collect();
        let mut sequence = Vec::with_capacity(steps.len());
        while let Some(index) = ready.pop_first() {
            pace.step().await;
            sequence.push(steps[index].clone());
            for then in &order.after[index] {
                order.waits_for[*then] -= 1;
                if order.waits_for[*then] == 0 {
                    ready.insert(*then);
                }
            }
        }
        if sequence.len() < steps.len() {
            let stuck = steps.into_iter().zip(order.waits_for).filter(|(_, waits)| *waits > 0);
            return Err(stuck.map(|(step, _)| step).collect());
        }
        Ok(sequence)
    }
}

/// Order of steps, by their places: the steps that must come before each step.
struct Order {
    removes: HashMap<ObjectRef, usize>,
    creates: HashMap<ObjectRef, usize>,
    /// Outside resources that deletions release, and their steps.
    frees: HashMap<String, usize>,
    /// All steps of an object.
    touches: HashMap<ObjectRef, Vec<usize>>,
    after: Vec<Vec<usize>>,
    waits_for: Vec<usize>,
}

impl Order {
    fn new(steps: &[Step]) -> Order {
        let mut order = Order {
            removes: HashMap::default(),
            creates: HashMap::default(),
            frees: HashMap::default(),
            touches: HashMap::default(),
            after: vec![Vec::new(); steps.len()],
            waits_for: vec![0; steps.len()],
        };
        for (index, step) in steps.iter().enumerate() {
            order.removes.extend(step.removed_names().iter().map(|name| (name.clone(), index)));
            order.creates.extend(step.created_names().iter().map(|name| (name.clone(), index)));
            if let (Some(old), None) = (&step.old, &step.new) {
                order.frees.extend(step.kind.takes(&*old.object).into_iter().map(|name| (name, index)));
            }
            order.touches.entry(step.id()).or_default().push(index);
        }
        order
    }

    /// Notes the steps that a step waits for, and those that wait for it.
    fn add(&mut self, index: usize, step: &Step) {
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for target in step.new.iter().flat_map(|new| &new.targets) {
            edges.extend(self.creates.get(target).map(|provider| (*provider, index)));
        }
        for target in step.old.iter().flat_map(|old| &old.targets) {
            edges.extend(self.removes.get(target).map(|provider| (index, *provider)));
        }
        // An object is down while an object that it follows changes.
        let touching = |object: &Instance| -> Vec<usize> {
            object.follows.iter().filter_map(|name| self.touches.get(name)).flatten().copied().collect()
        };
        match (&step.old, &step.new) {
            (None, Some(new)) => {
                edges.extend(touching(new).into_iter().map(|touch| (touch, index)));
                let takes = step.kind.takes(&*new.object);
                edges.extend(takes.iter().filter_map(|name| self.frees.get(name)).map(|freed| (*freed, index)));
            }
            (Some(old), None) => edges.extend(touching(old).into_iter().map(|touch| (index, touch))),
            _ => {}
        }
        for name in step.created_names() {
            edges.extend(self.removes.get(name).map(|remover| (*remover, index)));
        }
        for (before, then) in edges.into_iter().filter(|(before, then)| before != then) {
            self.after[before].push(then);
            self.waits_for[then] += 1;
        }
    }
}
