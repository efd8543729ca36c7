//! `set sfdp inspect`, `show sfdp inspect`.

use quiver_control::Control;
use quiver_control::cli::{Cell, Command, CommandError, Matches, Output, Reply, Rows};
use quiver_session::tenant::TenantId;

use super::config::SnortTenant;

pub(crate) fn register(control: &Control) {
    let set = "set sfdp inspect tenant <session-tenants> (instance <snort-instances> | none)";
    let help =
        "Have the service sfdp-inspect of a tenant's chains offer packets to an instance's inspector; or no longer.";
    let set = Command::new(set, help, set_instance);
    control.commands().add(set.argument("none", "the service drops all packets then"));
    let show = "show sfdp inspect [<session-tenants>]";
    let help = "Show session tenants whose packets are inspected.";
    control.commands().add(Command::waiting(show, help, show_tenants));
}

fn set_instance(control: &Control, given: &Matches) -> Result<Reply, CommandError> {
    let tenant: TenantId = given.get("session-tenants")?;
    let instance = given.find("snort-instances")?;
    let wanted = instance.map(|instance| SnortTenant { tenant: tenant.clone(), instance });
    control.assign(&tenant, wanted)?;
    Ok(Reply::done())
}

async fn show_tenants(control: Control, given: Matches, output: Output) -> Result<Reply, CommandError> {
    let only: Option<TenantId> = given.find("session-tenants")?;
    let mut rows = Rows::new(&control, &output, ["Tenant", "Instance"]);
    for of in control.walk_of::<SnortTenant>(only.as_ref()) {
        rows.step().await;
        rows.row([Cell::from(of.tenant.0), Cell::of(&of.instance)]);
    }
    Ok(rows.end())
}
