/* Several buffers in one call, and a look at bytes before they are received. */
#include <prp.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    prp_listener *listener = prp_listen("self:7007", NULL);
    prp_stream *client = NULL, *server = NULL;
    char head[3], body[5], first, rest[3];
    struct iovec out[2] = {{(void *)"abc", 3}, {(void *)"defgh", 5}};
    struct iovec in[2] = {{head, sizeof head}, {body, sizeof body}};
    int failed = 1;

    if (listener == NULL)
        goto end;
    client = prp_connect("self:7007", NULL);
    if (client == NULL)
        goto end;
    server = prp_accept(listener, NULL);
    if (server == NULL)
        goto end;
    if (prp_sendv(client, out, 2) != 8 || prp_send_all(client, "ijk", 3) < 0)
        goto end;
    if (prp_peek(server, &first, 1) != 1 || first != 'a')
        goto end;
    if (prp_recvv(server, in, 2) != 8 || memcmp(body, "defgh", 5) != 0)
        goto end;
    if (prp_recv_all(server, rest, sizeof rest) != 3)
        goto end;
    printf("%.3s %.5s %.3s\n", head, body, rest);
    failed = 0;
end:
    if (failed)
        fprintf(stderr, "%s\n", prp_last_error());
    prp_close(client);
    prp_close(server);
    prp_listener_close(listener);
    return failed;
}
