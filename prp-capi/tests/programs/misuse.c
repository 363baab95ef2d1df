/* Bad use has a defined error: NULL, closed handles, handles of another kind, values out of range,
 * signals, a fork, a handle that is closed while another thread waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static prp_listener *listener;
static prp_stream *client, *server;
static char here[32];

static void open_all(void)
{
    prp_address address;

    listener = prp_listen("self:0", NULL);
    CHECK(listener != NULL && prp_listener_address(listener, &address) == 0);
    CHECK(prp_address_format(&address, here, sizeof here) > 0);
    client = prp_connect(here, NULL);
    server = prp_accept(listener, NULL);
    CHECK(client != NULL && server != NULL);
}

static void close_all(void)
{
    CHECK(prp_close(client) == 0 && prp_close(server) == 0 && prp_listener_close(listener) == 0);
}

/* Each function with a handle that stands for nothing. */
static void refuse(prp_stream *stream, prp_listener *no_listener)
{
    char bytes[8];
    struct iovec part = {bytes, sizeof bytes};
    prp_address address;
    prp_stats stats;
    prp_wait wait = {stream, no_listener, PRP_READ, 0};
    int64_t value;
    int state;
    void *message;
    size_t size;

    FAILS(prp_take_error(stream), EBADF);
    FAILS(prp_send(stream, "x", 1), EBADF);
    FAILS(prp_sendv(stream, &part, 1), EBADF);
    FAILS(prp_send_all(stream, "x", 1), EBADF);
    FAILS(prp_recv(stream, bytes, sizeof bytes), EBADF);
    FAILS(prp_recvv(stream, &part, 1), EBADF);
    FAILS(prp_recv_all(stream, bytes, sizeof bytes), EBADF);
    FAILS(prp_peek(stream, bytes, sizeof bytes), EBADF);
    FAILS(prp_send_message(stream, "x", 1), EBADF);
    FAILS(prp_recv_message(stream, bytes, sizeof bytes, &state), EBADF);
    FAILS(prp_recv_message_new(stream, &message, &size), EBADF);
    FAILS(prp_wait_delivered(stream), EBADF);
    FAILS(prp_shutdown(stream, PRP_SHUT_WR), EBADF);
    FAILS(prp_local_address(stream, &address), EBADF);
    FAILS(prp_peer_address(stream, &address), EBADF);
    FAILS(prp_stream_set(stream, PRP_OPT_TTL, 1), EBADF);
    FAILS(prp_stream_get(stream, PRP_OPT_TTL, &value), EBADF);
    FAILS(prp_fd(stream), EBADF);
    FAILS(prp_stream_stats(stream, &stats, sizeof stats), EBADF);
    FAILS_NULL(prp_accept(no_listener, NULL), EBADF);
    FAILS(prp_listener_address(no_listener, &address), EBADF);
    FAILS(prp_listener_set(no_listener, PRP_OPT_TTL, 1), EBADF);
    FAILS(prp_listener_get(no_listener, PRP_OPT_TTL, &value), EBADF);
    FAILS(prp_listener_fd(no_listener), EBADF);
    FAILS(prp_wait_any(&wait, 1, -1, 0), EBADF);
}

static void handles(void)
{
    prp_options *options = prp_options_new();

    refuse(NULL, NULL);
    refuse((prp_stream *)4711, (prp_listener *)4711);
    CHECK(prp_close(NULL) == 0 && prp_listener_close(NULL) == 0 && prp_options_free(NULL) == 0);
    prp_free(NULL);
    open_all();
    /* A handle of another kind. */
    refuse((prp_stream *)listener, (prp_listener *)client);
    close_all();
    refuse(client, listener);
    FAILS(prp_close(client), EBADF);
    FAILS(prp_listener_close(listener), EBADF);
    CHECK(prp_options_free(options) == 0);
    FAILS(prp_options_free(options), EBADF);
    FAILS(prp_options_set(options, PRP_OPT_TTL, 1), EBADF);
    FAILS(prp_options_set_text(options, PRP_OPT_HOSTS, "x"), EBADF);
    FAILS(prp_options_set(NULL, PRP_OPT_TTL, 1), EBADF);
    FAILS_NULL(prp_connect("self:1", options), EBADF);
    FAILS_NULL(prp_listen("self:0", options), EBADF);
}

