/* "latency" answers messages of 64 bytes on port 7020; "latency NODE SECONDS" sends them, and
 * prints the median of half a round trip in microseconds. Both ends spin. */
#include <prp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SIZE 64
#define MOST 4000000

static long now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;

    return (x > y) - (x < y);
}

static int fail(void)
{
    fprintf(stderr, "latency: %s\n", prp_last_error());
    return 1;
}

static int ask(const char *node, double seconds, const prp_options *options)
{
    long *times = malloc(MOST * sizeof *times), begin = now(), end = begin + (long)(seconds * 1e9);
    size_t count = 0;
    char address[300], message[SIZE] = {0};
    prp_stream *stream;

    snprintf(address, sizeof address, "%s:7020", node);
    stream = prp_connect(address, options);
    if (times == NULL || stream == NULL)
        return fail();
    while (begin < end && count < MOST) {
        long done;

        if (prp_send_all(stream, message, SIZE) < 0 || prp_recv_all(stream, message, SIZE) != SIZE)
            return fail();
        done = now();
        times[count++] = (done - begin) / 2;
        begin = done;
    }
    qsort(times, count, sizeof *times, compare);
    printf("%.3f\n", times[count / 2] / 1e3);
    free(times);
    return prp_close(stream) < 0;
}

int main(int count, char **words)
{
    prp_options *options = prp_options_new();
    prp_listener *listener;
    prp_stream *stream;
    char message[SIZE];

    /* Spins for as long as it takes. */
    prp_options_set(options, PRP_OPT_SPIN, 3600000000000LL);
    if (count == 3)
        return ask(words[1], atof(words[2]), options);
    listener = prp_listen("self:7020", options);
    if (listener == NULL)
        return fail();
    puts("listening");
    fflush(stdout);
    while ((stream = prp_accept(listener, NULL)) != NULL) {
        while (prp_recv_all(stream, message, SIZE) == SIZE && prp_send_all(stream, message, SIZE) == 0)
            ;
        prp_close(stream);
    }
    return fail();
}
