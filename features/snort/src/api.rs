//! VPP's messages about inspection: `snort.api`.

use quiver_compat::api::Adding;
use quiver_compat::types::{InterfaceIndex, NONE};
use quiver_compat::{Refusal, Retval};
use quiver_control::Control;
use quiver_interface::api::{dump, find, name};
use quiver_interface::{Direction, InterfaceName};

use crate::attachment::SnortAttachment;
use crate::clients::disconnect;
use crate::command::{disconnect_all, is_in_use};
use crate::instance::{InstanceName, OnDisconnect, SnortInstance};
use crate::room::Snort;

mod messages;

use messages::*;

/// The request is not supported.
const UNSUPPORTED: Retval = Retval(-126);
/// The feature is enabled already.
const FEATURE_ALREADY_ENABLED: Retval = Retval(-170);
/// The number of an instance that is none, where a message has two bytes for it.
const NO_INSTANCE: u16 = u16::MAX;

pub(crate) fn register(control: &Control) {
    quiver_compat::add(control, "snort", (1, 1, 0), |file| {
        file.define_type::<SnortVerdict>();
        file.define_type::<SnortDirection>();
        file.request(|control, request: SnortInstanceCreateV2| {
            let SnortInstanceCreateV2 { queue_size, qpairs_per_thread, drop_bitmap, drop_on_disconnect, name } =
                request;
            let queues = u16::try_from(qpairs_per_thread.max(1));
            let queues = queues
                .map_err(|_| invalid(format!("qpairs_per_thread: {qpairs_per_thread} is too large; give 1 to 16")))?;
            let wanted = SnortInstance {
                queues_per_thread: queues,
                drop_bitmap,
                ..wanted(name, queue_size, drop_on_disconnect)
            };
            Ok::<_, Refusal>(SnortInstanceCreateV2Reply { instance_index: create(control, wanted)? })
        });
        file.request(|control, SnortInstanceDelete { instance_index }| delete(control, instance_index));
        file.request(|control, SnortSetDropBitmap { instance_index, drop_bitmap }| {
            let name = named(control, instance_index)?;
            let set = |instance: &mut SnortInstance| instance.drop_bitmap = drop_bitmap;
            Ok::<_, Refusal>(control.edit(SnortInstance::new(name), set)?)
        });
        file.request(|control, SnortClientDisconnect { snort_client_index }| {
            if !control.room::<Snort>().clients().contains_key(&snort_client_index) {
                return Err(unknown("snort_client_index", snort_client_index, "client"));
            }
            disconnect(control, snort_client_index);
            Ok(())
        });
        file.request(|control, SnortInstanceDisconnect { instance_index }| {
            let name = named(control, instance_index)?;
            disconnect_all(control, &name);
            Ok::<_, Refusal>(())
        });
        file.request(|control, SnortInterfaceAttach { instance_index, sw_if_index, snort_dir }| {
            attach(control, instance_index, sw_if_index, snort_dir)
        });
        file.request(|control, SnortInterfaceDetachV2 { instance_index, sw_if_index, snort_dir }| {
            detach(control, Some(instance_index), sw_if_index, &directions(snort_dir)?)
        });
        file.stream(|control, SnortInstanceV2Get { instance_index, .. }| {
            let all = instances(control, instance_index)?;
            Ok::<_, Refusal>((all.into_iter().map(Some), SnortInstanceV2GetReply::default()))
        });
        file.stream(|control, SnortInterfaceV2Get { sw_if_index, .. }| {
            check(control, sw_if_index)?;
            let all = dump(control, InterfaceIndex(sw_if_index), |control, id, name| {
                let [rx, tx] = Direction::ALL.map(|direction| instance_at(control, &name, direction));
                let number = |number: Option<u32>| number.map_or(NO_INSTANCE, |number| number as u16);
                let (in_instance_index, out_instance_index) = (number(rx), number(tx));
                let sw_if_index = id.0;
                (rx.is_some() || tx.is_some()).then_some(SnortInterfaceV2Details {
                    sw_if_index,
                    in_instance_index,
                    out_instance_index,
                })
            });
            Ok::<_, Refusal>((all, SnortInterfaceV2GetReply::default()))
        });
        file.stream(|control, SnortClientV2Get { snort_client_index, .. }| {
            let all = clients(control, snort_client_index)?;
            let all: Vec<_> = all.into_iter().map(|client| Some(client.0)).collect();
            Ok::<_, Refusal>((all.into_iter(), SnortClientV2GetReply::default()))
        });
        deprecated(file);
    });
}