static void pointers(void)
{
    char byte;
    struct iovec part = {NULL, 1};
    int state;
    void *message;

    open_all();
    FAILS_NULL(prp_connect(NULL, NULL), EFAULT);
    FAILS_NULL(prp_listen(NULL, NULL), EFAULT);
    FAILS(prp_resolve("self:1", NULL, NULL), EFAULT);
    FAILS(prp_resolve(NULL, NULL, (prp_address *)here), EFAULT);
    FAILS(prp_send(client, NULL, 1), EFAULT);
    FAILS(prp_send(client, "x", (size_t)-1), EFAULT);
    FAILS(prp_recv(client, NULL, 1), EFAULT);
    FAILS(prp_sendv(client, &part, 1), EFAULT);
    FAILS(prp_recvv(client, &part, 1), EFAULT);
    FAILS(prp_recvv(client, NULL, 1), EFAULT);
    FAILS(prp_recvv(client, &part, -1), EINVAL);
    FAILS(prp_recvv(client, &part, 1025), EINVAL);
    FAILS(prp_recv_message(client, &byte, 1, NULL), EFAULT);
    FAILS(prp_recv_message(client, &byte, 0, &state), EINVAL);
    FAILS(prp_recv_message_new(client, &message, NULL), EFAULT);
    FAILS(prp_stream_stats(client, NULL, 8), EFAULT);
    FAILS(prp_wait_any(NULL, 1, -1, 0), EFAULT);
    FAILS(prp_wait_any(NULL, 0, -1, 0), EINVAL);
    CHECK(prp_send(client, NULL, 0) == 0);
    close_all();
}

static void values(void)
{
    prp_options *options = prp_options_new();
    prp_address none = {0, 1};
    prp_wait wait = {NULL, NULL, 0, 0};
    char text[PRP_ADDRESS_SIZE], small[3];
    prp_address far = {65534, 65535};
    int64_t value;

    open_all();
    FAILS_NULL(prp_connect("", NULL), EINVAL);
    FAILS_NULL(prp_connect("10.0.0.1:80", NULL), ENOENT);
    FAILS_NULL(prp_connect("self:0", NULL), EINVAL);
    FAILS_NULL(prp_connect("\xff:80", NULL), EINVAL);
    FAILS(prp_options_set(options, 0, 1), EINVAL);
    FAILS(prp_options_set(options, PRP_OPT_HOSTS, 1), EINVAL);
    FAILS(prp_options_set_text(options, PRP_OPT_TTL, "1"), EINVAL);
    FAILS(prp_options_set(options, PRP_OPT_CRC, 2), EINVAL);
    FAILS(prp_options_set(options, PRP_OPT_RELIABILITY, 8), EINVAL);
    FAILS(prp_options_set(options, PRP_OPT_LOCAL_PORT, 65536), EINVAL);
    FAILS(prp_options_set_text(options, PRP_OPT_CONGESTION, "cubic"), EINVAL);
    CHECK(prp_options_set(options, PRP_OPT_RELIABILITY, PRP_DETECT | PRP_SELECTIVE_REPEAT) == 0);
    FAILS(prp_stream_set(client, PRP_OPT_HOSTS, 1), EINVAL);
    FAILS(prp_stream_get(client, PRP_OPT_BACKLOG, &value), EINVAL);
    FAILS(prp_listener_set(listener, PRP_OPT_CRC, 1), EINVAL);
    FAILS(prp_listener_get(listener, PRP_OPT_CRC, &value), EINVAL);
    FAILS(prp_shutdown(client, 3), EINVAL);
    FAILS(prp_address_format(&none, text, sizeof text), EINVAL);
    CHECK(prp_address_format(&far, text, sizeof text) == PRP_ADDRESS_SIZE - 1 && strcmp(text, "65534:65535") == 0);
    CHECK(prp_address_format(&far, small, sizeof small) == PRP_ADDRESS_SIZE - 1 && strcmp(small, "65") == 0);
    wait.stream = client;
    FAILS(prp_wait_any(&wait, 1, -1, 0), EINVAL);
    wait.events = PRP_READ;
    FAILS(prp_wait_any(&wait, 1, -2, 0), EBADF);
    FAILS(prp_wait_any(&wait, 1, -1, -2), EINVAL);
    CHECK(prp_wait_any(&wait, 1, -1, 0) == 0 && wait.ready == 0);
    wait.stream = NULL, wait.listener = listener, wait.events = PRP_READ | PRP_WRITE;
    FAILS(prp_wait_any(&wait, 1, -1, 0), EINVAL);
    FAILS(prp_options_set(options, PRP_OPT_CONNECT_TIMEOUT, 0), EINVAL);
    FAILS(prp_options_set(options, PRP_OPT_KEEPALIVE_INTERVAL, -1), EINVAL);
    CHECK(prp_options_free(options) == 0);
    close_all();
}

