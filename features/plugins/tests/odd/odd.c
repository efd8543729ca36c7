/* A plugin for fuzzing. It does what the bytes of a file say: anything that the contract cannot keep a plugin from doing
 * without breaking the process. PROGRAM is the file, which is read anew whenever the plugin is loaded. */

#include <quiver_plugin.h>

#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define STEPS_MAX 1024

static const QuiverHost *host;
static uint8_t program[4096];
static size_t length, at;
static const uint8_t zeros[70000];

static uint8_t byte(void) { return at < length ? program[at++] : 0; }
static uint16_t word(void) { return (uint16_t)(byte() << 8 | byte()); }
/* Small ones, large ones, and all the others. */
static uint32_t number(void) {
  uint8_t kind = byte();
  return kind < 128 ? kind % 16 : kind < 160 ? UINT32_MAX - kind % 16 : (uint32_t)word() << 16 | word();
}

static QuiverText text(void) {
  static const char *const words[] = {
      "odd", "other", "third", "on", "off", "ip4-unicast", "ip4-lookup", "ip4-output", "interface-output", "ip4-rewrite",
      "ethernet-input", "l2-fwd", "ghost", "odds", "interfaces", "name", "u32", "text", "bool", "ip4", "ip4-prefix",
      "interface", "7", "show odd", "odd <x:u32>", "odd {<x:ip4> | <y:interface>} [z]", "odd (", "show plugins",
  };
  uint8_t choice = byte();
  size_t rest = length - at, count = choice % 32;
  if (choice < 208) return quiver_text(words[choice % COUNT(words)]);
  if (choice < 224) return (QuiverText){0, number()};
  QuiverText raw = {(const char *)program + at, count < rest ? count : rest};
  at += raw.length;
  return raw;
}

/* A node's work: changes of the columns, and calls. */
static QuiverStatus process(void *state, QuiverContext *context, QuiverFrame *frame) {
  (void)state;
  for (int steps = 0; at < length && steps < STEPS_MAX; steps++) {
    uint8_t what = byte();
    uint32_t row = byte() % frame->rows, anywhere = number();
    QuiverSlice part;
    QuiverOffload offload = {byte(), byte(), word(), word(), word()};
    switch (what % 16) {
    case 0: case 1: frame->next[row] = byte() % 12; break;
    case 3: frame->next[row] = word(); break;
    case 4: frame->offset[row] = word(); break;
    case 5: frame->length[row] = anywhere; break;
    case 6: frame->first[row] = word(); break;
    case 7: frame->tx[row] = (uint32_t)anywhere; break;
    case 8: frame->hop[row] = anywhere; break;
    case 9: {
      /* The bytes are the plugin's to change, within the buffer. */
      uint32_t place = (uint32_t)frame->offset[row] + byte();
      if (place < frame->size) frame->data[frame->buffer[row] * frame->stride + place] = byte();
      break;
    }
    case 10:
      if (host->segment(context, what & 16 ? anywhere : row, byte() % 8, &part) == QUIVER_OK && part.length > 0)
        part.data[byte() % part.length] = byte();
      break;
    case 11: host->emit(context, byte() % 12, zeros, anywhere % sizeof zeros, word() % 8, word() % 8, number()); break;
    case 12: host->emit_copy(context, what & 16 ? anywhere : row, what & 32 ? word() : byte() % 12); break;
    case 13: host->set_offload(context, what & 16 ? anywhere : row, what & 32 ? 0 : &offload); break;
    case 2: host->raise(context, number(), zeros, number() % 80); break;
    case 14: host->offload(context, row, what & 16 ? &offload : 0); break;
    default:
      host->explain(context, text());
      if (what & 128) return byte();
    }
  }
  return QUIVER_OK;
}

