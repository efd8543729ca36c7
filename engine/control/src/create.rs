//! Creates a control side.

use std::rc::Rc;
use std::time::SystemTime;

use crate::cli::{self, Commands, Macros};
use crate::control::Control;
use crate::identity::Identity;
use crate::object::Objects;
use crate::time::{Clock, LocalFuture, Spawner, Time, Timer};
use crate::transaction::{self, Transactions};
use crate::turn::Turns;

impl Control {
    /// A control side without rooms, hosted by the given clock, timer and spawner.
    pub fn new(clock: Rc<dyn Clock>, timer: Rc<dyn Timer>, spawner: Rc<dyn Spawner>) -> Control {
        let (objects, commands, transactions) = (Objects::default(), Commands::default(), Transactions::default());
        let control = Control::with_parts(
            clock,
            timer,
            spawner,
            vec![
                Box::new(objects),
                Box::new(transactions),
                Box::new(commands),
                Box::new(Identity::default()),
                Box::new(Macros::default()),
                Box::new(Turns::default()),
            ],
        );
        cli::register(&control);
        transaction::register(&control);
        control
    }

    /// Creates a control side without rooms, outside and tasks, on the same clock.
    pub fn aside(&self) -> Control {
        let host = Rc::new(NoTasks(self.clock()));
        let control = Control::new(host.clone(), host.clone(), host);
        control.objects().stay_inside();
        control.objects().share_contents(self.objects());
        control.set_object_memory(self.objects().budget_use().limit);
        self.identity().into_iter().for_each(|number| control.set_identity(number));
        control
    }
}

/// Hosts a control side on which nothing happens by itself.
struct NoTasks(Rc<dyn Clock>);

impl Clock for NoTasks {
    fn now(&self) -> Time {
        self.0.now()
    }
    fn date(&self) -> SystemTime {
        self.0.date()
    }
}

impl Timer for NoTasks {
    fn sleep_until(&self, _: Time) -> LocalFuture<()> {
        Box::pin(std::future::pending())
    }
}

impl Spawner for NoTasks {
    fn spawn(&self, _: &'static str, _: LocalFuture<()>) {}
}