/* A connection whose answer does not come: prphosts has such a node, and no process is there. */
static void before_the_answer(void)
{
    prp_options *options = prp_options_new();
    prp_address address;
    prp_stream *stream;
    int64_t value;
    char byte;

    CHECK(prp_options_set(options, PRP_OPT_NONBLOCKING, 1) == 0);
    stream = prp_connect("silent:80", options);
    CHECK(stream != NULL && prp_take_error(stream) == 0);
    FAILS(prp_send(stream, "x", 1), EAGAIN);
    FAILS(prp_recv(stream, &byte, 1), EAGAIN);
    FAILS(prp_peer_address(stream, &address), ENOTCONN);
    FAILS(prp_stream_get(stream, PRP_OPT_CRC, &value), ENOTCONN);
    FAILS(prp_shutdown(stream, PRP_SHUT_WR), ENOTCONN);
    CHECK(prp_close(stream) == 0 && prp_options_free(options) == 0);
}

/* A program that knows fewer counters, and one that knows more. */
static void sizes(void)
{
    struct {
        prp_stats stats;
        uint64_t later[4];
    } large;
    prp_stats small;

    open_all();
    CHECK(prp_send_all(client, "hello", 5) == 0);
    memset(&large, 0xff, sizeof large), memset(&small, 0xff, sizeof small);
    CHECK(prp_stream_stats(client, &small, 16) == sizeof (prp_stats));
    CHECK(small.bytes_sent == 5 && small.retransmitted == UINT64_MAX);
    CHECK(prp_stream_stats(client, &large.stats, sizeof large) == sizeof (prp_stats));
    CHECK(large.stats.bytes_sent == 5 && large.later[0] == 0 && large.later[3] == 0);
    CHECK(prp_recv_all(server, here, 5) == 5);
    close_all();
}

static void messages(void)
{
    prp_options *options = prp_options_new();
    prp_address address;
    char bytes[3];
    int state;
    void *message;
    size_t size;

    CHECK(prp_options_set(options, PRP_OPT_MAX_MESSAGE, 8192) == 0);
    listener = prp_listen("self:0", options);
    CHECK(prp_listener_address(listener, &address) == 0 && prp_address_format(&address, here, sizeof here) > 0);
    client = prp_connect(here, NULL), server = prp_accept(listener, NULL);
    CHECK(prp_send_message(client, "abcdef", 6) == 6 && prp_send_message(client, NULL, 0) == 0);
    CHECK(prp_recv_message(server, bytes, 3, &state) == 3 && state == PRP_MESSAGE_PART);
    CHECK(prp_recv_message(server, bytes, 3, &state) == 3 && memcmp(bytes, "def", 3) == 0);
    if (state == PRP_MESSAGE_PART)
        CHECK(prp_recv_message(server, bytes, 3, &state) == 0);
    CHECK(state == PRP_MESSAGE_END);
    CHECK(prp_recv_message(server, bytes, 3, &state) == 0 && state == PRP_MESSAGE_END);
    for (size = 8190; size <= 8193; size++) {
        char *sent = calloc(1, size);
        size_t received = 0;
        CHECK(sent != NULL && prp_send_message(client, sent, size) == (ssize_t)size);
        if (size <= 8192)
            CHECK(prp_recv_message_new(server, &message, &received) == 1 && received == size);
        else
            FAILS(prp_recv_message_new(server, &message, &received), EMSGSIZE);
        prp_free(message);
        free(sent);
    }
    CHECK(prp_recv_message(server, bytes, 3, &state) == 1 && state == PRP_MESSAGE_END);
    CHECK(prp_options_free(options) == 0);
    close_all();
}

static char large[12 << 20];

/* Begins to send a message that no buffer takes at once; how much of it. */
static ssize_t begin_large(void)
{
    char first;
    size_t at;
    ssize_t taken;

    for (at = 0; at < sizeof large; at++)
        large[at] = (char)(at % 251);
    CHECK(prp_stream_set(client, PRP_OPT_NONBLOCKING, 1) == 0);
    taken = prp_send_message(client, large, sizeof large);
    CHECK(taken > 0 && taken < (ssize_t)sizeof large);
    /* Some of it has come. */
    CHECK(prp_peek(server, &first, 1) == 1);
    return taken;
}

