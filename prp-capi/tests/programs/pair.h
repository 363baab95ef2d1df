/* Connections within a process, and scenes by their names. */
#ifndef PAIR_H
#define PAIR_H

#include "check.h"

static char here[32];

/* A listener at a port that no other scene uses. */
static prp_listener *listen_anew(void)
{
    prp_address address;
    prp_listener *listener = prp_listen("self:0", NULL);

    CHECK(listener != NULL && prp_listener_address(listener, &address) == 0);
    CHECK(prp_address_format(&address, here, sizeof here) > 0);
    return listener;
}

/* A connection whose both ends are here. */
struct pair {
    prp_listener *listener;
    prp_stream *client, *server;
};

static struct pair connected(void)
{
    struct pair pair;

    pair.listener = listen_anew();
    pair.client = prp_connect(here, NULL);
    CHECK(pair.client != NULL);
    pair.server = prp_accept(pair.listener, NULL);
    CHECK(pair.server != NULL);
    return pair;
}

static void close_all(struct pair pair)
{
    CHECK(prp_close(pair.client) == 0 && prp_close(pair.server) == 0);
    CHECK(prp_listener_close(pair.listener) == 0);
}

struct scene {
    const char *name;
    void (*run)(void);
};

static void run_all(const struct scene *scenes, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        printf("%s\n", scenes[i].name);
        fflush(stdout);
        scenes[i].run();
    }
    puts("done");
}

#endif
