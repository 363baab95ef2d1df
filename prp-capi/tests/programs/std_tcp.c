/* The scenes of the standard library's tests of TcpStream and TcpListener, by their names, in C.
 * Threads use one handle where Rust has clones. */
#include <pthread.h>
#include <time.h>

#include "check.h"

static char here[32];

/* A listener at a port that no other scene uses. */
static prp_listener *listen_anew(void)
{
    prp_address address;
    prp_listener *listener = prp_listen("self:0", NULL);

    CHECK(listener != NULL && prp_listener_address(listener, &address) == 0);
    CHECK(prp_address_format(&address, here, sizeof here) > 0);
    return listener;
}

static pthread_t start(void *(*work)(void *), void *argument)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, work, argument) == 0);
    return thread;
}

static void join(pthread_t thread)
{
    CHECK(pthread_join(thread, NULL) == 0);
}

/* A connection whose both ends are here. */
struct pair {
    prp_listener *listener;
    prp_stream *client, *server;
};

static struct pair connected(void)
{
    struct pair pair;

    pair.listener = listen_anew();
    pair.client = prp_connect(here, NULL);
    CHECK(pair.client != NULL);
    pair.server = prp_accept(pair.listener, NULL);
    CHECK(pair.server != NULL);
    return pair;
}

static void close_all(struct pair pair)
{
    CHECK(prp_close(pair.client) == 0 && prp_close(pair.server) == 0);
    CHECK(prp_listener_close(pair.listener) == 0);
}

static void bind_error(void)
{
    FAILS_NULL(prp_listen("alpha:80", NULL), EADDRNOTAVAIL);
}

static void connect_error(void)
{
    FAILS_NULL(prp_connect("self:1", NULL), ECONNREFUSED);
}

static void connect_timeout_error(void)
{
    prp_options *options = prp_options_new();

    FAILS(prp_options_set(options, PRP_OPT_CONNECT_TIMEOUT, 0), EINVAL);
    CHECK(prp_options_set(options, PRP_OPT_CONNECT_TIMEOUT, 50 * MILLISECOND) == 0);
    /* prphosts has such a node, and no process is there. */
    FAILS_NULL(prp_connect("silent:80", options), ETIMEDOUT);
    CHECK(prp_options_free(options) == 0);
}

static void *write_99(void *unused)
{
    prp_stream *stream = prp_connect(here, NULL);

    (void)unused;
    CHECK(prp_send(stream, "\x63", 1) == 1 && prp_close(stream) == 0);
    return NULL;
}

static void smoke_test(void)
{
    prp_listener *listener = listen_anew();
    pthread_t thread = start(write_99, NULL);
    prp_stream *stream = prp_accept(listener, NULL);
    char byte;

    CHECK(prp_recv(stream, &byte, 1) == 1 && byte == 99);
    join(thread);
    CHECK(prp_close(stream) == 0 && prp_listener_close(listener) == 0);
}

static void read_eof(void)
{
    struct pair pair = connected();
    char byte;

    CHECK(prp_close(pair.client) == 0);
    CHECK(prp_recv(pair.server, &byte, 1) == 0);
    CHECK(prp_recv(pair.server, &byte, 1) == 0);
    CHECK(prp_close(pair.server) == 0 && prp_listener_close(pair.listener) == 0);
}

static void write_close(void)
{
    struct pair pair = connected();

    CHECK(prp_close(pair.client) == 0);
    while (prp_send(pair.server, "x", 1) == 1)
        ;
    CHECK(errno == ECONNRESET || errno == EPIPE || errno == ECONNABORTED);
    CHECK(prp_close(pair.server) == 0 && prp_listener_close(pair.listener) == 0);
}

static void *connect_serially(void *unused)
{
    int i;

    (void)unused;
    for (i = 0; i < 10; i++)
        write_99(NULL);
    return NULL;
}

static void multiple_connect_serial(void)
{
    prp_listener *listener = listen_anew();
    pthread_t thread = start(connect_serially, NULL);
    int i;

    for (i = 0; i < 10; i++) {
        prp_stream *stream = prp_accept(listener, NULL);
        char byte;

        CHECK(prp_recv(stream, &byte, 1) == 1 && byte == 99);
        CHECK(prp_close(stream) == 0);
    }
    join(thread);
    CHECK(prp_listener_close(listener) == 0);
}

static void *read_own_number(void *stream)
{
    char byte;

    CHECK(prp_recv(stream, &byte, 1) == 1 && byte < 10);
    CHECK(prp_close(stream) == 0);
    return NULL;
}

