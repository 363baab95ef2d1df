/* One thread, several streams and a listener, without epoll: the thread does the work itself. */
#include <prp.h>
#include <stdio.h>
#include <string.h>

#define STREAMS 3

/* Receives a byte of each stream that the listener accepts; whether all have come. */
static int serve(prp_listener *listener, prp_wait *waits)
{
    int accepted = 0, received = 0, i;

    waits[0].listener = listener;
    waits[0].events = PRP_READ;
    while (received < STREAMS) {
        char byte;

        if (prp_wait_any(waits, (size_t)accepted + 1, -1, -1) < 0)
            return 0;
        for (i = 1; i <= accepted; i++) {
            if (waits[i].ready & PRP_READ) {
                if (prp_recv(waits[i].stream, &byte, 1) != 1)
                    return 0;
                received++;
                waits[i].events = PRP_WRITE;
            }
        }
        if (waits[0].ready && accepted < STREAMS) {
            prp_stream *stream = prp_accept(listener, NULL);

            if (stream == NULL)
                return 0;
            accepted++;
            waits[accepted].stream = stream;
            waits[accepted].events = PRP_READ;
        }
    }
    return 1;
}

int main(void)
{
    prp_wait waits[STREAMS + 1];
    prp_stream *clients[STREAMS] = {NULL};
    prp_listener *listener = prp_listen("self:7009", NULL);
    int failed = 1, i;

    memset(waits, 0, sizeof waits);
    if (listener == NULL)
        goto end;
    for (i = 0; i < STREAMS; i++) {
        clients[i] = prp_connect("self:7009", NULL);
        if (clients[i] == NULL || prp_send_all(clients[i], "x", 1) < 0)
            goto end;
    }
    failed = !serve(listener, waits);
end:
    if (failed)
        fprintf(stderr, "%s\n", prp_last_error());
    for (i = 0; i < STREAMS; i++) {
        prp_close(clients[i]);
        prp_close(waits[i + 1].stream);
    }
    prp_listener_close(listener);
    return failed;
}
