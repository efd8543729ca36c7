/* The contract between quiverd and its plugins. Generated from the crate quiver-plugin-abi. */

#ifndef QUIVER_PLUGIN_H
#define QUIVER_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct QuiverSetup QuiverSetup;
typedef struct QuiverControl QuiverControl;
typedef struct QuiverObject QuiverObject;
typedef struct QuiverCall QuiverCall;
typedef struct QuiverAnswer QuiverAnswer;

/**
 * The version of this contract. It changes whenever anything here does; a plugin of another version is refused.
 */
#define QUIVER_VERSION 5

/**
 * First bytes of a plugin's table: `QUIVERPL` in memory on a little-endian machine.
 */
#define QUIVER_MAGIC 5498985602773243217

/**
 * No value: a field or argument that was left out.
 */
#define QUIVER_VALUE_NONE 0

/**
 * `number` is the value.
 */
#define QUIVER_VALUE_NUMBER 1

/**
 * `number` is 1 or 0.
 */
#define QUIVER_VALUE_BOOL 2

/**
 * `text` is the value.
 */
#define QUIVER_VALUE_TEXT 3

/**
 * An address or prefix: its bytes are the first `byte_count` of `bytes`, a prefix's length is `number`.
 */
#define QUIVER_VALUE_ADDRESS 4

/**
 * The name of an object. For an interface, `number` is its number, as packets carry it.
 */
#define QUIVER_VALUE_REFERENCE 5

/**
 * In a row of an answer: the interface whose number is `number`, shown by its name.
 */
#define QUIVER_VALUE_INTERFACE 6

/**
 * The field is part of the object's key.
 */
#define QUIVER_FIELD_KEY 1

/**
 * A change of the field replaces the object.
 */
#define QUIVER_FIELD_FIXED 2

/**
 * The field may be left out.
 */
#define QUIVER_FIELD_OPTIONAL 4

/**
 * The field is a list of values.
 */
#define QUIVER_FIELD_LIST 8

/**
 * The arc leads to the node named by `to`.
 */
#define QUIVER_ARC_NODE 0

/**
 * The arc ends here; its name is the reason that is counted.
 */
#define QUIVER_ARC_DROP 1

/**
 * The arc ends here, but the node has done with the packet what was to be done.
 */
#define QUIVER_ARC_DONE 2

/**
 * The arc leads to the control thread.
 */
#define QUIVER_ARC_PUNT 3

/**
 * The arc leads onto the feature arc named by `to`.
 */
#define QUIVER_ARC_FEATURES 4

/**
 * The arc leads out of the graph by the sending interface.
 */
#define QUIVER_ARC_OUT 5

/**
 * The arc leads to the next feature on the arc that the node is on.
 */
#define QUIVER_ARC_NEXT_FEATURE 6

/**
 * The receiving interface decides which features a packet meets.
 */
#define QUIVER_SIDE_RX 0

/**
 * The sending one does.
 */
#define QUIVER_SIDE_TX 1

/**
 * The packet goes on in further buffers.
 */
#define QUIVER_FLAG_CHAINED 1

/**
 * A checksum is to be filled in, or segments to be cut: see `offload`.
 */
#define QUIVER_FLAG_OFFLOAD 2

/**
 * Nodes record what they do with the packet.
 */
#define QUIVER_FLAG_TRACED 4

/**
 * The packet was made here, not received.
 */
#define QUIVER_FLAG_LOCAL 8

/**
 * The node kept the packet.
 */
#define QUIVER_NO_ARC UINT32_MAX

/**
 * An error, said loudly.
 */
#define QUIVER_LOG_ERROR 0

/**
 * A warning.
 */
#define QUIVER_LOG_WARNING 1

/**
 * News.
 */
#define QUIVER_LOG_INFO 2

/**
 * Bytes of an event at most that a worker raises.
 */
#define QUIVER_EVENT_BYTES 64

/**
 * Result of a call: [`OK`], or an error.
 */
typedef int32_t QuiverStatus;

/**
 * A text in UTF-8, without a zero at its end; its bytes are the giver's.
 */
typedef struct QuiverText {
  /**
   * Its first byte. May be null if the length is 0.
   */
  const char *data;
  /**
   * Its bytes.
   */
  size_t length;
} QuiverText;

