/* Sends to the address in the first argument more than any buffer of the peer takes, and leaves
 * without closing anything. */
#include "check.h"

int main(int count, char **words)
{
    static char bytes[2 << 20];
    prp_stream *stream = prp_connect(words[count - 1], NULL);

    CHECK(stream != NULL && prp_send_all(stream, bytes, sizeof bytes) == 0);
    return 0;
}
