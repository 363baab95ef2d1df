/* Counters of a stream, and of the process as text. */
#include <prp.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    prp_listener *listener = prp_listen("self:7008", NULL);
    prp_stream *client = NULL;
    prp_stats stats;
    char *text;
    int failed = 1;

    if (listener == NULL)
        goto end;
    client = prp_connect("self:7008", NULL);
    if (client == NULL)
        goto end;
    if (prp_send_all(client, "hello", 5) < 0 || prp_wait_delivered(client) < 0)
        goto end;
    if (prp_stream_stats(client, &stats, sizeof stats) < 0)
        goto end;
    printf("%llu bytes sent\n", (unsigned long long)stats.bytes_sent);
    text = prp_openmetrics();
    if (text == NULL)
        goto end;
    failed = strstr(text, "# EOF") == NULL || stats.bytes_sent != 5;
    prp_free(text);
end:
    if (failed)
        fprintf(stderr, "%s\n", prp_last_error());
    prp_close(client);
    prp_listener_close(listener);
    return failed;
}