/**
 * An arc of a node. Packets are counted by arc, so a drop's reason needs no other counter.
 */
typedef struct QuiverArc {
  /**
   * Its name.
   */
  struct QuiverText name;
  /**
   * Where it leads, one of `QUIVER_ARC_...`.
   */
  uint32_t kind;
  /**
   * The node or feature arc that it leads to, where `kind` needs one.
   */
  struct QuiverText to;
} QuiverArc;

/**
 * A counter. A worker's counters have one writer, that worker, and readers at any time: write with relaxed atomic stores.
 */
typedef struct QuiverCount {
  /**
   * Packets.
   */
  uint64_t packets;
  /**
   * Bytes.
   */
  uint64_t bytes;
} QuiverCount;

/**
 * A worker's part of a vector of counters.
 */
typedef struct QuiverCounterSet {
  /**
   * The counters.
   */
  struct QuiverCount *counts;
  /**
   * Number of counters.
   */
  uint32_t length;
} QuiverCounterSet;

/**
 * Everything that a node's call may access besides its frame.
 */
typedef struct QuiverContext {
  /**
   * The daemon's functions.
   */
  const struct QuiverHost *host;
  /**
   * Nanoseconds of the engine's clock.
   */
  uint64_t now;
  /**
   * The number of the worker.
   */
  uint32_t worker;
  /**
   * Vectors of counters.
   */
  uint32_t counter_sets;
  /**
   * The worker's counters, by the numbers that `add_counters` gave.
   */
  const struct QuiverCounterSet *counters;
  /**
   * The value that `publish` set last for the node; null before the first.
   */
  const void *published;
} QuiverContext;

/**
 * A vector of packets as columns, `rows` values each. The bytes of row `i` begin at
 * `data + buffer[i] * stride + offset[i]`, at the header that the node reads; `first[i]` of them lie there. No two rows
 * have bytes in common.
 *
 * To go over a header, add to `offset` what is taken from `length` and `first`; to push one, the other way round, `offset`
 * is never negative and there are usually 128 bytes in front of a received packet. Columns that promise more than there is
 * are cut when the call returns.
 */
typedef struct QuiverFrame {
  /**
   * Packets, at most 64.
   */
  uint32_t rows;
  /**
   * Bytes of a buffer, from `data + buffer[i] * stride` on.
   */
  uint32_t size;
  /**
   * Where the buffers begin.
   */
  uint8_t *data;
  /**
   * Bytes from one buffer to the next.
   */
  size_t stride;
  /**
   * The rows' buffers.
   */
  const uint32_t *buffer;
  /**
   * Where the current header begins.
   */
  uint16_t *offset;
  /**
   * Bytes of the packet from `offset` on, in all its buffers.
   */
  uint32_t *length;
  /**
   * Bytes of the packet that lie in the first buffer: all unless the packet is chained.
   */
  uint16_t *first;
  /**
   * The interface that received the packet.
   */
  const uint32_t *rx;
  /**
   * The interface that is to send it.
   */
  uint32_t *tx;
  /**
   * `QUIVER_FLAG_...`.
   */
  const uint16_t *flags;
  /**
   * Result of a lookup, for the node that acts on it.
   */
  uint32_t *hop;
  /**
   * The arc by which the packet leaves; 0 when the call begins.
   */
  uint16_t *next;
} QuiverFrame;

/**
 * Record of one node and one traced packet.
 */
typedef struct QuiverRecord {
  /**
   * The packet's first bytes as they came to the node, from the current header on.
   */
  const uint8_t *bytes;
  /**
   * Number of these bytes, at most 128.
   */
  uint32_t byte_count;
  /**
   * Bytes of the whole packet.
   */
  uint32_t length;
  /**
   * The arc that it took, or `QUIVER_NO_ARC`.
   */
  uint32_t arc;
  /**
   * Result of a lookup.
   */
  uint32_t hop;
  /**
   * The interface that received it.
   */
  uint32_t rx;
  /**
   * The interface that is to send it.
   */
  uint32_t tx;
  /**
   * `QUIVER_FLAG_...`.
   */
  uint16_t flags;
  /**
   * Not used.
   */
  uint16_t reserved;
} QuiverRecord;

