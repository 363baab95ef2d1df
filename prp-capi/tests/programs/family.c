/* Sockets of AF_PRPF: "family NODE PORT" talks to an echo server at NODE, called its peer. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <prp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno));    \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

#define FAILS(call, number) CHECK((errno = 0, (call) == -1 && errno == (number)))

static struct sockaddr_prp peer;
static int self;

static struct sockaddr *any(struct sockaddr_prp *address)
{
    return (struct sockaddr *)address;
}

static int open_socket(void)
{
    int fd = socket(PF_PRPF, SOCK_STREAM, 0);

    CHECK(fd >= 0);
    return fd;
}

static struct sockaddr_prp at(int node, int port)
{
    struct sockaddr_prp address;

    memset(&address, 0, sizeof address);
    address.sprp_family = AF_PRPF;
    address.sprp_addr = (unsigned short)node;
    address.sprp_port = (unsigned short)port;
    return address;
}

static struct sockaddr_prp name(int fd)
{
    struct sockaddr_prp address;
    socklen_t size = sizeof address;

    CHECK(getsockname(fd, any(&address), &size) == 0);
    CHECK(size == sizeof address && address.sprp_family == AF_PRPF);
    return address;
}

static int connected(void)
{
    int fd = open_socket();

    CHECK(connect(fd, any(&peer), sizeof peer) == 0);
    return fd;
}

static int option(int fd, int option_name)
{
    int value = 0;
    socklen_t size = sizeof value;

    CHECK(getsockopt(fd, SOL_SOCKET, option_name, &value, &size) == 0);
    return value;
}

/* A text comes back. */
static void echo(int fd, const char *text)
{
    char answer[64];
    size_t got = 0;

    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    while (got < strlen(text)) {
        ssize_t part = read(fd, answer + got, sizeof answer - got);

        CHECK(part > 0);
        got += (size_t)part;
    }
    CHECK(memcmp(answer, text, got) == 0);
}

static void names(void)
{
    struct sockaddr_prp address;
    socklen_t size = sizeof address;
    char part[3] = {0, 0, 77};
    int fd = open_socket();

    CHECK(option(fd, SO_DOMAIN) == AF_PRPF && option(fd, SO_TYPE) == SOCK_STREAM);
    CHECK(name(fd).sprp_port == 0 && name(fd).sprp_addr == 0);
    FAILS(getpeername(fd, any(&address), &size), ENOTCONN);
    CHECK(connect(fd, any(&peer), sizeof peer) == 0);
    CHECK(name(fd).sprp_addr == self && name(fd).sprp_port != 0);
    size = sizeof address;
    CHECK(getpeername(fd, any(&address), &size) == 0);
    CHECK(size == sizeof address && memcmp(&address, &peer, sizeof peer) == 0);
    /* Cut to the room that there is. */
    size = 2;
    CHECK(getpeername(fd, (struct sockaddr *)part, &size) == 0);
    CHECK(size == sizeof address && part[2] == 77);
    CHECK(option(fd, SO_DOMAIN) == AF_PRPF && option(fd, SO_ERROR) == 0);
    FAILS(connect(fd, any(&peer), sizeof peer), EISCONN);
    FAILS(listen(fd, 1), EINVAL);
    echo(fd, "names");
    CHECK(close(fd) == 0);
}

static void errors(void)
{
    struct sockaddr_prp wrong = at(self, 0), free_port, taken;
    int fd, other, pair[2];

    FAILS(socket(AF_PRPF, SOCK_DGRAM, 0), EAFNOSUPPORT);
    FAILS(socket(AF_PRPF, SOCK_STREAM, 6), EPROTONOSUPPORT);
    fd = open_socket();
    FAILS(accept(fd, NULL, NULL), EINVAL);
    FAILS(bind(fd, any(&peer), sizeof peer), EADDRNOTAVAIL);
    FAILS(bind(fd, any(&wrong), 4), EINVAL);
    wrong.sprp_family = AF_INET;
    FAILS(bind(fd, any(&wrong), sizeof wrong), EAFNOSUPPORT);
    FAILS(connect(fd, any(&wrong), sizeof wrong), EAFNOSUPPORT);
    free_port = at(0, 0);
    CHECK(bind(fd, any(&free_port), sizeof free_port) == 0);
    FAILS(bind(fd, any(&free_port), sizeof free_port), EINVAL);
    taken = name(fd);
    CHECK(taken.sprp_port != 0 && taken.sprp_addr == self);
    other = open_socket();
    FAILS(bind(other, any(&taken), sizeof taken), EADDRINUSE);
    CHECK(listen(fd, 1) == 0);
    FAILS(connect(fd, any(&peer), sizeof peer), EISCONN);
    CHECK(close(fd) == 0);
    /* The port is free again at once. */
    CHECK(bind(other, any(&taken), sizeof taken) == 0);
    CHECK(listen(other, 1) == 0);
    CHECK(close(other) == 0);
    /* And nobody listens there. */
    fd = open_socket();
    FAILS(connect(fd, any(&taken), sizeof taken), ECONNREFUSED);
    CHECK(close(fd) == 0);
    wrong = at(peer.sprp_addr, peer.sprp_port == 1 ? 2 : 1);
    fd = open_socket();
    FAILS(connect(fd, any(&wrong), sizeof wrong), ECONNREFUSED);
    wrong = at(65000, 1);
    FAILS(connect(fd, any(&wrong), sizeof wrong), EHOSTUNREACH);
    /* Its own family stays its own. */
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(option(pair[0], SO_DOMAIN) == AF_UNIX);
    CHECK(close(pair[0]) == 0 && close(pair[1]) == 0 && close(fd) == 0);
}

