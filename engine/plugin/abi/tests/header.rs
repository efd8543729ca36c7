//! The C header is what these sources say, and C compilers lay it out as Rust does. `UPDATE=1 cargo test -p
//! quiver-plugin-abi` writes it anew.

use quiver_plugin_abi as abi;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Handles that plugins only pass on, declared at the beginning of the header.
const OPAQUE: [&str; 5] = ["Setup", "Control", "Object", "Call", "Answer"];

/// Helpers for plugins in C.
const CONVENIENCE: &str = r#"
/**
 * A text of a string constant.
 */
#define QUIVER_TEXT(constant) { constant, sizeof(constant) - 1 }

/**
 * The text of a string that ends with a zero.
 */
static inline QuiverText quiver_text(const char *string) {
  QuiverText text = { string, 0 };
  while (string && string[text.length]) text.length++;
  return text;
}

/**
 * The bytes of a row, from the current header on; `frame->first[row]` of them lie there.
 */
static inline uint8_t *quiver_bytes(const QuiverFrame *frame, uint32_t row) {
  return frame->data + (size_t)frame->buffer[row] * frame->stride + frame->offset[row];
}

/**
 * Counts packets and bytes.
 */
static inline void quiver_count(const QuiverContext *context, uint32_t counters, uint32_t index, uint64_t packets,
                                uint64_t bytes) {
  if (counters >= context->counter_sets || index >= context->counters[counters].length) return;
  QuiverCount *count = &context->counters[counters].counts[index];
  __atomic_store_n(&count->packets, count->packets + packets, __ATOMIC_RELAXED);
  __atomic_store_n(&count->bytes, count->bytes + bytes, __ATOMIC_RELAXED);
}
"#;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn generated() -> String {
    let sources = ["lib.rs", "text.rs", "handles.rs", "host.rs", "graph.rs", "configuration.rs", "messages.rs"];
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        cpp_compat: true,
        include_guard: Some("QUIVER_PLUGIN_H".into()),
        header: Some(
            "/* The contract between quiverd and its plugins. Generated from the crate quiver-plugin-abi. */".into(),
        ),
        after_includes: Some(OPAQUE.map(|name| format!("\ntypedef struct Quiver{name} Quiver{name};")).concat()),
        trailer: Some(format!(
            "/**\n * The one function that a plugin exports.\n */\n#ifdef __cplusplus\nextern \"C\"\n#endif\n\
             const QuiverPlugin *quiver_plugin_entry(void);\n{CONVENIENCE}"
        )),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        usize_is_size_t: true,
        ..cbindgen::Config::default()
    };
    config.export.prefix = Some("Quiver".into());
    config.export.renaming_overrides_prefixing = true;
    config.export.exclude = OPAQUE.map(str::to_owned).to_vec();
    config.export.exclude.push("ENTRY".into());
    // Nothing exported uses them but each other and the constants' readers.
    config.export.include = ["Plugin", "Host"].map(str::to_owned).to_vec();
    let read = |source: &str| std::fs::read_to_string(folder().join("src").join(source)).unwrap();
    for source in sources {
        for line in read(source).lines() {
            let constant = line.strip_prefix("pub const ").and_then(|rest| rest.split(':').next());
            let rename = constant.map(|name| (name.to_owned(), format!("QUIVER_{name}")));
            config.export.rename.extend(rename);
        }
    }
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources.iter().fold(builder, |builder, source| builder.with_src(folder().join("src").join(source)));
    let mut header = vec![];
    builder.generate().unwrap().write(&mut header);
    String::from_utf8(header).unwrap()
}

#[test]
fn the_header_is_what_the_sources_say() {
    let (path, wanted) = (folder().join("include/quiver_plugin.h"), generated());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).is_ok_and(|now| now == wanted),
        "include/quiver_plugin.h is not what the sources say; `UPDATE=1 cargo test -p quiver-plugin-abi` writes it anew"
    );
}

/// Assertions in C of what Rust says of a type's layout.
macro_rules! layout {
    ($into:ident: $($type:ident { $($field:ident),+ })+) => {$(
        let size = size_of::<abi::$type>();
        $into.push(format!("_Static_assert(sizeof(Quiver{}) == {size}, \"\");", stringify!($type)));
        $(
            let (name, at) = (stringify!($field), offset_of!(abi::$type, $field));
            $into.push(format!("_Static_assert(offsetof(Quiver{}, {name}) == {at}, \"{name}\");", stringify!($type)));
        )+
    )+};
}

fn compile(compiler: &str, arguments: &[&str], file: &Path) {
    let include = folder().join("include");
    let output = Command::new(compiler).args(arguments).arg("-I").arg(include).arg(file).output();
    let output = output.unwrap_or_else(|error| panic!("{compiler}: {error}; install it"));
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn compilers_of_c_lay_it_out_as_rust_does() {
    let mut lines = vec!["#include \"quiver_plugin.h\"".to_owned()];
    layout! { lines:
        Plugin { magic, version, reserved, name, release, built_by, setup }
        Host { version, reserved, add_node, add_feature_arc, add_feature, add_counters, add_kind, add_command, add_message, add_event, metadata_key, refuse_setup,
            enable, stand_in, rewire, publish, read_counter, interface, put, remove, tell, field, argument, has_word, answer_text,
            answer_columns, answer_row, answer_bytes, answer_details, subscribe, refuse, segment, offload, set_offload, metadata, set_metadata, emit, emit_copy, raise, explain, log }
        Text { data, length }
        Arc { name, kind, to }
        Node { name, arcs, arc_count, stands_for, user, make, process, free, describe }
        Feature { arc, node, before, before_count, after, after_count }
        FeatureArc { name, end, side }
        Counters { name, help, length }
        Count { packets, bytes }
        CounterSet { counts, length }
        Frame { rows, size, data, stride, buffer, offset, length, first, rx, tx, flags, hop, next }
        Context { host, now, worker, counter_sets, counters, published }
        Slice { data, length }
        Offload { flags, segmentation, segment_size, checksum_start, checksum_offset }
        Record { bytes, byte_count, length, arc, hop, rx, tx, flags, reserved }
        Value { shape, byte_count, number, bytes, text }
        Field { name, help, kind, default_word, flags }
        Kind { name, help, fields, field_count, user, apply, check }
        Change { before, after }
        Setting { name, value }
        Command { grammar, help, user, run }
        MessageField { name, kind, length, count }
        Message { name, help, fields, field_count, reply_fields, reply_field_count, details, details_fields,
            details_field_count, event, user, answer }
        Event { name, help, fields, field_count }
    }
    for (name, value) in [("MAGIC", abi::MAGIC), ("VERSION", abi::VERSION.into()), ("NO_ARC", abi::NO_ARC.into())] {
        lines.push(format!("_Static_assert(QUIVER_{name} == {value}ull, \"{name}\");"));
    }
    lines.push("int main(void) { return 0; }\n".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("layout.c");
    std::fs::write(&file, lines.join("\n")).unwrap();
    compile("cc", &["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"], &file);
    // C++ has the assertion under another name.
    compile("cc", &["-x", "c++", "-std=c++17", "-D_Static_assert=static_assert", "-fsyntax-only"], &file);
}