/* Clients connect one within the other, and write from the last one out. */
static void connect_within(int number)
{
    prp_stream *stream;
    char byte = (char)number;

    if (number == 10)
        return;
    stream = prp_connect(here, NULL);
    CHECK(stream != NULL);
    connect_within(number + 1);
    CHECK(prp_send(stream, &byte, 1) == 1 && prp_close(stream) == 0);
}

static void *connect_all_within(void *unused)
{
    (void)unused;
    connect_within(0);
    return NULL;
}

static void multiple_connect_interleaved_greedy_schedule(void)
{
    prp_listener *listener = listen_anew();
    pthread_t readers[10], thread = start(connect_all_within, NULL);
    int i;

    for (i = 0; i < 10; i++) {
        prp_stream *stream = prp_accept(listener, NULL);

        CHECK(stream != NULL);
        readers[i] = start(read_own_number, stream);
    }
    for (i = 0; i < 10; i++)
        join(readers[i]);
    join(thread);
    CHECK(prp_listener_close(listener) == 0);
}

static void socket_and_peer_name(void)
{
    struct pair pair = connected();
    prp_address listening, local, peer, accepted;

    CHECK(prp_listener_address(pair.listener, &listening) == 0);
    CHECK(prp_peer_address(pair.client, &peer) == 0 && prp_local_address(pair.server, &accepted) == 0);
    CHECK(memcmp(&peer, &listening, sizeof peer) == 0 && memcmp(&accepted, &listening, sizeof peer) == 0);
    CHECK(prp_local_address(pair.client, &local) == 0 && prp_peer_address(pair.server, &peer) == 0);
    CHECK(memcmp(&local, &peer, sizeof peer) == 0);
    close_all(pair);
}

static void *write_two_parts(void *stream)
{
    char byte;

    CHECK(prp_recv(stream, &byte, 1) == 1 && byte == 1);
    CHECK(prp_send(stream, "\2", 1) == 1);
    return NULL;
}

static void partial_read(void)
{
    struct pair pair = connected();
    pthread_t thread = start(write_two_parts, pair.server);
    char bytes[2];

    CHECK(prp_send(pair.client, "\1", 1) == 1);
    CHECK(prp_recv(pair.client, bytes, 2) == 1 && bytes[0] == 2);
    join(thread);
    close_all(pair);
}

static void read_vectored(void)
{
    struct pair pair = connected();
    char a[10], b[10];
    struct iovec parts[2] = {{NULL, 0}, {NULL, 0}};
    ssize_t size;

    CHECK(prp_send(pair.client, "\12\13\14", 3) == 3);
    parts[0].iov_base = a, parts[0].iov_len = 2;
    parts[1].iov_base = b, parts[1].iov_len = sizeof b;
    size = prp_recvv(pair.server, parts, 2);
    CHECK(size == 3 && a[0] == 10 && a[1] == 11 && b[0] == 12);
    close_all(pair);
}

static void write_vectored(void)
{
    struct pair pair = connected();
    struct iovec parts[3] = {{NULL, 0}, {(void *)"\12\13", 2}, {(void *)"\14", 1}};
    char bytes[3];

    CHECK(prp_sendv(pair.client, parts, 3) == 3);
    CHECK(prp_recv_all(pair.server, bytes, 3) == 3 && memcmp(bytes, "\12\13\14", 3) == 0);
    close_all(pair);
}

static void double_bind(void)
{
    prp_listener *listener = listen_anew();

    FAILS_NULL(prp_listen(here, NULL), EADDRINUSE);
    CHECK(prp_listener_close(listener) == 0);
    listener = prp_listen(here, NULL);
    CHECK(listener != NULL && prp_listener_close(listener) == 0);
}

static void *answer_two(void *stream)
{
    char byte;

    CHECK(prp_recv(stream, &byte, 1) == 1 && byte == 1);
    CHECK(prp_send(stream, "\2", 1) == 1);
    return NULL;
}

static void *write_one(void *stream)
{
    CHECK(prp_send(stream, "\1", 1) == 1);
    return NULL;
}

static void tcp_clone_smoke(void)
{
    struct pair pair = connected();
    pthread_t server = start(answer_two, pair.server), client = start(write_one, pair.client);
    char byte;

    CHECK(prp_recv(pair.client, &byte, 1) == 1 && byte == 2);
    join(client), join(server);
    close_all(pair);
}

static void *read_one(void *stream)
{
    char byte;

    CHECK(prp_recv(stream, &byte, 1) == 1);
    return NULL;
}

static void tcp_clone_two_read(void)
{
    struct pair pair = connected();
    pthread_t a = start(read_one, pair.client), b = start(read_one, pair.client);

    CHECK(prp_send(pair.server, "\1", 1) == 1 && prp_send(pair.server, "\2", 1) == 1);
    join(a), join(b);
    close_all(pair);
}

