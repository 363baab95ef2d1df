/* One thread, several streams and a listener, without epoll: the thread does the work itself. */
#include <prp.h>
#include <stdio.h>
#include <string.h>

#define STREAMS 3

int main(void)
{
    prp_wait waits[STREAMS + 1];
    prp_stream *clients[STREAMS];
    prp_listener *listener = prp_listen("self:7009", NULL);
    int accepted = 0, received = 0, i;

    memset(waits, 0, sizeof waits);
    waits[0].listener = listener;
    waits[0].events = PRP_READ;
    for (i = 0; i < STREAMS; i++) {
        clients[i] = prp_connect("self:7009", NULL);
        prp_send_all(clients[i], "x", 1);
    }
    while (received < STREAMS) {
        char byte;

        if (prp_wait_any(waits, (size_t)accepted + 1, -1, -1) < 0)
            break;
        for (i = 1; i <= accepted; i++) {
            if (waits[i].ready & PRP_READ && prp_recv(waits[i].stream, &byte, 1) == 1) {
                received++;
                waits[i].events = PRP_WRITE;
            }
        }
        if (waits[0].ready && accepted < STREAMS) {
            accepted++;
            waits[accepted].stream = prp_accept(listener, NULL);
            waits[accepted].events = PRP_READ;
        }
    }
    printf("%d of %d\n", received, STREAMS);
    for (i = 0; i < STREAMS; i++) {
        prp_close(clients[i]);
        prp_close(waits[i + 1].stream);
    }
    prp_listener_close(listener);
    return received == STREAMS ? 0 : 1;
}