/* Sends the rest of it, and receives all but what was received already. */
static void end_large(ssize_t taken, size_t received)
{
    void *message;
    size_t size;

    CHECK(prp_stream_set(server, PRP_OPT_NONBLOCKING, 1) == 0);
    while (taken < (ssize_t)sizeof large) {
        ssize_t more = prp_send_message(client, large + taken, sizeof large - (size_t)taken);
        if (more > 0)
            taken += more;
        else
            CHECK(errno == EAGAIN);
        if (taken < (ssize_t)sizeof large)
            FAILS(prp_recv_message_new(server, &message, &size), EAGAIN);
    }
    CHECK(prp_stream_set(server, PRP_OPT_NONBLOCKING, 0) == 0);
    CHECK(prp_recv_message_new(server, &message, &size) == 1 && size == sizeof large - received);
    CHECK(memcmp(message, large + received, size) == 0);
    prp_free(message);
}

/* The end of the stream within a message. */
static void message_that_is_cut(void)
{
    char bytes[3];
    int state;
    void *message;
    size_t size;

    open_all();
    begin_large();
    CHECK(prp_shutdown(client, PRP_SHUT_WR) == 0);
    FAILS(prp_recv_message_new(server, &message, &size), ENODATA);
    CHECK(message == NULL && prp_recv_message_new(server, &message, &size) == 0 && message == NULL);
    CHECK(prp_recv_message(server, bytes, 3, &state) == 0 && state == PRP_MESSAGE_NONE);
    close_all();
}

/* A reset within a message is no end of the stream, and what has come before it stays. */
static void message_that_is_reset(void)
{
    static char found[sizeof large];
    int state;
    ssize_t size;

    open_all();
    begin_large();
    CHECK(prp_stream_set(client, PRP_OPT_LINGER, 0) == 0 && prp_close(client) == 0);
    FAILS(prp_recv_message(server, found, sizeof found, &state), ECONNRESET);
    size = prp_recv_message(server, found, sizeof found, &state);
    CHECK(size > 0 && state == PRP_MESSAGE_PART && memcmp(found, large, (size_t)size) == 0);
    CHECK(prp_recv_message(server, found, sizeof found, &state) == 0 && state == PRP_MESSAGE_NONE);
    CHECK(prp_close(server) == 0 && prp_listener_close(listener) == 0);
}

/* What has come of a message stays when a call gives up, for calls of each kind. */
static void message_in_pieces(void)
{
    char found[3];
    struct iovec parts[2] = {{NULL, 0}, {found, sizeof found}};
    ssize_t taken;
    int state, i;
    void *message;
    size_t size;

    open_all();
    taken = begin_large();
    CHECK(prp_stream_set(server, PRP_OPT_NONBLOCKING, 1) == 0);
    for (i = 0; i < 3; i++)
        FAILS(prp_recv_message_new(server, &message, &size), EAGAIN);
    CHECK(prp_peek(server, found, 3) == 3 && memcmp(found, large, 3) == 0);
    CHECK(prp_recv(server, found, 3) == 3 && memcmp(found, large, 3) == 0);
    CHECK(prp_recv_message(server, found, 3, &state) == 3 && memcmp(found, large + 3, 3) == 0);
    CHECK(state == PRP_MESSAGE_PART && prp_recv_all(server, found, 3) == 3 && memcmp(found, large + 6, 3) == 0);
    /* The first part has no room. */
    CHECK(prp_recvv(server, parts, 2) == 3 && memcmp(found, large + 9, 3) == 0);
    end_large(taken, 12);
    close_all();
}

/* What has come stays when a call for more gives up. A call that waits for delivery waits on a
 * nonblocking stream too. */
static void bytes_in_pieces(void)
{
    char found[8];

    open_all();
    CHECK(prp_stream_set(client, PRP_OPT_NONBLOCKING, 1) == 0 && prp_stream_set(server, PRP_OPT_NONBLOCKING, 1) == 0);
    CHECK(prp_send(client, "abc", 3) == 3 && prp_wait_delivered(client) == 0);
    FAILS(prp_recv_all(server, found, 5), EAGAIN);
    CHECK(prp_send(client, "defg", 4) == 4 && prp_wait_delivered(client) == 0);
    CHECK(prp_peek(server, found, 8) == 3 && memcmp(found, "abc", 3) == 0);
    CHECK(prp_recv_all(server, found, 5) == 5 && memcmp(found, "abcde", 5) == 0);
    CHECK(prp_recv(server, found, 8) == 2 && memcmp(found, "fg", 2) == 0);
    close_all();
}