/**
 * A node of the graph, added by `add_node`.
 */
typedef struct QuiverNode {
  /**
   * Its name, which no other node has.
   */
  struct QuiverText name;
  /**
   * Its arcs, `arc_count` of them. The first one that is no drop is how packets go on should the node fail.
   */
  const struct QuiverArc *arcs;
  /**
   * Arcs, at most 256.
   */
  uint32_t arc_count;
  /**
   * A node that this one stands for, once `stand_in` says so: what leads there leads here instead, but for this node's
   * own arcs. Empty if it stands for none.
   */
  struct QuiverText stands_for;
  /**
   * Handed to `make` and `describe`.
   */
  void *user;
  /**
   * Makes the state of a worker's instance; called for each worker, on the control thread. May be null: no state.
   */
  void *(*make)(void *user, uint32_t worker);
  /**
   * Sets `next` of every row. Called on the worker with its state. If it does not return [`OK`](crate::OK), the node is
   * disabled for good, the frame's packets are dropped by the reason `plugin-failed`, and the path closes over it.
   */
  QuiverStatus (*process)(void *state, struct QuiverContext *context, struct QuiverFrame *frame);
  /**
   * Frees what `make` made, on whatever thread lets go of it last. May be null.
   */
  void (*free)(void *state);
  /**
   * Says in lines what the node did with a traced packet (`answer_text`). May be null.
   */
  void (*describe)(void *user, const struct QuiverRecord *record, QuiverAnswer *answer);
} QuiverNode;

/**
 * A feature arc, added by `add_feature_arc`.
 */
typedef struct QuiverFeatureArc {
  /**
   * Its name.
   */
  struct QuiverText name;
  /**
   * Target behind the last feature: a node, or another feature arc.
   */
  struct QuiverText end;
  /**
   * The packet's interface that decides, `QUIVER_SIDE_RX` or `QUIVER_SIDE_TX`.
   */
  uint32_t side;
} QuiverFeatureArc;

/**
 * A place on a feature arc, added by `add_feature`. It is enabled per interface by `enable`.
 */
typedef struct QuiverFeature {
  /**
   * The arc.
   */
  struct QuiverText arc;
  /**
   * The node, which has an arc of kind `QUIVER_ARC_NEXT_FEATURE`.
   */
  struct QuiverText node;
  /**
   * Features that come after it; the node at the arc's end may be named, too.
   */
  const struct QuiverText *before;
  /**
   * Number of nodes in `before`.
   */
  uint32_t before_count;
  /**
   * Features that come before it.
   */
  const struct QuiverText *after;
  /**
   * Number of nodes in `after`.
   */
  uint32_t after_count;
} QuiverFeature;

/**
 * A vector of counters, added by `add_counters`.
 */
typedef struct QuiverCounters {
  /**
   * Its name, for `show plugins counters`.
   */
  struct QuiverText name;
  /**
   * Description of the counters.
   */
  struct QuiverText help;
  /**
   * Counters in it, at most 65,536.
   */
  uint32_t length;
} QuiverCounters;

/**
 * A field of a kind of config objects.
 */
typedef struct QuiverField {
  /**
   * Its name in files.
   */
  struct QuiverText name;
  /**
   * Description of the field.
   */
  struct QuiverText help;
  /**
   * The type of its values, as arguments of commands have it: `u32`, `bool`, `text`, `ip4`, `ip4-prefix`, `interface`.
   */
  struct QuiverText kind;
  /**
   * The word that stands for it where it is left out; data is null if there is none.
   */
  struct QuiverText default_word;
  /**
   * `QUIVER_FIELD_...`, added up.
   */
  uint32_t flags;
} QuiverField;

/**
 * A change of an object: none before is a creation, none after a deletion.
 */
typedef struct QuiverChange {
  /**
   * The object before the change, or null.
   */
  const QuiverObject *before;
  /**
   * The object after the change, or null.
   */
  const QuiverObject *after;
} QuiverChange;

/**
 * A kind of config objects, added by `add_kind`: a section of the configuration file, in the schema, in `save` and `diff`.
 */
