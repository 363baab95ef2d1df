/* The scenes of the standard library's tests of TcpStream and TcpListener, by their names, in C:
 * those of one thread. */
#include "pair.h"

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

/* What has come is received, and the timeout is for what has not. */
static void test_read_with_timeout(void)
{
    struct pair pair = connected();
    char bytes[11];

    CHECK(prp_stream_set(pair.server, PRP_OPT_READ_TIMEOUT, 20 * MILLISECOND) == 0);
    CHECK(prp_send(pair.client, "hello world", 11) == 11 && prp_wait_delivered(pair.client) == 0);
    CHECK(prp_recv(pair.server, bytes, 11) == 11 && memcmp(bytes, "hello world", 11) == 0);
    FAILS(prp_recv(pair.server, bytes, 11), EAGAIN);
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

static const struct scene scenes[] = {
    {"bind_error", bind_error},
    {"connect_error", connect_error},
    {"connect_timeout_error", connect_timeout_error},
    {"read_eof", read_eof},
    {"write_close", write_close},
    {"socket_and_peer_name", socket_and_peer_name},
    {"read_vectored", read_vectored},
    {"write_vectored", write_vectored},
    {"double_bind", double_bind},
    {"shutdown_smoke", shutdown_smoke},
    {"close_readwrite_smoke", close_readwrite_smoke},
    {"timeouts", timeouts},
    {"test_read_timeout", test_read_timeout},
    {"test_read_with_timeout", test_read_with_timeout},
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
    run_all(scenes, sizeof scenes / sizeof *scenes);
    return 0;
}