/// Adds the messages that newer ones have replaced.
fn deprecated(file: &mut Adding<'_>) {
    file.request(|control, SnortInstanceCreate { queue_size, drop_on_disconnect, name }| {
        let wanted = wanted(name, queue_size, drop_on_disconnect);
        Ok::<_, Refusal>(SnortInstanceCreateReply { instance_index: create(control, wanted)? })
    });
    file.request(|control, SnortInterfaceDetach { sw_if_index }| {
        let name = name(control, InterfaceIndex(sw_if_index))?;
        let known = Direction::ALL.into_iter().filter(|direction| instance_at(control, &name, *direction).is_some());
        let known: Vec<_> = known.collect();
        match known.is_empty() {
            true => Err(not_attached(&name)),
            false => detach(control, None, sw_if_index, &known),
        }
    });
    let modes = "inspectors are always woken by interrupts; leave the input mode alone";
    file.request(move |_, _: SnortInputModeGet| Err::<SnortInputModeGetReply, _>(Refusal::new(UNSUPPORTED, modes)));
    file.request(move |_, _: SnortInputModeSet| Err::<(), _>(Refusal::new(UNSUPPORTED, modes)));
    file.stream(|control, SnortInstanceGet { instance_index, .. }| {
        let all = instances(control, instance_index)?;
        let all = all.into_iter().map(|of| {
            let SnortInstanceV2Details { instance_index, shm_size, shm_fd, drop_on_disconnect, .. } = of;
            let SnortInstanceV2Details { snort_client_index, name, .. } = of;
            Some(SnortInstanceDetails {
                instance_index,
                shm_size,
                shm_fd,
                drop_on_disconnect,
                snort_client_index,
                name,
            })
        });
        Ok::<_, Refusal>((all, SnortInstanceGetReply::default()))
    });
    file.stream(|control, SnortInterfaceGet { sw_if_index, .. }| {
        check(control, sw_if_index)?;
        let all = dump(control, InterfaceIndex(sw_if_index), |control, id, name| {
            let known = Direction::ALL.into_iter().find_map(|direction| instance_at(control, &name, direction));
            known.map(|instance_index| SnortInterfaceDetails { sw_if_index: id.0, instance_index })
        });
        Ok::<_, Refusal>((all, SnortInterfaceGetReply::default()))
    });
    file.stream(|control, SnortClientGet { snort_client_index, .. }| {
        let all = clients(control, snort_client_index)?;
        let all: Vec<_> = all.into_iter().map(|client| Some(client.1)).collect();
        Ok::<_, Refusal>((all.into_iter(), SnortClientGetReply::default()))
    });
}

fn invalid(what: String) -> Refusal {
    Refusal::new(Retval::INVALID_VALUE, what)
}

fn unknown(field: &str, number: u32, what: &str) -> Refusal {
    Refusal::new(Retval::NO_SUCH_ENTRY, format!("{field}: there is no {what} {number}"))
}

fn not_attached(interface: &InterfaceName) -> Refusal {
    Refusal::new(Retval::INVALID_INTERFACE, format!("sw_if_index: {interface} is not attached to the instance"))
}

/// The name of the instance of a number.
fn named(control: &Control, number: u32) -> Result<String, Refusal> {
    let room = control.room::<Snort>();
    let instance = room.instance(number).map(|instance| instance.name.clone());
    instance.ok_or_else(|| unknown("instance_index", number, "instance"))
}

/// An instance as the older request has it. VPP's takes any size, and uses the power of two below it.
fn wanted(name: String, queue_size: u32, drop_on_disconnect: u8) -> SnortInstance {
    let on_disconnect = if drop_on_disconnect == 0 { OnDisconnect::Pass } else { OnDisconnect::Drop };
    SnortInstance { queue_size: 1 << queue_size.max(1).ilog2(), on_disconnect, ..SnortInstance::new(name) }
}

fn create(control: &Control, wanted: SnortInstance) -> Result<u32, Refusal> {
    let name = wanted.name.clone();
    if control.objects().get::<SnortInstance>(&name).is_some() {
        let why = format!("name: instance '{name}' already exists; choose another name");
        return Err(Refusal::new(Retval::ENTRY_ALREADY_EXISTS, why));
    }
    control.put(wanted)?;
    let number = control.room::<Snort>().number(&name);
    number.ok_or_else(|| Refusal::new(Retval::UNSPECIFIED, format!("name: instance '{name}' was not made")))
}

