/* Addresses as numbers and as text. */
#include <prp.h>
#include <stdio.h>

int main(void)
{
    prp_address here, listening, local, peer;
    char text[PRP_ADDRESS_SIZE];
    prp_listener *listener = prp_listen("self:0", NULL);
    prp_stream *stream = NULL;
    int failed = 1;

    if (listener == NULL || prp_listener_address(listener, &listening) < 0)
        goto end;
    if (prp_resolve("self:80", NULL, &here) < 0 || here.node != listening.node || here.port != 80)
        goto end;
    if (prp_address_format(&listening, text, sizeof text) < 0)
        goto end;
    stream = prp_connect(text, NULL);
    if (stream == NULL || prp_peer_address(stream, &peer) < 0)
        goto end;
    if (prp_local_address(stream, &local) < 0)
        goto end;
    printf("%u:%u to %s\n", (unsigned)local.node, (unsigned)local.port, text);
    failed = peer.port != listening.port;
end:
    if (failed)
        fprintf(stderr, "%s\n", prp_last_error());
    prp_close(stream);
    prp_listener_close(listener);
    return failed;
}
