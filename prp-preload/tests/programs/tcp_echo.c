/* An ordinary program with TCP sockets that does not use PRP's library. As a server it sends
 * back all data; as a client it sends data and checks that the same data return. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 8, PIECE = 30000 };

static void need(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "tcp_echo: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static struct sockaddr_in address_of(const char *host, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    need(inet_pton(AF_INET, host, &address.sin_addr) == 1, "the address");
    return address;
}

/* Sends back the data received at `fd`; 0 after the peer's end of stream, which it passes on. */
static int echo(int fd)
{
    static char bytes[PIECE];
    struct iovec in[2] = {{bytes, 7}, {bytes + 7, sizeof bytes - 7}};
    ssize_t got = readv(fd, in, 2);
    if (got < 0 && errno == EAGAIN)
        return 1;
    need(got >= 0, "readv");
    for (ssize_t done = 0; done < got;) {
        struct iovec out[2] = {{bytes + done, 0}, {bytes + done, (size_t)(got - done)}};
        ssize_t sent = writev(fd, out, 2);
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};
            need(poll(&room, 1, -1) == 1, "poll for room");
            continue;
        }
        need(sent > 0, "writev");
        done += sent;
    }
    return got > 0;
}

/* Accepts `count` connections at `port`, and returns when all have ended. */
static void serve(int port, int count)
{
    struct sockaddr_in address = address_of("0.0.0.0", port), seen;
    socklen_t len = sizeof seen;
    struct pollfd fds[MOST + 1];
    int one = 1, ended = 0, known = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    need(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0, "SO_REUSEADDR");
    need(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    need(listen(listener, 16) == 0, "listen");
    need(ioctl(listener, FIONBIO, &one) == 0, "FIONBIO");
    need(getsockname(listener, (struct sockaddr *)&seen, &len) == 0, "getsockname");
    need(ntohs(seen.sin_port) == port, "the port of the listener");
    need(accept(listener, NULL, NULL) < 0 && errno == EAGAIN, "accept without a connection");
    printf("listening\n");
    fflush(stdout);
    fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    while (ended < count) {
        need(poll(fds, (nfds_t)known, -1) > 0, "poll");
        if (fds[0].revents & POLLIN) {
            len = sizeof seen;
            int fd = accept(listener, (struct sockaddr *)&seen, &len);
            need(fd >= 0 && known <= MOST, "accept");
            need(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0, "O_NONBLOCK");
            printf("accepted from %s\n", inet_ntoa(seen.sin_addr));
            fds[known++] = (struct pollfd){.fd = fd, .events = POLLIN};
        }
        for (int i = 1; i < known; i++)
            if (fds[i].revents && !echo(fds[i].fd)) {
                need(shutdown(fds[i].fd, SHUT_WR) == 0 && close(fds[i].fd) == 0, "close");
                fds[i].fd = -1;
                ended++;
            }
    }
    need(close(listener) == 0, "close the listener");
}

/* Connects without blocking; returns the error of the connection. */
static int dial(const char *host, int port, int *fd)
{
    struct sockaddr_in address = address_of(host, port);
    int error = 0, one = 1;
    socklen_t len = sizeof error;
    *fd = socket(AF_INET, SOCK_STREAM, 0);
    need(fcntl(*fd, F_SETFL, O_NONBLOCK) == 0, "O_NONBLOCK");
    need(setsockopt(*fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "TCP_NODELAY");
    int answer = connect(*fd, (struct sockaddr *)&address, sizeof address);
    need(answer == 0 || errno == EINPROGRESS || errno == ECONNREFUSED, "connect");
    if (answer && errno == ECONNREFUSED)
        return errno;
    struct pollfd wait = {.fd = *fd, .events = POLLOUT};
    need(poll(&wait, 1, -1) == 1, "poll for the connection");
    need(getsockopt(*fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0, "SO_ERROR");
    return error;
}

/* Waits until `fd` has something to read, with epoll or with poll. */
static void wait_readable(int fd, int epoll)
{
    struct epoll_event seen;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    if (epoll >= 0)
        need(epoll_wait(epoll, &seen, 1, -1) == 1, "epoll_wait");
    else
        need(poll(&wait, 1, -1) == 1 && wait.revents & POLLIN, "poll");
}

/* Sends `total` bytes in pieces, each with a different call, and reads each piece back. */
static void exchange(int fd, long total, int epoll)
{
    static unsigned char out[PIECE], in[PIECE];
    unsigned state = 1;
    for (long done = 0, piece; done < total; done += piece) {
        piece = total - done < PIECE ? total - done : PIECE;
        for (long i = 0; i < piece; i++)
            out[i] = (unsigned char)((state = state * 1103515245u + 12345u) >> 16);
        struct iovec part = {out, (size_t)piece};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent = done % 2 ? sendmsg(fd, &message, MSG_NOSIGNAL) : send(fd, out, (size_t)piece, MSG_NOSIGNAL);
        need(sent == piece, "send");
        for (long got = 0; got < piece;) {
            wait_readable(fd, epoll);
            unsigned char first;
            need(recv(fd, &first, 1, MSG_PEEK) == 1 && first == out[got], "MSG_PEEK");
            ssize_t now = got % 2 ? read(fd, in + got, (size_t)(piece - got))
                                  : recv(fd, in + got, (size_t)(piece - got), MSG_DONTWAIT);
            need(now > 0, "recv");
            got += now;
        }
        need(memcmp(in, out, (size_t)piece) == 0, "what came back");
    }
}

static void call(const char *host, int port, long total, int by_epoll)
{
    struct sockaddr_in seen;
    socklen_t len = sizeof seen;
    int fd, refused, epoll = -1;
    char end;
    need(dial(host, port, &fd) == 0, "connect");
    need(getpeername(fd, (struct sockaddr *)&seen, &len) == 0, "getpeername");
    need(!strcmp(inet_ntoa(seen.sin_addr), host) && ntohs(seen.sin_port) == port, "the peer");
    need(recv(fd, &end, 1, 0) < 0 && errno == EAGAIN, "recv without data");
    if (by_epoll) {
        struct epoll_event event = {.events = EPOLLIN};
        epoll = epoll_create1(0);
        need(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
    }
    exchange(fd, total, epoll);
    need(dial(host, port + 1, &refused) == ECONNREFUSED, "a port where nobody listens");
    need(close(refused) == 0, "close what was refused");
    need(shutdown(fd, SHUT_WR) == 0, "shutdown");
    need(fcntl(fd, F_SETFL, 0) == 0, "waiting again");
    need(read(fd, &end, 1) == 0, "the end");
    need(close(fd) == 0, "close");
    printf("ok\n");
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "serve"))
        serve(atoi(argv[2]), atoi(argv[3]));
    else if (argc == 6 && !strcmp(argv[1], "call"))
        call(argv[2], atoi(argv[3]), atol(argv[4]), !strcmp(argv[5], "epoll"));
    else
        need(0, "serve PORT CONNECTIONS, or call HOST PORT BYTES poll|epoll");
    return 0;
}
