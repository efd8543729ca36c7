//! Where new configurations are rehearsed before they run: a second control side with the daemon's rooms.

use std::rc::Rc;

use quiver_control::object::StandIn;
use quiver_control::{Control, Pace};
use quiver_engine::Dataplane;

use crate::features;

/// Has the daemon rehearse configurations from now on. `set` gives a stand-in the settings of the daemon on which refusals depend.
pub fn rehearse(control: &Control, set: impl Fn(&Control) + 'static) {
    let set = Rc::new(set);
    control.objects().rehearse_on(move |control| {
        let set = set.clone();
        Box::pin(async move { stand_in(&control, &*set).await })
    });
}

async fn stand_in(control: &Control, set: &dyn Fn(&Control)) -> Result<StandIn, String> {
    let (aside, mut pace) = (control.aside(), Pace::in_turns(control));
    let settings = control.room::<Dataplane>().settings().unstaffed();
    pace.step().await;
    aside.insert_room(Dataplane::new(settings).map_err(|error| error.to_string())?);
    features::register_aside(&aside, control).await.map_err(|error| error.to_string())?;
    set(&aside);
    pace.step().await;
    // The last room, which is dropped after all that retire memory.
    let leftovers = aside.room::<Dataplane>().domain().reclaim_on_drop();
    aside.insert_room(leftovers);
    aside.room_mut::<Dataplane>().start_unstaffed().map_err(|error| error.to_string())?;
    Ok(StandIn { control: aside, tidy: |control| control.room::<Dataplane>().discard_letters() })
}
