/* SPDX-License-Identifier: Apache-2.0
 *
 * memif for C programs: packets to and from Quiver, VPP, or each other through shared memory.
 *
 * Link with libquivermemif (`cargo build --release --package quiver-memif-c`). No threads are started. A client and
 * its interfaces are used by one thread at a time; a program may have several clients.
 *
 * Functions that can fail return a negative number; quiver_memif_error() then says why, in a sentence.
 */
#ifndef QUIVER_MEMIF_H
#define QUIVER_MEMIF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All interfaces of a program. */
typedef struct quiver_memif quiver_memif;

enum {
    /* A setting, a pointer or a text that cannot be. */
    QUIVER_MEMIF_INVALID = -1,
    /* The system, or the socket. */
    QUIVER_MEMIF_SYSTEM = -2,
    /* There is no such interface or queue, or it is not connected. */
    QUIVER_MEMIF_DISCONNECTED = -3,
    /* The peer broke the rules of the ring; the connection ends. */
    QUIVER_MEMIF_BROKEN = -4,
    /* A packet that does not fit even into an empty ring. */
    QUIVER_MEMIF_TOO_LONG = -5,
    /* A defect of this library. */
    QUIVER_MEMIF_DEFECT = -6
};

enum { QUIVER_MEMIF_MASTER = 0, QUIVER_MEMIF_SLAVE = 1 };
enum { QUIVER_MEMIF_ETHERNET = 0, QUIVER_MEMIF_IP = 1, QUIVER_MEMIF_PUNT = 2 };

/* What an interface is. Zero or NULL takes what stands in brackets. */
typedef struct {
    const char *socket;     /* a path, or "abstract:NAME" or "@NAME"; not NULL */
    const char *secret;     /* 23 bytes at most [none] */
    const char *name;       /* who we are, for the peer to show ["quiver-memif-client"] */
    const char *interface;  /* what the interface is called here ["memifID"] */
    uint32_t id;            /* its number on the socket: both ends say the same */
    uint8_t role;           /* QUIVER_MEMIF_MASTER or _SLAVE */
    uint8_t mode;           /* QUIVER_MEMIF_ETHERNET, _IP or _PUNT: both ends say the same */
    uint8_t log2_ring_size; /* descriptors of a ring, up to 14; a slave's choice [10] */
    uint16_t rx_queues;     /* a slave's choice [1] */
    uint16_t tx_queues;     /* likewise [1] */
    uint32_t buffer;        /* bytes; a slave's choice; longer packets take several [2048] */
    uint32_t retry_ms;      /* how long a slave waits before it connects again [2000] */
} quiver_memif_settings;

enum { QUIVER_MEMIF_CONNECTED = 1, QUIVER_MEMIF_GONE = 2 };

/* Something happened to an interface. */
typedef struct {
    uint32_t interface;
    uint32_t what;   /* QUIVER_MEMIF_CONNECTED or _GONE */
    char text[160];  /* the same in words */
} quiver_memif_event;

typedef struct {
    const uint8_t *bytes;
    size_t length;
} quiver_memif_packet;

/* A client without interfaces; NULL if the system refuses. */
quiver_memif *quiver_memif_new(void);
/* Closes everything. NULL is fine. */
void quiver_memif_free(quiver_memif *client);
/* Why the last call failed; valid until the next call. */
const char *quiver_memif_error(const quiver_memif *client);

/* Opens an interface; returns its number here. */
int64_t quiver_memif_open(quiver_memif *client, const quiver_memif_settings *settings);
/* Closes it, and tells the peer. */
int quiver_memif_close(quiver_memif *client, uint32_t interface);

/* Waits until something happened or packets came, timeout_ms at most (0: not at all; negative: without end), and deals
 * with it. Returns how many events were written; further ones come with the next call. 0: there may be packets. */
int quiver_memif_wait(quiver_memif *client, int timeout_ms, quiver_memif_event *events, size_t max);
/* For programs that wait by themselves: a file that is readable when quiver_memif_wait has something to do. Before
 * waiting call quiver_memif_arm, which returns 0 if packets wait already and 1 if not. */
int quiver_memif_fd(const quiver_memif *client);
int quiver_memif_arm(quiver_memif *client);

/* Queues to receive and to send by; 0 and 0 while the interface is not connected. */
int quiver_memif_queues(const quiver_memif *client, uint32_t interface, uint16_t *rx, uint16_t *tx);
/* Writes up to max packets; returns how many. Their bytes, copied out of the shared memory, are valid until the next
 * call for this client, but for quiver_memif_send. Never waits. */
int quiver_memif_receive(quiver_memif *client, uint32_t interface, uint16_t queue, quiver_memif_packet *packets,
                         size_t max);
/* Copies packets into the ring until it is full; returns how many were taken. Never waits. */
int quiver_memif_send(quiver_memif *client, uint32_t interface, uint16_t queue, const quiver_memif_packet *packets,
                      size_t count);

#ifdef __cplusplus
}
#endif

#endif