static void tcp_clone_two_write(void)
{
    struct pair pair = connected();
    pthread_t a = start(write_one, pair.client), b = start(write_one, pair.client);
    char bytes[2];

    CHECK(prp_recv_all(pair.server, bytes, 2) == 2);
    join(a), join(b);
    close_all(pair);
}

static void shutdown_smoke(void)
{
    struct pair pair = connected();
    char byte;

    CHECK(prp_shutdown(pair.server, PRP_SHUT_WR) == 0);
    FAILS(prp_send(pair.server, "x", 1), EPIPE);
    CHECK(prp_recv(pair.client, &byte, 1) == 0);
    CHECK(prp_send(pair.client, "x", 1) == 1);
    CHECK(prp_recv(pair.server, &byte, 1) == 1);
    close_all(pair);
}

static void close_readwrite_smoke(void)
{
    struct pair pair = connected();
    char byte;

    CHECK(prp_shutdown(pair.client, PRP_SHUT_WR) == 0);
    FAILS(prp_send(pair.client, "x", 1), EPIPE);
    CHECK(prp_shutdown(pair.client, PRP_SHUT_RD) == 0);
    CHECK(prp_recv(pair.client, &byte, 1) == 0);
    close_all(pair);
}

static void *read_end(void *stream)
{
    char byte;

    CHECK(prp_recv(stream, &byte, 1) == 0);
    return NULL;
}

static void close_read_wakes_up(void)
{
    struct pair pair = connected();
    pthread_t reader = start(read_end, pair.client);

    CHECK(prp_shutdown(pair.client, PRP_SHUT_RD) == 0);
    join(reader);
    close_all(pair);
}

static void *accept_one(void *listener)
{
    prp_stream *stream = prp_accept(listener, NULL);

    CHECK(stream != NULL && prp_close(stream) == 0);
    return NULL;
}

static void clone_accept_concurrent(void)
{
    prp_listener *listener = listen_anew();
    pthread_t a = start(accept_one, listener), b = start(accept_one, listener);
    prp_stream *one = prp_connect(here, NULL), *two = prp_connect(here, NULL);

    CHECK(one != NULL && two != NULL);
    join(a), join(b);
    CHECK(prp_close(one) == 0 && prp_close(two) == 0 && prp_listener_close(listener) == 0);
}

static void timeouts(void)
{
    struct pair pair = connected();
    int64_t value;

    CHECK(prp_stream_get(pair.client, PRP_OPT_READ_TIMEOUT, &value) == 0 && value == -1);
    CHECK(prp_stream_set(pair.client, PRP_OPT_READ_TIMEOUT, 400 * MILLISECOND) == 0);
    CHECK(prp_stream_get(pair.client, PRP_OPT_READ_TIMEOUT, &value) == 0 && value == 400 * MILLISECOND);
    CHECK(prp_stream_set(pair.client, PRP_OPT_WRITE_TIMEOUT, 400 * MILLISECOND) == 0);
    CHECK(prp_stream_get(pair.client, PRP_OPT_WRITE_TIMEOUT, &value) == 0 && value == 400 * MILLISECOND);
    CHECK(prp_stream_set(pair.client, PRP_OPT_READ_TIMEOUT, -1) == 0);
    CHECK(prp_stream_get(pair.client, PRP_OPT_READ_TIMEOUT, &value) == 0 && value == -1);
    close_all(pair);
}

static void test_read_timeout(void)
{
    struct pair pair = connected();
    char byte;

    CHECK(prp_stream_set(pair.client, PRP_OPT_READ_TIMEOUT, 20 * MILLISECOND) == 0);
    FAILS(prp_recv(pair.client, &byte, 1), EAGAIN);
    CHECK(prp_send(pair.server, "\1", 1) == 1);
    while (prp_recv(pair.client, &byte, 1) < 0)
        CHECK(errno == EAGAIN);
    CHECK(byte == 1);
    close_all(pair);
}

static void test_timeout_zero_duration(void)
{
    struct pair pair = connected();

    FAILS(prp_stream_set(pair.client, PRP_OPT_READ_TIMEOUT, 0), EINVAL);
    FAILS(prp_stream_set(pair.client, PRP_OPT_WRITE_TIMEOUT, 0), EINVAL);
    close_all(pair);
}

static void linger(void)
{
    struct pair pair = connected();
    int64_t value;

    CHECK(prp_stream_get(pair.client, PRP_OPT_LINGER, &value) == 0 && value == -1);
    CHECK(prp_stream_set(pair.client, PRP_OPT_LINGER, MILLISECOND) == 0);
    CHECK(prp_stream_get(pair.client, PRP_OPT_LINGER, &value) == 0 && value == MILLISECOND);
    close_all(pair);
}

