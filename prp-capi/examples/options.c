/* Options: of connections to be made, of a listener, of a stream. Times are in nanoseconds. */
#include <prp.h>
#include <stdio.h>

#define SECOND 1000000000LL

int main(void)
{
    prp_options *options = prp_options_new();
    prp_listener *listener = NULL;
    prp_stream *stream = NULL;
    int64_t value;
    int failed = 1;

    if (prp_options_set(options, PRP_OPT_CONNECT_TIMEOUT, 2 * SECOND) < 0)
        goto end;
    if (prp_options_set(options, PRP_OPT_READ_TIMEOUT, SECOND / 100) < 0)
        goto end;
    if (prp_options_set_text(options, PRP_OPT_CONGESTION, "aimd") < 0)
        goto end;
    listener = prp_listen("self:7005", options);
    if (listener == NULL || prp_listener_get(listener, PRP_OPT_READ_TIMEOUT, &value) < 0)
        goto end;
    printf("prp_accept waits for %lld ms\n", (long long)value / 1000000);
    stream = prp_connect("self:7005", options);
    if (stream == NULL || prp_stream_set(stream, PRP_OPT_KEEPALIVE_IDLE, 5 * SECOND) < 0)
        goto end;
    if (prp_stream_get(stream, PRP_OPT_RELIABILITY, &value) < 0)
        goto end;
    printf("lost segments are sent again alone: %s\n", value & PRP_SELECTIVE_REPEAT ? "yes" : "no");
    failed = 0;
end:
    if (failed)
        fprintf(stderr, "%s\n", prp_last_error());
    prp_close(stream);
    prp_listener_close(listener);
    prp_options_free(options);
    return failed;
}
