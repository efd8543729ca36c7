/* A plugin of Quiver in C: drops IPv4 packets whose TTL is below what an interface demands of its neighbours (the idea of
 * RFC 5082, the generalised TTL security mechanism). The node `ttl-guard` is on the feature arc `ip4-unicast`. */

#include <quiver_plugin.h>

#include <stdlib.h>
#include <string.h>

#define INTERFACES 65536

/* What the node reads: the least TTL of each interface. A new table is published for every change. */
struct limits {
  uint8_t least[INTERFACES];
};

static const QuiverHost *host;
static uint32_t node, refused, low_ttl;
/* As published last; only the control thread looks at it. */
static struct limits current;

enum { PASS, LOW_TTL, SHORT };

static const QuiverArc arcs[] = {
    [PASS] = {QUIVER_TEXT("next-feature"), QUIVER_ARC_NEXT_FEATURE, {0}},
    [LOW_TTL] = {QUIVER_TEXT("low-ttl"), QUIVER_ARC_DROP, {0}},
    [SHORT] = {QUIVER_TEXT("short"), QUIVER_ARC_DROP, {0}},
};

/* Messages carry integers in the order of the network. */
static void put_number(uint8_t *to, uint32_t number) {
  for (int byte = 3; byte >= 0; byte--, number >>= 8) to[byte] = (uint8_t)number;
}
static uint32_t take_number(const uint8_t *from) {
  return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static QuiverStatus process(void *state, QuiverContext *context, QuiverFrame *frame) {
  const struct limits *limits = context->published;
  int told = 0;
  (void)state;
  if (!limits) return QUIVER_OK;
  for (uint32_t row = 0; row < frame->rows; row++) {
    if (frame->first[row] < 20) {
      frame->next[row] = SHORT;
    } else if (quiver_bytes(frame, row)[8] < limits->least[frame->rx[row]]) {
      frame->next[row] = LOW_TTL;
      quiver_count(context, refused, 0, 1, frame->length[row]);
      /* Clients that asked hear of one packet of a vector. */
      uint8_t event[5] = {[4] = quiver_bytes(frame, row)[8]};
      put_number(event, frame->rx[row]);
      if (!told++) host->raise(context, low_ttl, event, sizeof event);
    }
  }
  return QUIVER_OK;
}

/* For `show trace`. */
static void describe(void *user, const QuiverRecord *record, QuiverAnswer *answer) {
  char text[] = "TTL ...";
  unsigned ttl = record->byte_count > 8 ? record->bytes[8] : 0;
  (void)user;
  for (int digit = 6; digit > 3; digit--, ttl /= 10) text[digit] = (char)('0' + ttl % 10);
  host->answer_text(answer, quiver_text(text));
}

/* The config objects `ttl-guards`. */

static QuiverStatus refuse(QuiverAnswer *answer, const char *field, const char *what, const char *remedy) {
  host->refuse(answer, quiver_text(field), quiver_text(what), quiver_text(remedy));
  return QUIVER_FAILED;
}

static QuiverStatus check(void *user, const QuiverObject *object, QuiverAnswer *answer) {
  QuiverValue least;
  (void)user;
  if (host->field(object, quiver_text("least"), 0, &least) != QUIVER_OK || least.number == 0)
    return refuse(answer, "least", "every packet has a TTL of 0 or more", "from 1 to 255");
  return QUIVER_OK;
}

static QuiverStatus apply(void *user, QuiverControl *control, const QuiverChange *change, QuiverAnswer *answer) {
  const QuiverObject *object = change->after ? change->after : change->before;
  QuiverValue interface, least;
  struct limits *limits;
  (void)user;
  if (host->field(object, quiver_text("interface"), 0, &interface) != QUIVER_OK ||
      host->field(object, quiver_text("least"), 0, &least) != QUIVER_OK || interface.number >= INTERFACES)
    return refuse(answer, "interface", "it cannot be read", "name an interface");
  limits = malloc(sizeof *limits);
  if (!limits) return refuse(answer, "", "there is no memory", "");
  *limits = current;
  limits->least[interface.number] = change->after ? (uint8_t)least.number : 0;
  const struct limits wanted = *limits;
  /* The daemon calls free when no worker reads the table any more, or at once if it refuses. */
  if (host->publish(control, node, limits, free) != QUIVER_OK ||
      host->enable(control, quiver_text("ip4-unicast"), quiver_text("ttl-guard"), (uint32_t)interface.number,
                   change->after != NULL) != QUIVER_OK)
    return refuse(answer, "", "the node is not there", "");
  current = wanted;
  return QUIVER_OK;
}

static QuiverStatus show(void *user, QuiverControl *control, const QuiverCall *call, QuiverAnswer *answer) {
  static const QuiverText titles[] = {QUIVER_TEXT("Interface"), QUIVER_TEXT("Least TTL")};
  QuiverCount count;
  (void)user;
  if (host->has_word(call, quiver_text("total"))) {
    QuiverText title = QUIVER_TEXT("Refused");
    QuiverValue cell = {.shape = QUIVER_VALUE_NUMBER};
    if (host->read_counter(control, refused, 0, &count) == QUIVER_OK) cell.number = count.packets;
    host->answer_columns(answer, &title, 1);
    host->answer_row(answer, &cell, 1);
    return QUIVER_OK;
  }
  host->answer_columns(answer, titles, 2);
  for (uint32_t i = 0; i < INTERFACES; i++) {
    QuiverValue row[] = {{.shape = QUIVER_VALUE_INTERFACE, .number = i},
                         {.shape = QUIVER_VALUE_NUMBER, .number = current.least[i]}};
    if (current.least[i]) host->answer_row(answer, row, 2);
  }
  return QUIVER_OK;
}

/* A client of VPP's binary API asks what an interface demands. */
static int32_t get(void *user, QuiverControl *control, const uint8_t *request, size_t length, QuiverAnswer *answer) {
  uint32_t interface = take_number(request);
  (void)user, (void)control, (void)length;
  if (interface >= INTERFACES) {
    refuse(answer, "sw_if_index", "there is no such interface", "");
    return -2;
  }
  host->answer_bytes(answer, &current.least[interface], 1);
  return 0;
}

/* A client asks for the interfaces that demand anything: a message of details for each. */
static int32_t dump(void *user, QuiverControl *control, const uint8_t *request, size_t length, QuiverAnswer *answer) {
  (void)user, (void)control, (void)request, (void)length;
  for (uint32_t i = 0; i < INTERFACES; i++) {
    uint8_t details[5] = {[4] = current.least[i]};
    put_number(details, i);
    if (current.least[i]) host->answer_details(answer, details, sizeof details);
  }
  return 0;
}

/* A client asks to be told of packets that are refused, or not any more. */
static int32_t want(void *user, QuiverControl *control, const uint8_t *request, size_t length, QuiverAnswer *answer) {
  (void)user, (void)control, (void)length;
  host->subscribe(answer, take_number(request + 1), request[0] != 0);
  return 0;
}

static QuiverStatus setup(const QuiverHost *given, QuiverSetup *setup) {
  static const QuiverNode guard = {.name = QUIVER_TEXT("ttl-guard"),
                                   .arcs = arcs,
                                   .arc_count = sizeof arcs / sizeof *arcs,
                                   .process = process,
                                   .describe = describe};
  static const QuiverText end = QUIVER_TEXT("ip4-lookup");
  static const QuiverFeature feature = {
      .arc = QUIVER_TEXT("ip4-unicast"), .node = QUIVER_TEXT("ttl-guard"), .before = &end, .before_count = 1};
  static const QuiverCounters counters = {
      .name = QUIVER_TEXT("refused"), .help = QUIVER_TEXT("packets with too low a TTL"), .length = 1};
  static const QuiverField fields[] = {
      {.name = QUIVER_TEXT("interface"),
       .kind = QUIVER_TEXT("interface"),
       .help = QUIVER_TEXT("The interface that receives the packets."),
       .flags = QUIVER_FIELD_KEY},
      {.name = QUIVER_TEXT("least"),
       .kind = QUIVER_TEXT("u8"),
       .help = QUIVER_TEXT("The least TTL that passes."),
       .default_word = QUIVER_TEXT("255")},
  };
  static const QuiverKind kind = {.name = QUIVER_TEXT("ttl-guards"),
                                  .help = QUIVER_TEXT("The TTL that an interface demands of its neighbours."),
                                  .fields = fields,
                                  .field_count = sizeof fields / sizeof *fields,
                                  .apply = apply,
                                  .check = check};
  static const QuiverCommand command = {.grammar = QUIVER_TEXT("show ttl-guard [total]"),
                                        .help = QUIVER_TEXT("Show what interfaces demand, or the packets refused."),
                                        .run = show};
  static const QuiverMessageField get_fields[] = {
      {.name = QUIVER_TEXT("sw_if_index"), .kind = QUIVER_TEXT("interface_index")}};
  static const QuiverMessageField get_reply_fields[] = {{.name = QUIVER_TEXT("least"), .kind = QUIVER_TEXT("u8")}};
  static const QuiverMessage get_message = {.name = QUIVER_TEXT("ttl_guard_get"),
                                            .help = QUIVER_TEXT("Which TTL does an interface demand of its neighbours?"),
                                            .fields = get_fields,
                                            .field_count = 1,
                                            .reply_fields = get_reply_fields,
                                            .reply_field_count = 1,
                                            .answer = get};
  static const QuiverMessageField details_fields[] = {
      {.name = QUIVER_TEXT("sw_if_index"), .kind = QUIVER_TEXT("interface_index")},
      {.name = QUIVER_TEXT("least"), .kind = QUIVER_TEXT("u8")}};
  static const QuiverMessage dump_message = {.name = QUIVER_TEXT("ttl_guard_dump"),
                                             .help = QUIVER_TEXT("Which interfaces demand a TTL of their neighbours?"),
                                             .details = QUIVER_TEXT("ttl_guard_details"),
                                             .details_fields = details_fields,
                                             .details_field_count = 2,
                                             .answer = dump};
  static const QuiverMessageField event_fields[] = {
      {.name = QUIVER_TEXT("sw_if_index"), .kind = QUIVER_TEXT("interface_index")},
      {.name = QUIVER_TEXT("ttl"), .kind = QUIVER_TEXT("u8")}};
  static const QuiverEvent event = {.name = QUIVER_TEXT("ttl_guard_event"),
                                    .help = QUIVER_TEXT("A packet was refused."),
                                    .fields = event_fields,
                                    .field_count = 2};
  static const QuiverMessageField want_fields[] = {{.name = QUIVER_TEXT("enable"), .kind = QUIVER_TEXT("bool")},
                                                   {.name = QUIVER_TEXT("pid"), .kind = QUIVER_TEXT("u32")}};
  static const QuiverMessage want_message = {.name = QUIVER_TEXT("want_ttl_guard_events"),
                                             .help = QUIVER_TEXT("Tell of packets that are refused, or no more."),
                                             .fields = want_fields,
                                             .field_count = 2,
                                             .event = QUIVER_TEXT("ttl_guard_event"),
                                             .answer = want};
  host = given;
  /* What the daemon refuses it has noted itself; every call is made, so that all of it is told. */
  int status = host->add_node(setup, &guard, &node);
  status |= host->add_feature(setup, &feature);
  status |= host->add_counters(setup, &counters, &refused);
  status |= host->add_kind(setup, &kind);
  status |= host->add_message(setup, &get_message);
  status |= host->add_message(setup, &dump_message);
  status |= host->add_event(setup, &event, &low_ttl);
  status |= host->add_message(setup, &want_message);
  return status | host->add_command(setup, &command);
}

static const QuiverPlugin plugin = {.magic = QUIVER_MAGIC,
                                    .version = QUIVER_VERSION,
                                    .name = QUIVER_TEXT("ttl-guard"),
                                    .release = QUIVER_TEXT("1.0.0"),
                                    .built_by = QUIVER_TEXT("C, " __VERSION__),
                                    .setup = setup};

__attribute__((visibility("default"))) const QuiverPlugin *quiver_plugin_entry(void) { return &plugin; }