static void on_signal(int number)
{
    (void)number;
}

static void *interrupt(void *thread)
{
    /* Again and again: a signal that comes before the call waits does not interrupt it. */
    while (pthread_kill(*(pthread_t *)thread, SIGUSR1) == 0) {
        usleep(1000);
        pthread_testcancel();
    }
    return NULL;
}

static void signals(void)
{
    struct sigaction action;
    pthread_t self = pthread_self(), other;
    prp_wait wait = {NULL, NULL, PRP_READ, 0};
    char byte;
    void *message;
    size_t size;
    ssize_t taken;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    open_all();
    taken = begin_large();
    wait.stream = client;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && pthread_create(&other, NULL, interrupt, &self) == 0);
    CHECK(prp_stream_set(client, PRP_OPT_NONBLOCKING, 0) == 0);
    FAILS(prp_recv(client, &byte, 1), EINTR);
    FAILS_NULL(prp_accept(listener, NULL), EINTR);
    FAILS(prp_wait_any(&wait, 1, -1, -1), EINTR);
    /* The message goes on where it was. */
    FAILS(prp_recv_message_new(server, &message, &size), EINTR);
    CHECK(message == NULL);
    /* prphosts has such a node, and no process is there. */
    FAILS_NULL(prp_connect("silent:80", NULL), EINTR);
    CHECK(pthread_cancel(other) == 0 && pthread_join(other, NULL) == 0);
    CHECK(prp_stream_set(client, PRP_OPT_NONBLOCKING, 1) == 0);
    end_large(taken, 0);
    close_all();
}

/* The time is over before the peer has everything. */
static void closing_with_linger(void)
{
    open_all();
    begin_large();
    CHECK(prp_stream_set(client, PRP_OPT_LINGER, MILLISECOND) == 0);
    close_all();
}

static void forks(void)
{
    int status;
    pid_t child;
    char byte;

    open_all();
    fflush(stdout);
    child = fork();
    if (child == 0) {
        /* The handles are the parent's. Closing them does nothing to its connections. */
        refuse(client, listener);
        FAILS(prp_close(client), EBADF);
        client = prp_connect(here, NULL);
        CHECK(client != NULL && prp_send(client, "c", 1) == 1 && prp_wait_delivered(client) == 0);
        CHECK(prp_close(client) == 0);
        /* The parent's state stays in the child's memory, which checks of leaks do not know. */
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    prp_stream *of_child = prp_accept(listener, NULL);
    CHECK(prp_recv(of_child, &byte, 1) == 1 && byte == 'c' && prp_close(of_child) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(prp_send(client, "p", 1) == 1 && prp_recv(server, &byte, 1) == 1 && byte == 'p');
    close_all();
}

static void *receive(void *stream)
{
    char byte;

    return (void *)(intptr_t)prp_recv(stream, &byte, 1);
}

/* The call that waits goes on until the peer does something. */
static void closing_while_a_thread_waits(void)
{
    pthread_t other;
    void *result;
    char byte;
    prp_stats stats;

    open_all();
    CHECK(pthread_create(&other, NULL, receive, client) == 0);
    CHECK(prp_close(client) == 0);
    FAILS(prp_recv(client, &byte, 1), EBADF);
    FAILS(prp_stream_stats(client, &stats, sizeof stats), EBADF);
    prp_send(server, "x", 1);
    CHECK(prp_shutdown(server, PRP_SHUT_WR) == 0 || errno == ENOTCONN);
    CHECK(pthread_join(other, &result) == 0);
    /* If the thread was later than the close, the handle was refused. */
    CHECK((intptr_t)result == 1 || (intptr_t)result == -1);
    CHECK(prp_close(server) == 0 && prp_listener_close(listener) == 0);
}

int main(void)
{
    handles();
    pointers();
    values();
    before_the_answer();
    sizes();
    messages();
    message_that_is_cut();
    message_that_is_reset();
    message_in_pieces();
    bytes_in_pieces();
    signals();
    closing_with_linger();
    forks();
    closing_while_a_thread_waits();
    puts("done");
    return 0;
}
