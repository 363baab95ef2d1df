/* What is known of an error: a number and a text of the calling thread. */
#include <errno.h>
#include <prp.h>
#include <stdio.h>

int main(void)
{
    prp_stream *stream = prp_connect("no-such-node:80", NULL);

    if (stream == NULL) {
        printf("errno %d, kept as %d: %s\n", errno, prp_last_errno(), prp_last_error());
        return prp_last_errno() == ENOENT ? 0 : 1;
    }
    prp_close(stream);
    return 1;
}