/* A socket that is bound connects from there. */
static void bound(void)
{
    struct sockaddr_prp own = at(self, 0);
    int fd = open_socket(), port;

    CHECK(bind(fd, any(&own), sizeof own) == 0);
    port = name(fd).sprp_port;
    CHECK(connect(fd, any(&peer), sizeof peer) == 0);
    CHECK(name(fd).sprp_port == port);
    echo(fd, "bound");
    CHECK(close(fd) == 0);
}

static void waiting(void)
{
    struct epoll_event event = {EPOLLOUT, {0}};
    struct pollfd polled;
    int set = epoll_create1(0), fd = open_socket();
    char byte;

    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
    if (connect(fd, any(&peer), sizeof peer) < 0)
        CHECK(errno == EINPROGRESS);
    CHECK(epoll_wait(set, &event, 1, 10000) == 1 && event.events & EPOLLOUT);
    CHECK(option(fd, SO_ERROR) == 0);
    FAILS(read(fd, &byte, 1), EAGAIN);
    polled.fd = fd;
    polled.events = POLLIN;
    CHECK(write(fd, "x", 1) == 1);
    CHECK(poll(&polled, 1, 10000) == 1 && polled.revents == POLLIN);
    CHECK(read(fd, &byte, 1) == 1 && byte == 'x');
    CHECK(shutdown(fd, SHUT_WR) == 0);
    CHECK(poll(&polled, 1, 10000) == 1 && read(fd, &byte, 1) == 0);
    CHECK(close(fd) == 0 && close(set) == 0);
}

/* A child has what its parent has connected and listens with; its port is the parent's until both
 * have closed it. */
static void forking(void)
{
    struct sockaddr_prp here, from;
    socklen_t size = sizeof from;
    int listener = open_socket(), fd = connected(), status;

    CHECK(listen(listener, 4) == 0);
    here = name(listener);
    if (fork() == 0) {
        int accepted = accept4(listener, any(&from), &size, SOCK_CLOEXEC);

        CHECK(accepted >= 0 && size == sizeof from && from.sprp_addr == self);
        CHECK(name(accepted).sprp_port == here.sprp_port);
        CHECK(fcntl(accepted, F_GETFD) == FD_CLOEXEC);
        echo(fd, "child");
        CHECK(write(accepted, "done", 4) == 4);
        _exit(0);
    }
    CHECK(close(fd) == 0 && close(listener) == 0);
    /* To this node itself. */
    fd = open_socket();
    here.sprp_addr = 0;
    CHECK(connect(fd, any(&here), sizeof here) == 0);
    {
        char text[8];
        ssize_t got = 0, part;

        while ((part = read(fd, text + got, sizeof text - (size_t)got)) > 0)
            got += part;
        CHECK(part == 0 && got == 4 && memcmp(text, "done", 4) == 0);
    }
    CHECK(wait(&status) > 0 && status == 0);
    /* The holder is no child of this process. */
    FAILS(waitpid(-1, NULL, WNOHANG), ECHILD);
    CHECK(close(fd) == 0);
}

/* Sockets of TCP stay what they are. */
static void tcp(void)
{
    struct sockaddr_in here, from;
    struct sockaddr_prp family = at(0, 0);
    socklen_t size = sizeof here;
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), accepted;

    memset(&here, 0, sizeof here);
    here.sin_family = AF_INET;
    FAILS(bind(fd, any(&family), sizeof family), EINVAL);
    CHECK(bind(listener, (struct sockaddr *)&here, sizeof here) == 0);
    CHECK(listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&here, &size) == 0);
    CHECK(here.sin_family == AF_INET && option(listener, SO_DOMAIN) == AF_INET);
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(connect(fd, (struct sockaddr *)&here, sizeof here) == 0);
    accepted = accept(listener, (struct sockaddr *)&from, &size);
    CHECK(accepted >= 0 && from.sin_family == AF_INET && option(fd, SO_PROTOCOL) == IPPROTO_TCP);
    CHECK(close(fd) == 0 && close(accepted) == 0 && close(listener) == 0);
}

/* A program that is executed with a connection has its names: "family echo FD". */
static void executing(char *program)
{
    int fd = connected(), status;
    char number[16];

    snprintf(number, sizeof number, "%d", fd);
    if (fork() == 0) {
        execl(program, program, "echo", number, (char *)NULL);
        _exit(127);
    }
    CHECK(wait(&status) > 0 && status == 0);
    echo(fd, "after it");
    CHECK(close(fd) == 0);
}

int main(int count, char **words)
{
    CHECK(count == 3);
    if (strcmp(words[1], "echo") == 0) {
        int fd = atoi(words[2]);

        CHECK(name(fd).sprp_port != 0 && option(fd, SO_DOMAIN) == AF_PRPF);
        echo(fd, "executed");
        return 0;
    }
    peer = at(atoi(words[1]), atoi(words[2]));
    {
        int fd = connected();

        self = name(fd).sprp_addr;
        CHECK(self != 0 && self != peer.sprp_addr);
        CHECK(close(fd) == 0);
    }
    names();
    errors();
    bound();
    waiting();
    forking();
    tcp();
    executing(words[0]);
    puts("done");
    return 0;
}
