/* Servers and clients of TCP that know nothing of PRP, for a program without a C library that could
   be replaced: linked statically. What each does it says on standard output. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 300000 };

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, strerrorname_np(errno));
        exit(1);
    }
}

static void say(const char *what)
{
    printf("%s\n", what);
    fflush(stdout);
}

static struct sockaddr_in address(const char *host, const char *port)
{
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    check(inet_pton(AF_INET, host, &made.sin_addr) == 1, "address");
    return made;
}

static int dial(const char *host, const char *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in peer = address(host, port);
    check(connect(fd, (void *)&peer, sizeof peer) == 0, "connect");
    return fd;
}

static int open_listener(const char *port, int flags)
{
    int fd = socket(AF_INET6, SOCK_STREAM | flags, 0), one = 1;
    struct sockaddr_in6 own = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(port))};
    check(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0, "SO_REUSEADDR");
    check(bind(fd, (void *)&own, sizeof own) == 0, "bind");
    check(listen(fd, 128) == 0, "listen");
    say("listening");
    return fd;
}

/* Sends SIZE bytes while it takes them back, with all that can be asked of a socket before. */
static void talk(int fd, int is_blocking)
{
    static char out[SIZE], in[SIZE + 1];
    size_t sent = 0, got = 0;
    for (size_t at = 0; at < SIZE; at++)
        out[at] = at % 251;
    for (;;) {
        struct pollfd wanted = {fd, POLLIN | (sent < SIZE ? POLLOUT : 0), 0};
        check(poll(&wanted, 1, -1) == 1, "poll");
        if (wanted.revents & POLLOUT) {
            ssize_t count = send(fd, out + sent, SIZE - sent, MSG_DONTWAIT);
            check(count > 0 || errno == EAGAIN, "send");
            sent += count > 0 ? count : 0;
            if (sent == SIZE)
                check(shutdown(fd, SHUT_WR) == 0, "shutdown");
        }
        if (wanted.revents & (POLLIN | POLLHUP | POLLERR)) {
            ssize_t count = recv(fd, in + got, sizeof in - got, is_blocking ? 0 : MSG_DONTWAIT);
            check(count >= 0, "recv");
            if (count == 0)
                break;
            got += count;
        }
    }
    check(got == SIZE && memcmp(in, out, SIZE) == 0, "what came back");
}

static void ask(int fd, const char *host, const char *port)
{
    struct sockaddr_in own = {0}, peer = {0}, expected = address(host, port);
    socklen_t len = sizeof own;
    int value = -1;
    check(getsockname(fd, (void *)&own, &len) == 0 && len == sizeof own, "getsockname");
    check(own.sin_family == AF_INET && own.sin_port != 0, "own address");
    check(getpeername(fd, (void *)&peer, &len) == 0, "getpeername");
    check(memcmp(&peer, &expected, sizeof peer) == 0, "the peer's address");
    len = sizeof value;
    check(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &len) == 0 && value == AF_INET, "domain");
    check(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, &len) == 0, "protocol");
    check(value == IPPROTO_TCP, "TCP");
    value = 1;
    check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value) == 0, "TCP_NODELAY");
    check(setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &value, sizeof value) == 0, "TCP_KEEPINTVL");
    check(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &value, sizeof value) == 0, "SO_KEEPALIVE");
    struct tcp_info info;
    len = sizeof info;
    check(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0, "TCP_INFO");
    check(info.tcpi_state == TCP_ESTABLISHED, "state");
}