fn delete(control: &Control, number: u32) -> Result<(), Refusal> {
    let name = named(control, number)?;
    if is_in_use(control, &name) {
        let why = format!("instance_index: instance '{name}' has a connected client; disconnect it first");
        return Err(Refusal::new(Retval::INSTANCE_IN_USE, why));
    }
    Ok(control.delete_with_users::<SnortInstance>(&name)?)
}

/// Directions that a message means.
fn directions(said: u8) -> Result<Vec<Direction>, Refusal> {
    match said {
        1 => Ok(vec![Direction::Rx]),
        2 => Ok(vec![Direction::Tx]),
        3 => Ok(Direction::ALL.to_vec()),
        other => {
            let why = format!("snort_dir: {other} is no direction; give 1 for input, 2 for output or 3 for both");
            Err(Refusal::new(Retval::INVALID_ARGUMENT, why))
        }
    }
}

/// The number of the instance that inspects packets of an interface.
fn instance_at(control: &Control, interface: &InterfaceName, direction: Direction) -> Option<u32> {
    let known = control.objects().get::<SnortAttachment>(&(interface.clone(), direction))?;
    control.room::<Snort>().number(&known.instance.0)
}

fn attach(control: &Control, number: u32, sw_if_index: u32, said: u8) -> Result<(), Refusal> {
    let interface = name(control, InterfaceIndex(sw_if_index))?;
    let (directions, instance) = (directions(said)?, named(control, number)?);
    if directions.iter().any(|direction| instance_at(control, &interface, *direction) == Some(number)) {
        let why = format!("sw_if_index: {interface} is attached to instance '{instance}' already");
        return Err(Refusal::new(FEATURE_ALREADY_ENABLED, why));
    }
    for direction in directions {
        let instance = InstanceName(instance.clone());
        control.put(SnortAttachment { interface: interface.clone(), direction, instance })?;
    }
    Ok(())
}

/// Detaches an interface: from an instance, or from whichever it is attached to.
fn detach(control: &Control, number: Option<u32>, sw_if_index: u32, directions: &[Direction]) -> Result<(), Refusal> {
    let interface = name(control, InterfaceIndex(sw_if_index))?;
    if let Some(number) = number {
        named(control, number)?;
        if directions.iter().any(|direction| instance_at(control, &interface, *direction) != Some(number)) {
            return Err(not_attached(&interface));
        }
    }
    for direction in directions {
        control.delete::<SnortAttachment>(&(interface.clone(), *direction))?;
    }
    Ok(())
}

fn check(control: &Control, sw_if_index: u32) -> Result<(), Refusal> {
    if sw_if_index != NONE {
        find(control, InterfaceIndex(sw_if_index))?;
    }
    Ok(())
}

/// Details of an instance, or of all.
fn instances(control: &Control, only: u32) -> Result<Vec<SnortInstanceV2Details>, Refusal> {
    if only != NONE {
        named(control, only)?;
    }
    let room = control.room::<Snort>();
    let wanted = room.instances().filter(|instance| only == NONE || instance.number == only);
    let details = wanted.filter_map(|instance| {
        let config = control.objects().get::<SnortInstance>(&instance.name)?;
        Some(SnortInstanceV2Details {
            instance_index: instance.number,
            shm_size: instance.bytes() as u32,
            // Files are passed by the socket; a number of ours says nothing to others.
            shm_fd: NONE,
            drop_on_disconnect: u8::from(config.on_disconnect == OnDisconnect::Drop),
            drop_bitmap: config.drop_bitmap,
            snort_client_index: instance.pairs.iter().find_map(|pair| pair.client()).unwrap_or(NONE),
            qpairs_per_thread: config.queues_per_thread.into(),
            name: config.name.clone(),
        })
    });
    Ok(details.collect())
}

/// Details of a client, or of all: by both messages.
fn clients(control: &Control, only: u32) -> Result<Vec<(SnortClientV2Details, SnortClientDetails)>, Refusal> {
    let room = control.room::<Snort>();
    if only != NONE && !room.clients().contains_key(&only) {
        return Err(unknown("snort_client_index", only, "client"));
    }
    let wanted = room.clients().iter().filter(|(number, _)| only == NONE || **number == only);
    let details = wanted.map(|(number, client)| {
        let instance_index = client.pairs().next().and_then(|(name, ..)| room.number(name)).unwrap_or(NONE);
        let (client_index, snort_client_index, n_instances) = (*number, *number, client.threads.max(1));
        let mode = client.mode;
        (
            SnortClientV2Details { client_index, snort_client_index, n_instances, mode },
            SnortClientDetails { client_index, instance_index },
        )
    });
    Ok(details.collect())
}

#[cfg(test)]
mod tests;
