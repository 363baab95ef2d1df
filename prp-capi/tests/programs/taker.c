/* Prints its address, and how many bytes the first stream has. */
#include "check.h"

int main(void)
{
    static char bytes[4 << 20];
    char text[PRP_ADDRESS_SIZE];
    prp_listener *listener = prp_listen("self:0", NULL);
    prp_address address;
    prp_stream *stream;

    CHECK(listener != NULL && prp_listener_address(listener, &address) == 0);
    CHECK(prp_address_format(&address, text, sizeof text) > 0);
    puts(text);
    fflush(stdout);
    stream = prp_accept(listener, NULL);
    printf("%ld\n", (long)prp_recv_all(stream, bytes, sizeof bytes));
    return prp_close(stream) | prp_listener_close(listener);
}
