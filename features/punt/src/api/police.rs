//! The message of `policer.api` about punted packets.

use quiver_compat::{Message, Refusal, Retval};
use quiver_control::Control;
use quiver_ip::api::by_family;
use quiver_policer::{PolicerName, Policers};

use crate::family::Punted;

pub(super) fn register(control: &Control) {
    let (name, version) = quiver_policer::api::FILE;
    quiver_compat::add(control, name, version, |file| {
        file.request(|control, request: IpPuntPolice| by_family!(request.is_ip6, police(control, &request)));
    });
}

/// Attaches a policer to punted packets of a family, or detaches it.
#[derive(Message, Clone, Debug)]
#[message(request)]
pub(super) struct IpPuntPolice {
    pub policer_index: u32,
    #[default(true)]
    pub is_add: bool,
    pub is_ip6: bool,
}

fn police<F: Punted>(control: &Control, request: &IpPuntPolice) -> Result<(), Refusal> {
    if !request.is_add {
        return Ok(crate::police::set::<F>(control, None)?);
    }
    let name = control.room::<Policers>().name(request.policer_index).map(str::to_owned);
    let unknown =
        || Refusal::new(Retval::NO_SUCH_ENTRY, format!("policer_index: there is no policer {}", request.policer_index));
    Ok(crate::police::set::<F>(control, Some(PolicerName(name.ok_or_else(unknown)?)))?)
}
