//! `set sfdp acl`, `show sfdp acl`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_session::tenant::TenantId;

use super::config::SessionAcls;
use crate::config::AclNumber;

pub(crate) fn register(control: &Control) {
    let set = "set sfdp acl tenant <session-tenants> (none | <acls>... [recheck])";
    let help =
        "Set the ACLs that the service sfdp-acl of a tenant's chains asks, in order of evaluation; or remove them.";
    let set = Command::new(set, help, set_lists).argument("none", "the service drops all packets then");
    control.commands().add(set.argument("recheck", "ask about live sessions again after a change"));
    let show = "show sfdp acl [<session-tenants>]";
    control.commands().add(Command::waiting(show, "Show the ACLs of session tenants.", show_lists));
}

fn set_lists(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let tenant: TenantId = given.get("session-tenants")?;
    let lists: Vec<AclNumber> = given.all("acls")?;
    let wanted = SessionAcls { tenant: tenant.clone(), lists, recheck: given.has("recheck") };
    control.assign(&tenant, Some(wanted).filter(|_| !given.has("none")))?;
    Ok(Reply::done())
}

async fn show_lists(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<TenantId> = given.find("session-tenants")?;
    let mut rows = Rows::new(&control, &output, ["Tenant", "Lists", "Recheck"]);
    for acls in control.walk_of::<SessionAcls>(only.as_ref()) {
        rows.step().await;
        let lists: Vec<String> = acls.lists.iter().map(|list| list.0.to_string()).collect();
        rows.row([Cell::from(acls.tenant.0), Cell::from(lists.join(" ")), Cell::from(acls.recheck)]);
    }
    Ok(rows.end())
}
