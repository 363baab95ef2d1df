/* The scenes of the standard library's tests of TcpStream and TcpListener, by their names, in C:
 * those of several threads, which use one handle where Rust has clones. */
#include <pthread.h>

#include "pair.h"

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

static void *write_99(void *unused)
{
    prp_stream *stream = prp_connect(here, NULL);

    (void)unused;
    CHECK(prp_send(stream, "\x63", 1) == 1 && prp_close(stream) == 0);
    return NULL;
}

static void *write_to(void *address)
{
    prp_stream *stream = prp_connect(address, NULL);

    CHECK(stream != NULL && prp_send(stream, "\x42", 1) == 1 && prp_close(stream) == 0);
    return NULL;
}

/* A client that names this node by `name`. */
static void connect_by(const char *name)
{
    prp_listener *listener = listen_anew();
    char address[64], byte;
    pthread_t thread;
    prp_stream *stream;

    snprintf(address, sizeof address, "%s%s", name, strchr(here, ':'));
    thread = start(write_to, address);
    stream = prp_accept(listener, NULL);
    CHECK(prp_recv(stream, &byte, 1) == 1 && byte == 66);
    join(thread);
    CHECK(prp_close(stream) == 0 && prp_listener_close(listener) == 0);
}

static void listen_localhost(void)
{
    connect_by("localhost");
}

/* By the name that prphosts has for it. */
static void connect_loopback(void)
{
    connect_by("beta");
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

static void *read_99(void *stream)
{
    char byte;

    CHECK(prp_recv(stream, &byte, 1) == 1 && byte == 99);
    CHECK(prp_close(stream) == 0);
    return NULL;
}

/* As above, but each client writes the same number, from the last one out. */
static void connect_lazily(int number)
{
    prp_stream *stream;

    if (number == 10)
        return;
    stream = prp_connect(here, NULL);
    CHECK(stream != NULL);
    connect_lazily(number + 1);
    CHECK(prp_send(stream, "\x63", 1) == 1 && prp_close(stream) == 0);
}

static void *connect_all_lazily(void *unused)
{
    (void)unused;
    connect_lazily(0);
    return NULL;
}

static void multiple_connect_interleaved_lazy_schedule(void)
{
    prp_listener *listener = listen_anew();
    pthread_t readers[10], thread = start(connect_all_lazily, NULL);
    int i;

    for (i = 0; i < 10; i++) {
        prp_stream *stream = prp_accept(listener, NULL);

        CHECK(stream != NULL);
        readers[i] = start(read_99, stream);
    }
    for (i = 0; i < 10; i++)
        join(readers[i]);
    join(thread);
    CHECK(prp_listener_close(listener) == 0);
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

static void clone_while_reading(void)
{
    struct pair pair = connected();
    pthread_t a = start(read_one, pair.client), b = start(write_one, pair.server), c;

    /* A thread that begins while another one reads. */
    c = start(read_one, pair.client);
    CHECK(prp_send(pair.server, "\2", 1) == 1);
    join(a), join(b), join(c);
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

static void *connect_one(void *unused)
{
    prp_stream *stream = prp_connect(here, NULL);

    (void)unused;
    CHECK(stream != NULL && prp_close(stream) == 0);
    return NULL;
}

static void clone_accept_smoke(void)
{
    prp_listener *listener = listen_anew();
    pthread_t a = start(connect_one, NULL), b = start(connect_one, NULL);

    /* One after the other, of the same handle. */
    accept_one(listener), accept_one(listener);
    join(a), join(b);
    CHECK(prp_listener_close(listener) == 0);
}

static const struct scene scenes[] = {
    {"listen_localhost", listen_localhost},
    {"connect_loopback", connect_loopback},
    {"smoke_test", smoke_test},
    {"multiple_connect_serial", multiple_connect_serial},
    {"multiple_connect_interleaved_greedy_schedule", multiple_connect_interleaved_greedy_schedule},
    {"multiple_connect_interleaved_lazy_schedule", multiple_connect_interleaved_lazy_schedule},
    {"partial_read", partial_read},
    {"tcp_clone_smoke", tcp_clone_smoke},
    {"tcp_clone_two_read", tcp_clone_two_read},
    {"tcp_clone_two_write", tcp_clone_two_write},
    {"clone_while_reading", clone_while_reading},
    {"close_read_wakes_up", close_read_wakes_up},
    {"clone_accept_concurrent", clone_accept_concurrent},
    {"clone_accept_smoke", clone_accept_smoke},
};

int main(void)
{
    run_all(scenes, sizeof scenes / sizeof *scenes);
    return 0;
}
