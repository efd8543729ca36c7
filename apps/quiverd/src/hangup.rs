//! SIGHUP: log files are opened anew, for logrotate, and the configuration file is read again.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use quiver_control::Control;

use crate::audit::AuditLog;
use crate::configuration::{self, ConfigFile};
use crate::log::LogFile;
use crate::service;
use crate::signals::Hangups;
use crate::state::aside;

/// Answers each SIGHUP, for ever.
pub async fn answer(
    control: Control,
    mut hangups: Hangups,
    log: Option<Arc<LogFile>>,
    audit: Option<Rc<AuditLog>>,
    file: Option<ConfigFile>,
) {
    while hangups.next().await.is_some() {
        service::reloading("reloading");
        if let Some(log) = log.clone()
            && let Err(error) = aside(move || log.reopen().map_err(io::Error::other)).await
        {
            tracing::error!("{error}");
        }
        if let Some(audit) = &audit {
            audit.reopen();
        }
        let said = match configuration::reload(&control, file.as_ref()).await {
            Ok(said) => {
                tracing::info!("SIGHUP: {said}");
                said
            }
            Err(error) => {
                tracing::error!("SIGHUP: the configuration is not reloaded, and what ran runs on: {error}");
                format!("reload refused, what ran runs on: {error}")
            }
        };
        service::ready(&said);
    }
}