typedef struct QuiverKind {
  /**
   * Its name: plural, the section of the file.
   */
  struct QuiverText name;
  /**
   * Description of the kind.
   */
  struct QuiverText help;
  /**
   * The fields, at least one of them a key.
   */
  const struct QuiverField *fields;
  /**
   * Number of fields.
   */
  uint32_t field_count;
  /**
   * Handed to the functions.
   */
  void *user;
  /**
   * Makes a change real. If it fails (`refuse` says why), nothing must have changed.
   */
  QuiverStatus (*apply)(void *user,
                        QuiverControl *control,
                        const struct QuiverChange *change,
                        QuiverAnswer *answer);
  /**
   * Refuses what does not hold of an object by itself. Changes nothing. May be null.
   */
  QuiverStatus (*check)(void *user, const QuiverObject *object, QuiverAnswer *answer);
} QuiverKind;

/**
 * A command, added by `add_command`.
 */
typedef struct QuiverCommand {
  /**
   * Its grammar: `show ttl-guard [<interface>]`; words, `<name:type>`, `[x]`, `(x | y)`, `{x | y}`, `x...`.
   */
  struct QuiverText grammar;
  /**
   * Description of the command.
   */
  struct QuiverText help;
  /**
   * Handed to `run`.
   */
  void *user;
  /**
   * Runs it at once; what it answers goes to `answer`. If it fails, `refuse` says why.
   */
  QuiverStatus (*run)(void *user,
                      QuiverControl *control,
                      const QuiverCall *call,
                      QuiverAnswer *answer);
} QuiverCommand;

/**
 * A field of a message.
 */
typedef struct QuiverMessageField {
  /**
   * Its name.
   */
  struct QuiverText name;
  /**
   * Its type: `u8`, `u16`, `u32`, `u64`, `i8`, `i16`, `i32`, `i64`, `f64`, `bool`, `string`, or one that the daemon's own
   * messages have, such as `interface_index` or `ip4_prefix`.
   */
  struct QuiverText kind;
  /**
   * Elements of it, where it has a fixed number of them, bytes of a `string`; 0 for a single one, and for a `string` of any
   * length.
   */
  uint32_t length;
  /**
   * The field before it that says how many elements there are. Empty if no field does. Only the last field may have such
   * a number of elements or be a `string` of any length.
   */
  struct QuiverText count;
} QuiverMessageField;

/**
 * A message of VPP's binary API, added by `add_message`: a request, and what answers it. Clients know each by name and by a
 * checksum over its fields.
 *
 * A request has a reply. One that has `details`, too, is answered by any number of these, and the reply behind them; one whose
 * name ends in `_dump` has details only, and no reply.
 */
typedef struct QuiverMessage {
  /**
   * The request's name, in small letters, digits and underscores; the reply's is the same with `_reply` behind it.
   */
  struct QuiverText name;
  /**
   * Description of the request.
   */
  struct QuiverText help;
  /**
   * The request's fields behind `client_index` and `context`.
   */
  const struct QuiverMessageField *fields;
  /**
   * Number of fields.
   */
  uint32_t field_count;
  /**
   * The reply's fields behind `context` and `retval`.
   */
  const struct QuiverMessageField *reply_fields;
  /**
   * Number of fields of the reply.
   */
  uint32_t reply_field_count;
  /**
   * The name of the message that `answer_details` adds one of. Empty if there is none.
   */
  struct QuiverText details;
  /**
   * The details' fields behind `context`.
   */
  const struct QuiverMessageField *details_fields;
  /**
   * Number of fields of the details message.
   */
  uint32_t details_field_count;
  /**
   * The event, added by `add_event`, of which clients are told that ask for it by this request. Empty if there is none.
   */
  struct QuiverText event;
  /**
   * Handed to `answer`.
   */
  void *user;
  /**
   * Answers a request at once. `request` has the bytes of its fields, as they came, at least as many as they take where
   * lists are empty: integers in the order of the network, an `f64` in the host's. `answer_bytes` adds those of the reply, a
   * call of `answer_details` has those of one details message; what is missing of them is zero. `subscribe` tells the client
   * of the event from then on. Returns the reply's `retval`: 0, or a negative number of VPP's; then `refuse` says why, for
   * the log, and no details are sent.
   */
  int32_t (*answer)(void *user,
                    QuiverControl *control,
                    const uint8_t *request,
                    size_t length,
                    QuiverAnswer *answer);
} QuiverMessage;

