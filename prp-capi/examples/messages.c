/* "messages" answers each message with its length; "messages NODE WORD..." sends each word as a
 * message. What is sent as one message is received as one. */
#include <prp.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, prp_last_error());
    return 1;
}

static int ask(char **words)
{
    char address[300], answer[64];
    ssize_t size;
    int state;
    prp_stream *stream;

    snprintf(address, sizeof address, "%s:7001", words[0]);
    stream = prp_connect(address, NULL);
    if (stream == NULL)
        return fail("prp_connect");
    while (*++words != NULL) {
        if (prp_send_message(stream, *words, strlen(*words)) < 0)
            return fail("prp_send_message");
        size = prp_recv_message(stream, answer, sizeof answer, &state);
        if (size < 0)
            return fail("prp_recv_message");
        /* PRP_MESSAGE_PART would say that the answer has more than 64 bytes. */
        if (state != PRP_MESSAGE_END)
            break;
        printf("%s: %.*s\n", *words, (int)size, answer);
    }
    prp_close(stream);
    return 0;
}

int main(int count, char **words)
{
    prp_listener *listener;
    prp_stream *stream;

    if (count > 1)
        return ask(words + 1);
    listener = prp_listen("self:7001", NULL);
    if (listener == NULL)
        return fail("prp_listen");
    while ((stream = prp_accept(listener, NULL)) != NULL) {
        char answer[64];
        void *message;
        size_t size;

        /* For messages of any size: the library allocates the memory. */
        while (prp_recv_message_new(stream, &message, &size) == 1) {
            int length = snprintf(answer, sizeof answer, "%zu bytes", size);

            prp_free(message);
            if (prp_send_message(stream, answer, (size_t)length) < 0)
                break;
        }
        prp_close(stream);
    }
    return fail("prp_accept");
}
