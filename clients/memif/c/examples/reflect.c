/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends every Ethernet frame back to where it came from, with its addresses exchanged.
 *
 *   reflect SOCKET [master|slave] [ID]
 *
 * Ends when it is interrupted, or when its standard input is closed.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quiver_memif.h"

enum { BATCH = 64, FRAME_MAX = 65536 + 64 };

static uint8_t frames[BATCH][FRAME_MAX];

/* Reflects everything that waits in a queue; returns a negative number if the connection is gone. */
static int reflect(quiver_memif *client, uint32_t interface, uint16_t queue)
{
    quiver_memif_packet packets[BATCH];
    int count;
    while ((count = quiver_memif_receive(client, interface, queue, packets, BATCH)) > 0) {
        for (int i = 0; i < count; i++) {
            memcpy(frames[i], packets[i].bytes, packets[i].length);
            if (packets[i].length >= 12) {
                memcpy(frames[i], packets[i].bytes + 6, 6);
                memcpy(frames[i] + 6, packets[i].bytes, 6);
            }
            packets[i].bytes = frames[i];
        }
        for (int sent = 0; sent < count;) {
            int more = quiver_memif_send(client, interface, 0, packets + sent, count - sent);
            if (more < 0)
                return more;
            sent += more;
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s SOCKET [master|slave] [ID]\n", argv[0]);
        return 2;
    }
    quiver_memif_settings settings = {
        .socket = argv[1],
        .name = "reflect",
        .role = argc > 2 && strcmp(argv[2], "master") == 0 ? QUIVER_MEMIF_MASTER : QUIVER_MEMIF_SLAVE,
        .id = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0,
        .retry_ms = 200,
    };
    quiver_memif *client = quiver_memif_new();
    int64_t interface = quiver_memif_open(client, &settings);
    if (interface < 0) {
        fprintf(stderr, "reflect: %s\n", quiver_memif_error(client));
        quiver_memif_free(client);
        return 1;
    }
    for (;;) {
        struct pollfd files[] = {{.fd = quiver_memif_fd(client), .events = POLLIN}, {.fd = 0, .events = POLLIN}};
        poll(files, 2, quiver_memif_arm(client) ? -1 : 0);
        if (files[1].revents && read(0, &(char){0}, 1) <= 0)
            break;
        quiver_memif_event event;
        int count;
        while ((count = quiver_memif_wait(client, 0, &event, 1)) > 0) {
            puts(event.text);
            fflush(stdout);
        }
        if (count < 0) {
            fprintf(stderr, "reflect: %s\n", quiver_memif_error(client));
            break;
        }
        uint16_t rx = 0;
        quiver_memif_queues(client, interface, &rx, NULL);
        for (uint16_t queue = 0; queue < rx; queue++)
            if (reflect(client, interface, queue) < 0)
                fprintf(stderr, "reflect: %s\n", quiver_memif_error(client));
    }
    quiver_memif_free(client);
    return 0;
}
