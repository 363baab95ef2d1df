/* "echo" answers on port 7000; "echo NODE TEXT" asks. */
#include <prp.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, prp_last_error());
    return 1;
}

static int ask(const char *node, const char *text)
{
    char address[300], answer[4096];
    ssize_t size;
    prp_stream *stream;

    snprintf(address, sizeof address, "%s:7000", node);
    stream = prp_connect(address, NULL);
    if (stream == NULL)
        return fail("prp_connect");
    if (prp_send_all(stream, text, strlen(text)) < 0 || prp_shutdown(stream, PRP_SHUT_WR) < 0)
        return fail("prp_send_all");
    while ((size = prp_recv(stream, answer, sizeof answer)) > 0)
        fwrite(answer, 1, (size_t)size, stdout);
    putchar('\n');
    if (size < 0)
        return fail("prp_recv");
    return prp_close(stream) < 0 ? fail("prp_close") : 0;
}

static void answer(prp_stream *stream)
{
    char bytes[4096];
    ssize_t size;

    while ((size = prp_recv(stream, bytes, sizeof bytes)) > 0)
        if (prp_send_all(stream, bytes, (size_t)size) < 0)
            break;
    /* Not needed here: what was sent is delivered also after prp_close(). */
    prp_wait_delivered(stream);
    prp_close(stream);
}

int main(int count, char **words)
{
    prp_listener *listener;
    prp_stream *stream;

    if (count == 3)
        return ask(words[1], words[2]);
    listener = prp_listen("self:7000", NULL);
    if (listener == NULL)
        return fail("prp_listen");
    while ((stream = prp_accept(listener, NULL)) != NULL)
        answer(stream);
    prp_listener_close(listener);
    return fail("prp_accept");
}