/**
 * A message that clients of VPP's binary API are told when they have asked for it, added by `add_event`. `tell` and `raise`
 * send it.
 */
typedef struct QuiverEvent {
  /**
   * Its name.
   */
  struct QuiverText name;
  /**
   * Description of the event.
   */
  struct QuiverText help;
  /**
   * Its fields behind `client_index` and `pid`.
   */
  const struct QuiverMessageField *fields;
  /**
   * Number of fields.
   */
  uint32_t field_count;
} QuiverEvent;

/**
 * A value of one word. Values that the daemon gives have their usual `text` in every shape.
 */
typedef struct QuiverValue {
  /**
   * Shape of the value, one of `QUIVER_VALUE_...`.
   */
  uint32_t shape;
  /**
   * Bytes of an address.
   */
  uint32_t byte_count;
  /**
   * The number.
   */
  uint64_t number;
  /**
   * The bytes of an address, in the order of the network.
   */
  uint8_t bytes[16];
  /**
   * The text.
   */
  struct QuiverText text;
} QuiverValue;

/**
 * A field and its value, for `put` and `remove`.
 */
typedef struct QuiverSetting {
  /**
   * The field.
   */
  struct QuiverText name;
  /**
   * Its value. For an address or a reference the text is read.
   */
  struct QuiverValue value;
} QuiverSetting;

/**
 * Bytes of a packet.
 */
typedef struct QuiverSlice {
  /**
   * The first one.
   */
  uint8_t *data;
  /**
   * Number of bytes.
   */
  size_t length;
} QuiverSlice;

/**
 * Offload state of a packet as the driver reported it, after virtio's `virtio_net_hdr` (virtio 1.2, 5.1.6).
 */
typedef struct QuiverOffload {
  /**
   * Bit 0: the checksum is still to be computed; bit 1: it was found right.
   */
  uint8_t flags;
  /**
   * 0 none, 1 TCP over IPv4, 4 TCP over IPv6, 5 UDP; bit 7: with ECN.
   */
  uint8_t segmentation;
  /**
   * Payload bytes of each segment.
   */
  uint16_t segment_size;
  /**
   * Where the checksummed part begins, counted like a frame's `offset`.
   */
  uint16_t checksum_start;
  /**
   * Where the checksum lies, from `checksum_start`.
   */
  uint16_t checksum_offset;
} QuiverOffload;

/**
 * The daemon's functions. The table is valid for as long as the process lives. None of them is null.
 */
