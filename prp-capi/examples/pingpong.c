/* The ping-pong of the PRP paper. "pingpong" answers on port 1000; "pingpong NODE" measures. */
#define _POSIX_C_SOURCE 200112L
#include <errno.h>
#include <prp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 1000, LARGEST = 65536, ROUNDS = 100 };

static char message[LARGEST];

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* Moves a whole message. 0 at the end of the connection. */
static int move(int fd, size_t size, ssize_t (*part)(int, char *, size_t))
{
    size_t done = 0;

    while (done < size) {
        ssize_t count = part(fd, message + done, size - done);

        if (count == 0)
            return 0;
        if (count > 0)
            done += (size_t)count;
        else if (errno != EINTR)
            fail("ping-pong");
    }
    return 1;
}

static ssize_t in(int fd, char *to, size_t size)
{
    return read(fd, to, size);
}

static ssize_t out(int fd, char *from, size_t size)
{
    return write(fd, from, size);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void ping(int fd, size_t size)
{
    double start = now();
    int round;

    for (round = 0; round < ROUNDS; round++)
        if (!move(fd, size, out) || !move(fd, size, in))
            fail("ping");
    printf("%lu bytes: %.1f us\n", (unsigned long)size, (now() - start) / ROUNDS / 2 * 1e6);
}

static void pong(int fd)
{
    size_t size;

    for (size = 1; size <= LARGEST; size *= 16) {
        int round;

        for (round = 0; round < ROUNDS; round++)
            if (!move(fd, size, in) || !move(fd, size, out))
                return;
    }
}

int main(int count, char **words)
{
    struct sockaddr_prp address = {AF_PRPF, PORT, 0};
    int fd = socket(AF_PRPF, SOCK_STREAM, 0);

    if (fd < 0)
        fail("socket");
    if (count == 2) {
        size_t size;

        address.sprp_addr = (unsigned short)atoi(words[1]);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
            fail("connect");
        for (size = 1; size <= LARGEST; size *= 16)
            ping(fd, size);
        close(fd);
        return 0;
    }
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0)
        fail("bind");
    if (listen(fd, 5) < 0)
        fail("listen");
    for (;;) {
        int peer = accept(fd, NULL, NULL);

        if (peer < 0)
            fail("accept");
        pong(peer);
        close(peer);
    }
}
