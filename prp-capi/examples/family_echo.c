/* A server of AF_PRPF: a process for each connection. It listens on any port and prints which. */
#define _POSIX_C_SOURCE 200112L
#include <errno.h>
#include <prp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return 1;
}

static int answer(int fd)
{
    char bytes[4096];
    ssize_t size;

    while ((size = read(fd, bytes, sizeof bytes)) > 0) {
        ssize_t sent = 0;

        while (sent < size) {
            ssize_t part = write(fd, bytes + sent, (size_t)(size - sent));

            if (part < 0)
                return fail("write");
            sent += part;
        }
    }
    return size < 0 ? fail("read") : 0;
}

int main(void)
{
    struct sockaddr_prp address;
    socklen_t size = sizeof address;
    int listener = socket(AF_PRPF, SOCK_STREAM, 0);

    if (listener < 0)
        return fail("socket");
    /* Without bind() it gets a port that is free. */
    if (listen(listener, 16) < 0)
        return fail("listen");
    if (getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        return fail("getsockname");
    printf("node %d, port %d\n", address.sprp_addr, address.sprp_port);
    fflush(stdout);
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        struct sockaddr_prp peer;
        int fd;

        size = sizeof peer;
        fd = accept(listener, (struct sockaddr *)&peer, &size);
        if (fd < 0)
            return fail("accept");
        printf("from node %d, port %d\n", peer.sprp_addr, peer.sprp_port);
        fflush(stdout);
        if (fork() == 0) {
            close(listener);
            return answer(fd);
        }
        close(fd);
    }
}
