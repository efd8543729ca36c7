//! A room that makes interfaces from which nothing comes: objects that provide them.

use quiver_control::{Change, Control, Kind, Object, ObjectError};
use quiver_engine::{Dataplane, arcs};
use quiver_interface::interfaces::Queues;
use quiver_interface::{InterfaceName, Interfaces, NewInterface, create, remove};
use quiver_testkit::wire::Wire;
use quiver_wire::MacAddress;

/// An interface that neither receives nor sends.
#[derive(Object, Clone, Debug, PartialEq)]
#[object(kind = "dummies", provides = "interface")]
pub struct Dummy {
    /// Its name.
    #[key]
    pub name: String,
    /// Its parent.
    pub parent: Option<InterfaceName>,
    /// Its receive queues; none, and it has no transmit queues either.
    #[default(0)]
    pub queues: u16,
}

arcs! {
    /// Where packets would go.
    enum Next {
        Nowhere => drop "nowhere",
    }
}

pub fn register(control: &Control) {
    control.room_mut::<Dataplane>().blueprint().input("dummy-input", Next::ARCS).expect("a new name");
    control.objects().add(Kind::new(apply));
}
fn apply(control: &Control, change: Change<'_, Dummy>) -> Result<(), ObjectError> {
    match change {
        Change::Create(dummy) => {
            let parent = dummy.parent.as_ref().map(|p| control.room::<Interfaces>().id_of(&p.0)).transpose()?;
            let (name, mac) = (dummy.name.clone(), MacAddress([2, 0, 0, 0, 0, 1]));
            let queues = (dummy.queues > 0).then(|| {
                let dataplane = control.room::<Dataplane>();
                let input = dataplane.graph().find("dummy-input").expect("registered");
                let rx = (0..dummy.queues).map(|_| Wire::new().rx()).collect();
                Queues { input, rx, tx: (0..dataplane.workers()).map(|_| Wire::new().tx()).collect() }
            });
            let new = NewInterface { name, kind: "dummy", mac, mtu: 1500, parent, queues };
            create(control, new).map(|_| ())
        }
        Change::Update { .. } => Ok(()),
        Change::Delete(dummy) => {
            let id = control.room::<Interfaces>().id_of(&dummy.name)?;
            remove(control, id);
            Ok(())
        }
    }
}