typedef struct QuiverHost {
  /**
   * [`VERSION`](crate::VERSION) of the daemon.
   */
  uint32_t version;
  /**
   * Not used.
   */
  uint32_t reserved;
  /**
   * Adds a node. `node` gets the number by which `publish` and others know it.
   */
  QuiverStatus (*add_node)(QuiverSetup *setup, const struct QuiverNode *spec, uint32_t *node);
  /**
   * Adds a feature arc.
   */
  QuiverStatus (*add_feature_arc)(QuiverSetup *setup, const struct QuiverFeatureArc *spec);
  /**
   * Puts a node on a feature arc.
   */
  QuiverStatus (*add_feature)(QuiverSetup *setup, const struct QuiverFeature *spec);
  /**
   * Adds a vector of counters. `counters` gets its number.
   */
  QuiverStatus (*add_counters)(QuiverSetup *setup,
                               const struct QuiverCounters *spec,
                               uint32_t *counters);
  /**
   * Adds a kind of config objects.
   */
  QuiverStatus (*add_kind)(QuiverSetup *setup, const struct QuiverKind *spec);
  /**
   * Adds a command.
   */
  QuiverStatus (*add_command)(QuiverSetup *setup, const struct QuiverCommand *spec);
  /**
   * Adds a message of VPP's binary API.
   */
  QuiverStatus (*add_message)(QuiverSetup *setup, const struct QuiverMessage *spec);
  /**
   * Adds an event of VPP's binary API. `event` gets its number.
   */
  QuiverStatus (*add_event)(QuiverSetup *setup, const struct QuiverEvent *spec, uint32_t *event);
  /**
   * The key by which a value of 64 bits of this name is kept with packets, by the plugin or by a room of the daemon that has such
   * a key: see `show metadata`. There are five in all.
   */
  QuiverStatus (*metadata_key)(QuiverSetup *setup, struct QuiverText name, uint32_t *key);
  /**
   * Says why `setup` is about to fail.
   */
  void (*refuse_setup)(QuiverSetup *setup, struct QuiverText what);
  /**
   * Enables or disables a feature of a feature arc on an interface.
   */
  QuiverStatus (*enable)(QuiverControl *control,
                         struct QuiverText arc,
                         struct QuiverText node,
                         uint32_t interface,
                         bool on);
  /**
   * Lets a plugin's node stand for the one that it was added for, or takes it away from there.
   */
  QuiverStatus (*stand_in)(QuiverControl *control, uint32_t node, bool on);
  /**
   * Lets an arc of any node lead to another node, or, with an empty `to`, where it was declared to lead.
   */
  QuiverStatus (*rewire)(QuiverControl *control,
                         struct QuiverText node,
                         struct QuiverText arc,
                         struct QuiverText to);
  /**
   * Makes a value known to all instances of a plugin's node: their contexts' `published`. It must not change any more.
   * `free` is called once, when no worker can read it any more, on whatever thread lets go of it last; if the call
   * fails, before it returns.
   */
  QuiverStatus (*publish)(QuiverControl *control,
                          uint32_t node,
                          void *value,
                          void (*free)(void *value));
  /**
   * The sum of a plugin's counter over all workers.
   */
  QuiverStatus (*read_counter)(QuiverControl *control,
                               uint32_t counters,
                               uint32_t index,
                               struct QuiverCount *count);
  /**
   * The number of the interface of this name.
   */
  QuiverStatus (*interface)(QuiverControl *control, struct QuiverText name, uint32_t *interface);
  /**
   * Makes a config object run: changes these fields of the one with their key, or creates it. `answer` gets the refusal.
   */
  QuiverStatus (*put)(QuiverControl *control,
                      struct QuiverText kind,
                      const struct QuiverSetting *settings,
                      uint32_t setting_count,
                      QuiverAnswer *answer);
  /**
   * Deletes the config object whose key the settings give. `answer` gets the refusal.
   */
  QuiverStatus (*remove)(QuiverControl *control,
                         struct QuiverText kind,
                         const struct QuiverSetting *settings,
                         uint32_t setting_count,
                         QuiverAnswer *answer);
  /**
   * Tells an event, with these bytes of its fields, to all clients that asked for it.
   */
  QuiverStatus (*tell)(QuiverControl *control, uint32_t event, const uint8_t *bytes, size_t length);
  /**
   * The value of an object's field, or item `index` of a list; `QUIVER_VALUE_NONE` if there is none. Text is valid until the
   * call that the object was given to returns.
   */
  QuiverStatus (*field)(const QuiverObject *object,
                        struct QuiverText name,
                        uint32_t index,
                        struct QuiverValue *value);
  /**
   * The value of a command's argument, the `index`th if it may stand several times; `QUIVER_VALUE_NONE` if it was not given.
   */
  QuiverStatus (*argument)(const QuiverCall *call,
                           struct QuiverText name,
                           uint32_t index,
                           struct QuiverValue *value);
  /**
   * Whether the line has this word of the grammar.
   */
  bool (*has_word)(const QuiverCall *call, struct QuiverText word);
  /**
   * Adds lines to an answer.
   */
  void (*answer_text)(QuiverAnswer *answer, struct QuiverText text);
  /**
   * Makes the answer a table with these titles.
   */
  void (*answer_columns)(QuiverAnswer *answer, const struct QuiverText *titles, uint32_t count);
  /**
   * Adds a row to the table.
   */
  void (*answer_row)(QuiverAnswer *answer, const struct QuiverValue *cells, uint32_t count);
  /**
   * Adds bytes to the reply to a message.
   */
  void (*answer_bytes)(QuiverAnswer *answer, const uint8_t *bytes, size_t length);
  /**
   * Adds a details message, with these bytes of its fields, before the reply.
   */
  void (*answer_details)(QuiverAnswer *answer, const uint8_t *bytes, size_t length);
  /**
   * Tells the client of the message's event from now on, if it is `wanted`, or no more. It finds its `pid` in each.
   */
  void (*subscribe)(QuiverAnswer *answer, uint32_t pid, bool wanted);
  /**
   * Says why the call is about to fail: the field or argument (or none), what is wrong, and what would be right.
   */
  void (*refuse)(QuiverAnswer *answer,
                 struct QuiverText field,
                 struct QuiverText what,
                 struct QuiverText remedy);
  /**
   * Part `part` of a row's packet, 0 being the first buffer's. Fails behind the last one.
   */
  QuiverStatus (*segment)(struct QuiverContext *context,
                          uint32_t row,
                          uint32_t part,
                          struct QuiverSlice *bytes);
  /**
   * Reads the offload state of a row's packet. Fails if it has none.
   */
  QuiverStatus (*offload)(struct QuiverContext *context, uint32_t row, struct QuiverOffload *offload);
  /**
   * Replaces it.
   */
  QuiverStatus (*set_offload)(struct QuiverContext *context,
                              uint32_t row,
                              const struct QuiverOffload *offload);
  /**
   * Reads the metadata of a row's packet by its key. Fails if there is none.
   */
  QuiverStatus (*metadata)(struct QuiverContext *context,
                           uint32_t row,
                           uint32_t key,
                           uint64_t *value);
  /**
   * Keeps a value with a row's packet: it goes with it to other nodes and workers, to copies and fragments.
   */
  QuiverStatus (*set_metadata)(struct QuiverContext *context,
                               uint32_t row,
                               uint32_t key,
                               uint64_t value);
  /**
   * Sends a packet with these bytes, taken to come from `rx`, by an arc of the node. Fails if there is no buffer.
   */
  QuiverStatus (*emit)(struct QuiverContext *context,
                       uint16_t arc,
                       const uint8_t *bytes,
                       size_t length,
                       uint32_t rx,
                       uint32_t tx,
                       uint32_t hop);
  /**
   * Sends a copy of a row's packet by an arc of the node. Fails if there is no buffer.
   */
  QuiverStatus (*emit_copy)(struct QuiverContext *context, uint32_t row, uint16_t arc);
  /**
   * Sends an event as `tell` does, a little later. Fails, and the event is lost, if it has more than `EVENT_BYTES`,
   * or if some hundred are on their way already: a flood of packets makes no flood of events.
   */
  QuiverStatus (*raise)(struct QuiverContext *context,
                        uint32_t event,
                        const uint8_t *bytes,
                        size_t length);
  /**
   * Says why `process` is about to fail.
   */
  void (*explain)(struct QuiverContext *context, struct QuiverText what);
  /**
   * Writes to the daemon's log, `QUIVER_LOG_...`. Not for workers.
   */
  void (*log)(uint32_t level, struct QuiverText text);
} QuiverHost;

/**
 * The result of `quiver_plugin_entry`: a static table. Its first two fields never change between versions.
 */
typedef struct QuiverPlugin {
  /**
   * [`MAGIC`](crate::MAGIC).
   */
  uint64_t magic;
  /**
   * [`VERSION`](crate::VERSION) that the plugin was built for.
   */
  uint32_t version;
  /**
   * Not used.
   */
  uint32_t reserved;
  /**
   * The plugin's name, which no other loaded plugin has.
   */
  struct QuiverText name;
  /**
   * Its own version.
   */
  struct QuiverText release;
  /**
   * The compiler that built it.
   */
  struct QuiverText built_by;
  /**
   * Says what the plugin brings, by the functions that take a setup. If it fails, nothing of it is registered.
   */
  QuiverStatus (*setup)(const struct QuiverHost *host, QuiverSetup *setup);
} QuiverPlugin;

/**
 * The call did what it says.
 */
#define QUIVER_OK 0

/**
 * The call did nothing.
 */
#define QUIVER_FAILED -1

#endif  /* QUIVER_PLUGIN_H */

/**
 * The one function that a plugin exports.
 */
#ifdef __cplusplus
extern "C"
#endif
const QuiverPlugin *quiver_plugin_entry(void);

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
