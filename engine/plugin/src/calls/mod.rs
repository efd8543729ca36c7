//! The daemon's functions, as plugins call them.

pub(crate) mod answer;
mod control;
mod setup;
pub(crate) mod side;
mod worker;

use quiver_plugin_abi::{Host, VERSION};

/// The table that every plugin gets.
pub(crate) static HOST: Host = Host {
    version: VERSION,
    reserved: 0,
    add_node: setup::add_node,
    add_feature_arc: setup::add_feature_arc,
    add_feature: setup::add_feature,
    add_counters: setup::add_counters,
    add_kind: setup::add_kind,
    add_command: setup::add_command,
    add_message: setup::add_message,
    add_event: setup::add_event,
    metadata_key: setup::metadata_key,
    refuse_setup: setup::refuse_setup,
    enable: control::enable,
    stand_in: control::stand_in,
    rewire: control::rewire,
    publish: control::publish,
    read_counter: control::read_counter,
    interface: control::interface,
    put: control::put,
    remove: control::remove,
    tell: control::tell,
    field: answer::field,
    argument: answer::argument,
    has_word: answer::has_word,
    answer_text: answer::answer_text,
    answer_columns: answer::answer_columns,
    answer_row: answer::answer_row,
    answer_bytes: answer::answer_bytes,
    answer_details: answer::answer_details,
    subscribe: answer::subscribe,
    refuse: answer::refuse,
    segment: worker::segment,
    offload: worker::offload,
    set_offload: worker::set_offload,
    metadata: worker::metadata,
    set_metadata: worker::set_metadata,
    emit: worker::emit,
    emit_copy: worker::emit_copy,
    raise: worker::raise,
    explain: worker::explain,
    log: control::log,
};
