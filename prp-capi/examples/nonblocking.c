/* A connection without waiting calls: poll(2) waits in their place. */
#include <errno.h>
#include <poll.h>
#include <prp.h>
#include <stdio.h>

static int wait_for(prp_stream *stream, short events)
{
    struct pollfd fd = {prp_fd(stream), events, 0};

    return poll(&fd, 1, -1) == 1 ? 0 : -1;
}

int main(void)
{
    prp_options *options = prp_options_new();
    prp_listener *listener = prp_listen("self:7006", NULL);
    prp_stream *stream;
    int error, failed = 1;

    prp_options_set(options, PRP_OPT_NONBLOCKING, 1);
    stream = prp_connect("self:7006", options);
    if (listener == NULL || stream == NULL || wait_for(stream, POLLOUT) < 0)
        goto end;
    error = prp_take_error(stream);
    if (error != 0)
        goto end;
    while (prp_send(stream, "hello", 5) < 0) {
        if (errno != EAGAIN || wait_for(stream, POLLOUT) < 0)
            goto end;
    }
    puts("sent");
    failed = 0;
end:
    if (failed)
        fprintf(stderr, "%s\n", prp_last_error());
    prp_close(stream);
    prp_listener_close(listener);
    prp_options_free(options);
    return failed;
}