/* As the runtime of Go does; a set may have the socket before it connects. */
static void call_epoll(const char *host, const char *port, int is_before)
{
    int set = epoll_create1(EPOLL_CLOEXEC), error = -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in peer = address(host, port);
    struct epoll_event event = {EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {.u64 = 77}};
    if (is_before)
        check(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
    int done = connect(fd, (void *)&peer, sizeof peer);
    check(done == 0 || errno == EINPROGRESS, "connect");
    if (!is_before)
        check(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
    for (;;) {
        event.data.u64 = 0;
        check(epoll_wait(set, &event, 1, -1) == 1 && event.data.u64 == 77, "epoll_wait");
        if (event.events & EPOLLOUT)
            break;
    }
    socklen_t len = sizeof error;
    check(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0, "SO_ERROR");
    /* The number in the set is this one. */
    check(epoll_ctl(set, EPOLL_CTL_MOD, fd, &event) == 0, "EPOLL_CTL_MOD");
    ask(fd, host, port);
    talk(fd, 0);
}

static void call_refused(const char *host, const char *port)
{
    struct sockaddr_in peer = address(host, port);
    int fd = socket(AF_INET, SOCK_STREAM, 0), error = 0;
    socklen_t len = sizeof error;
    check(connect(fd, (void *)&peer, sizeof peer) != 0, "it connects");
    say(strerrorname_np(errno));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect(fd, (void *)&peer, sizeof peer) != 0)
        error = errno;
    if (error == EINPROGRESS) {
        struct pollfd wanted = {fd, POLLOUT, 0};
        check(poll(&wanted, 1, -1) == 1, "poll");
        check(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0, "SO_ERROR");
    }
    say(strerrorname_np(error));
}

static volatile sig_atomic_t has_ended, ended_children;

static void on_signal(int number)
{
    if (number == SIGTERM)
        has_ended = 1;
    while (number == SIGCHLD && waitpid(-1, NULL, WNOHANG) > 0)
        ended_children++;
}

/* A child for each connection, until SIGTERM, whose handler wants calls interrupted. */
static void serve(const char *port)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGCHLD, &action, NULL);
    int listener = open_listener(port, 0);
    while (!has_ended) {
        struct sockaddr_in6 peer;
        socklen_t len = sizeof peer;
        int fd = accept(listener, (void *)&peer, &len);
        if (fd < 0 && errno == EINTR)
            continue;
        check(fd >= 0, "accept");
        char text[64];
        check(inet_ntop(AF_INET6, &peer.sin6_addr, text, sizeof text) != NULL, "inet_ntop");
        say(text);
        if (fork() == 0) {
            char bytes[65536];
            ssize_t count;
            while ((count = read(fd, bytes, sizeof bytes)) > 0)
                check(write(fd, bytes, count) == count, "write");
            _exit(count != 0);
        }
        close(fd);
    }
    say("ended");
}

/* As the runtime of Go does: nothing waits but epoll_wait. */
static void serve_epoll(const char *port)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    int listener = open_listener(port, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = listener}};
    check(epoll_ctl(set, EPOLL_CTL_ADD, listener, &event) == 0, "epoll_ctl");
    for (;;) {
        check(epoll_wait(set, &event, 1, -1) == 1, "epoll_wait");
        int fd = event.data.fd, one = 1;
        if (fd != listener) {
            static char bytes[65536];
            ssize_t count = read(fd, bytes, sizeof bytes);
            if (count <= 0)
                close(fd);
            else
                check(send(fd, bytes, count, 0) == count, "send");
            continue;
        }
        while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
            struct sockaddr_in6 own;
            socklen_t len = sizeof own;
            check(getsockname(fd, (void *)&own, &len) == 0, "getsockname");
            check(own.sin6_family == AF_INET6 && len == sizeof own, "family");
            check(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "TCP_NODELAY");
            event = (struct epoll_event){EPOLLIN, {.fd = fd}};
            check(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
        }
        check(errno == EAGAIN, "accept4");
    }
}

/* What becomes of calls when nobody answers them any more. */
static void call_left(const char *host, const char *port)
{
    int fd = dial(host, port);
    char byte;
    say("connected");
    check(read(fd, &byte, 1) < 0, "read");
    say(strerrorname_np(errno));
    struct sockaddr_in peer = address(host, port);
    check(connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&peer, sizeof peer) < 0, "connect");
    say(strerrorname_np(errno));
}

/* Has a handler interrupt a connect that waits, which then goes on. */
static void call_interrupted(const char *host, const char *port)
{
    struct sockaddr_in peer = address(host, port);
    struct sigaction action = {.sa_handler = on_signal};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    check(connect(fd, (void *)&peer, sizeof peer) < 0, "connect");
    say(strerrorname_np(errno));
    check(connect(fd, (void *)&peer, sizeof peer) < 0, "connect");
    say(strerrorname_np(errno));
}

int main(int count, char **words)
{
    const char *what = count > 2 ? words[1] : "";
    signal(SIGPIPE, SIG_IGN);
    if (!strcmp(what, "serve"))
        serve(words[2]);
    else if (!strcmp(what, "serve_epoll"))
        serve_epoll(words[2]);
    else if (count < 4)
        return 2;
    else if (!strcmp(what, "call")) {
        int fd = dial(words[2], words[3]);
        ask(fd, words[2], words[3]);
        talk(fd, 1);
    } else if (!strcmp(what, "call_tcp"))
        talk(dial(words[2], words[3]), 1);
    else if (!strcmp(what, "call_epoll"))
        call_epoll(words[2], words[3], 0);
    else if (!strcmp(what, "call_registered"))
        call_epoll(words[2], words[3], 1);
    else if (!strcmp(what, "call_refused"))
        call_refused(words[2], words[3]);
    else if (!strcmp(what, "call_left"))
        call_left(words[2], words[3]);
    else if (!strcmp(what, "call_interrupted"))
        call_interrupted(words[2], words[3]);
    else if (!strcmp(what, "call_exec")) {
        /* Both a child and a program that it executes. */
        if (fork() != 0)
            return wait(&count) < 0 || count != 0;
        execl(words[0], words[0], "call", words[2], words[3], NULL);
        return 1;
    } else
        return 2;
    return 0;
}