static void describe(void *user, const QuiverRecord *record, QuiverAnswer *answer) {
  (void)user, (void)record;
  host->answer_text(answer, text());
}
static QuiverStatus run(void *user, QuiverControl *control, const QuiverCall *call, QuiverAnswer *answer) {
  QuiverValue cells[4] = {0};
  QuiverText titles[4];
  uint32_t interface;
  QuiverCount count;
  (void)user;
  for (int steps = 0; at < length && steps < STEPS_MAX; steps++) {
    uint8_t what = byte();
    uint32_t columns = byte() % 5;
    for (uint32_t i = 0; i < columns; i++) {
      titles[i] = text();
      host->argument(call, titles[i], byte(), &cells[i]);
      if (byte() & 1) cells[i].shape = byte() % 8, cells[i].byte_count = number(), cells[i].number = number();
    }
    switch (what % 10) {
    case 0: host->enable(control, text(), text(), word() % 8, what & 16); break;
    case 1: host->stand_in(control, number(), what & 16); break;
    case 2: host->rewire(control, text(), text(), text()); break;
    case 3: host->publish(control, number(), 0, 0); break;
    case 4: host->read_counter(control, number(), number(), what & 16 ? &count : 0); break;
    case 5: host->interface(control, text(), what & 16 ? &interface : 0); break;
    case 6: host->answer_columns(answer, what & 16 ? 0 : titles, columns); break;
    case 7: host->answer_row(answer, what & 16 ? 0 : cells, columns); break;
    case 8: host->has_word(call, text()); host->answer_text(answer, text()); break;
    default: host->refuse(answer, text(), text(), text()); host->tell(control, number(), zeros, number() % sizeof zeros);
    }
  }
  return byte();
}
static QuiverStatus apply(void *user, QuiverControl *control, const QuiverChange *change, QuiverAnswer *answer) {
  (void)user, (void)control, (void)change, (void)answer;
  return byte();
}

static void add_node(QuiverSetup *setup) {
  QuiverArc arcs[300];
  uint8_t flags = byte();
  uint32_t id, count = flags == 255 ? COUNT(arcs) : byte() % 8;
  for (uint32_t i = 0; i < count; i++) arcs[i] = (QuiverArc){text(), byte() % 8, text()};
  QuiverNode node = {.name = text(), .arcs = flags & 1 ? arcs : 0, .arc_count = count};
  if (flags & 2) node.stands_for = text();
  if (flags & 4) node.describe = describe;
  if (flags & 8) node.process = process;
  host->add_node(setup, flags & 16 ? &node : 0, flags & 32 ? &id : 0);
}

static void add_feature(QuiverSetup *setup) {
  QuiverText names[] = {text(), text(), text()};
  QuiverFeature feature = {.arc = text(), .node = text(), .before = names, .after = names + 1};
  feature.before_count = byte() % 4;
  feature.after_count = byte() % 3;
  host->add_feature(setup, byte() == 255 ? 0 : &feature);
}

static void add_kind(QuiverSetup *setup) {
  QuiverField fields[4];
  uint8_t flags = byte();
  uint32_t count = flags % 5;
  for (uint32_t i = 0; i < count; i++) {
    fields[i] = (QuiverField){.name = text(), .help = text(), .kind = text(), .flags = number()};
    if (byte() & 1) fields[i].default_word = text();
  }
  QuiverKind kind = {.name = text(), .help = text(), .fields = fields, .field_count = count};
  if (flags & 16) kind.apply = apply;
  host->add_kind(setup, flags & 32 ? &kind : 0);
}

static int32_t answer_message(void *user, QuiverControl *control, const uint8_t *request, size_t length,
                              QuiverAnswer *answer) {
  (void)user, (void)control;
  host->answer_bytes(answer, byte() & 1 ? request : 0, length);
  host->answer_details(answer, byte() & 1 ? request : 0, length);
  host->subscribe(answer, number(), byte() & 1);
  return byte();
}

static void add_message(QuiverSetup *setup) {
  QuiverMessageField fields[4];
  uint8_t flags = byte();
  uint32_t count = flags % 5;
  for (uint32_t i = 0; i < count; i++)
    fields[i] = (QuiverMessageField){.name = text(), .kind = text(), .length = number(), .count = text()};
  QuiverMessage message = {.name = text(), .help = text(), .fields = fields, .field_count = count};
  if (flags & 16) message.answer = answer_message;
  if (flags & 64) message.reply_fields = fields, message.reply_field_count = count;
  if (flags & 128) message.details = text(), message.details_fields = fields, message.details_field_count = count;
  if (flags & 8) message.event = text();
  host->add_message(setup, flags & 32 ? &message : 0);
}

