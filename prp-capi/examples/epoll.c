/* One thread, many connections: an echo server on epoll. "epoll" answers on port 7003. Use any
 * client, for example prp cat NODE 7003. */
#include <errno.h>
#include <prp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* A connection, and the bytes that are not sent back yet. */
struct client {
    prp_stream *stream;
    char bytes[4096];
    size_t begin, end;
};

static void watch(int epoll, int fd, void *data, unsigned events)
{
    struct epoll_event event = {0};

    event.events = events;
    event.data.ptr = data;
    if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        exit(1);
}

/* Moves bytes until the stream would block; whether the connection is still needed. */
static int serve(struct client *client)
{
    for (;;) {
        ssize_t moved;

        while (client->begin < client->end) {
            moved = prp_send(client->stream, client->bytes + client->begin, client->end - client->begin);
            if (moved < 0)
                return errno == EAGAIN;
            client->begin += (size_t)moved;
        }
        moved = prp_recv(client->stream, client->bytes, sizeof client->bytes);
        if (moved < 0)
            return errno == EAGAIN;
        if (moved == 0)
            return 0;
        client->begin = 0;
        client->end = (size_t)moved;
    }
}

int main(void)
{
    struct epoll_event events[64];
    int epoll = epoll_create1(EPOLL_CLOEXEC), i;
    prp_listener *listener = prp_listen("self:7003", NULL);

    /* Holds for prp_accept() and for the streams that it accepts. */
    if (listener == NULL || prp_listener_set(listener, PRP_OPT_NONBLOCKING, 1) < 0) {
        fprintf(stderr, "%s\n", prp_last_error());
        return 1;
    }
    watch(epoll, prp_listener_fd(listener), NULL, EPOLLIN);
    for (;;) {
        int ready = epoll_wait(epoll, events, 64, -1);

        for (i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            prp_stream *stream;

            if (client != NULL && !serve(client)) {
                /* Takes its descriptor out of epoll as well. */
                prp_close(client->stream);
                free(client);
            }
            while (client == NULL && (stream = prp_accept(listener, NULL)) != NULL) {
                struct client *made = calloc(1, sizeof *made);

                if (made == NULL)
                    return 1;
                made->stream = stream;
                watch(epoll, prp_fd(stream), made, EPOLLIN | EPOLLOUT | EPOLLET);
            }
        }
    }
}