static void linger_zero_resets(void)
{
    struct pair pair = connected();
    char byte;

    CHECK(prp_stream_set(pair.client, PRP_OPT_LINGER, 0) == 0 && prp_close(pair.client) == 0);
    FAILS(prp_recv(pair.server, &byte, 1), ECONNRESET);
    CHECK(prp_close(pair.server) == 0 && prp_listener_close(pair.listener) == 0);
}

static void ttl(void)
{
    struct pair pair = connected();
    int64_t value;

    CHECK(prp_stream_set(pair.client, PRP_OPT_TTL, 100) == 0);
    CHECK(prp_stream_get(pair.client, PRP_OPT_TTL, &value) == 0 && value == 100);
    CHECK(prp_listener_set(pair.listener, PRP_OPT_TTL, 100) == 0);
    CHECK(prp_listener_get(pair.listener, PRP_OPT_TTL, &value) == 0 && value == 100);
    FAILS(prp_stream_set(pair.client, PRP_OPT_TTL, 0), EINVAL);
    close_all(pair);
}

static void set_nonblocking(void)
{
    prp_listener *listener = listen_anew();
    prp_stream *client, *server;
    char byte;

    CHECK(prp_listener_set(listener, PRP_OPT_NONBLOCKING, 1) == 0);
    FAILS_NULL(prp_accept(listener, NULL), EAGAIN);
    CHECK(prp_listener_set(listener, PRP_OPT_NONBLOCKING, 0) == 0);
    client = prp_connect(here, NULL);
    server = prp_accept(listener, NULL);
    CHECK(client != NULL && server != NULL && prp_stream_set(client, PRP_OPT_NONBLOCKING, 1) == 0);
    FAILS(prp_recv(client, &byte, 1), EAGAIN);
    CHECK(prp_close(client) == 0 && prp_close(server) == 0 && prp_listener_close(listener) == 0);
}

static void peek(void)
{
    struct pair pair = connected();
    char bytes[3];

    CHECK(prp_send(pair.server, "\1\2\3", 3) == 3);
    CHECK(prp_peek(pair.client, bytes, 3) == 3);
    CHECK(prp_peek(pair.client, bytes, 3) == 3);
    CHECK(prp_recv(pair.client, bytes, 3) == 3 && bytes[2] == 3);
    CHECK(prp_stream_set(pair.client, PRP_OPT_NONBLOCKING, 1) == 0);
    FAILS(prp_peek(pair.client, bytes, 3), EAGAIN);
    close_all(pair);
}

static void connect_timeout_valid(void)
{
    prp_listener *listener = listen_anew();
    prp_options *options = prp_options_new();
    prp_stream *stream;

    CHECK(prp_options_set(options, PRP_OPT_CONNECT_TIMEOUT, 30000 * MILLISECOND) == 0);
    stream = prp_connect(here, options);
    CHECK(stream != NULL && prp_close(stream) == 0 && prp_options_free(options) == 0);
    CHECK(prp_listener_close(listener) == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenes[] = {
    {"bind_error", bind_error},
    {"connect_error", connect_error},
    {"connect_timeout_error", connect_timeout_error},
    {"smoke_test", smoke_test},
    {"read_eof", read_eof},
    {"write_close", write_close},
    {"multiple_connect_serial", multiple_connect_serial},
    {"multiple_connect_interleaved_greedy_schedule", multiple_connect_interleaved_greedy_schedule},
    {"socket_and_peer_name", socket_and_peer_name},
    {"partial_read", partial_read},
    {"read_vectored", read_vectored},
    {"write_vectored", write_vectored},
    {"double_bind", double_bind},
    {"tcp_clone_smoke", tcp_clone_smoke},
    {"tcp_clone_two_read", tcp_clone_two_read},
    {"tcp_clone_two_write", tcp_clone_two_write},
    {"shutdown_smoke", shutdown_smoke},
    {"close_readwrite_smoke", close_readwrite_smoke},
    {"close_read_wakes_up", close_read_wakes_up},
    {"clone_accept_concurrent", clone_accept_concurrent},
    {"timeouts", timeouts},
    {"test_read_timeout", test_read_timeout},
    {"test_timeout_zero_duration", test_timeout_zero_duration},
    {"linger", linger},
    {"linger_zero_resets", linger_zero_resets},
    {"ttl", ttl},
    {"set_nonblocking", set_nonblocking},
    {"peek", peek},
    {"connect_timeout_valid", connect_timeout_valid},
};

int main(void)
{
    size_t i;

    for (i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        printf("%s\n", scenes[i].name);
        fflush(stdout);
        scenes[i].run();
    }
    puts("done");
    return 0;
}