static QuiverStatus odd_setup(QuiverSetup *setup) {
  for (int steps = 0; at < length && steps < STEPS_MAX; steps++) {
    uint32_t id;
    switch (byte() % 8) {
    case 0: case 1: add_node(setup); break;
    case 2: add_feature(setup); break;
    case 3: add_kind(setup); break;
    case 4: {
      QuiverFeatureArc arc = {text(), text(), byte() % 3};
      host->add_feature_arc(setup, &arc);
      break;
    }
    case 5: {
      QuiverCounters counters = {text(), text(), number()};
      host->add_counters(setup, &counters, byte() & 1 ? &id : 0);
      break;
    }
    case 6: {
      QuiverCommand command = {.grammar = text(), .help = text()};
      if (byte() % 8) command.run = run;
      host->add_command(setup, &command);
      break;
    }
    default: {
      uint8_t which = byte();
      if (which >= 192 && which < 255) add_message(setup);
      if (which >= 128 && which < 192) {
        QuiverMessageField field = {.name = text(), .kind = text(), .length = number(), .count = text()};
        QuiverEvent event = {.name = text(), .help = text(), .fields = &field, .field_count = byte() % 2};
        host->add_event(setup, which & 1 ? &event : 0, byte() & 1 ? &id : 0);
      }
      if (which == 255) host->refuse_setup(setup, text());
      break;
    }
    }
  }
  return byte();
}

/* A node on `ip4-unicast` with arcs to all sorts of nodes, and a command. */
static QuiverStatus plain_setup(QuiverSetup *setup) {
  static const QuiverArc arcs[] = {
      {QUIVER_TEXT("on"), QUIVER_ARC_NEXT_FEATURE, {0}},
      {QUIVER_TEXT("drop"), QUIVER_ARC_DROP, {0}},
      {QUIVER_TEXT("done"), QUIVER_ARC_DONE, {0}},
      {QUIVER_TEXT("punt"), QUIVER_ARC_PUNT, {0}},
      {QUIVER_TEXT("out"), QUIVER_ARC_OUT, {0}},
      {QUIVER_TEXT("rewrite"), QUIVER_ARC_NODE, QUIVER_TEXT("ip4-rewrite")},
      {QUIVER_TEXT("ethernet"), QUIVER_ARC_NODE, QUIVER_TEXT("ethernet-input")},
      {QUIVER_TEXT("resolve"), QUIVER_ARC_NODE, QUIVER_TEXT("ip4-resolve")},
      {QUIVER_TEXT("error"), QUIVER_ARC_NODE, QUIVER_TEXT("icmp4-error")},
      {QUIVER_TEXT("output"), QUIVER_ARC_FEATURES, QUIVER_TEXT("interface-output")},
      {QUIVER_TEXT("bridge"), QUIVER_ARC_NODE, QUIVER_TEXT("l2-fwd")},
      {QUIVER_TEXT("local"), QUIVER_ARC_FEATURES, QUIVER_TEXT("ip4-local")},
  };
  const QuiverNode node = {.name = QUIVER_TEXT("odd"), .arcs = arcs, .arc_count = COUNT(arcs), .process = process};
  const QuiverFeature feature = {.arc = QUIVER_TEXT("ip4-unicast"), .node = node.name};
  const QuiverCommand command = {.grammar = QUIVER_TEXT("odd"), .run = run};
  host->add_node(setup, &node, 0);
  host->add_feature(setup, &feature);
  return host->add_command(setup, &command);
}

static QuiverStatus setup(const QuiverHost *given, QuiverSetup *setup) {
  host = given;
  return byte() & 1 ? odd_setup(setup) : plain_setup(setup);
}

const QuiverPlugin *quiver_plugin_entry(void) {
  static QuiverPlugin plugin;
  FILE *file = fopen(PROGRAM, "rb");
  at = length = 0;
  if (file) {
    length = fread(program, 1, sizeof program, file);
    fclose(file);
  }
  plugin = (QuiverPlugin){.magic = QUIVER_MAGIC, .version = QUIVER_VERSION, .name = QUIVER_TEXT("odd"), .setup = setup};
  switch (byte()) {
  case 250: plugin.magic = number(); break;
  case 251: plugin.version = number(); break;
  case 252: plugin.name = text(); break;
  case 253: plugin.release = text(), plugin.built_by = text(); break;
  case 254: plugin.setup = 0; break;
  case 255: return 0;
  }
  return &plugin;
}
