/* What a well-behaved program does not do all at once. The first argument says which:

     flood    every rank sends many messages to rank 0 before that takes any, and then by wildcards
     buffered F  rank 0 calls nothing after it has flushed buffers, until rank 1 makes file F
     behind   rank 0 waits for a message behind more than a rank keeps of unexpected ones
     large    all ranks exchange messages that no buffer holds, all at the same time
     helper   a thread of rank 1 answers rank 0, while another thread of it polls or tests
     self     a thread of each rank answers another one of the same rank, and completes what it waits for
     reduce   the function of a reduction waits for another thread, which calls MPI meanwhile
     threads  several threads of each rank send and receive on tags and communicators of their own
     die N    all ranks talk; one of them is killed at a time that N says */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

/* Each message: sender, number, and bytes that both determine. */
static void fill(int *message, int words, int from, int number) {
    for (int i = 0; i < words; i++) message[i] = from * 1000003 + number * 101 + i;
    message[0] = from, message[1] = number;
}

static void flood(void) {
    enum { MESSAGES = 3000, WORDS = 600 };
    static int message[WORDS], expected[WORDS];
    int *next = calloc(size, sizeof *next), done = 0;
    if (rank > 0) {
        for (int n = 0; n < MESSAGES; n++) {
            int words = 2 + (n * 7) % (WORDS - 2);
            fill(message, words, rank, n);
            MPI_Send(message, words, MPI_INT, 0, n % 3, MPI_COMM_WORLD);
        }
        MPI_Send(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD);
    } else {
        /* The last message of each rank arrives only after all earlier ones, and nothing is
         * received before that. */
        for (int other = 1; other < size; other++)
            MPI_Recv(NULL, 0, MPI_INT, other, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (done < (size - 1) * MESSAGES) {
            MPI_Status status;
            int words;
            MPI_Recv(message, WORDS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &words);
            int from = status.MPI_SOURCE, n = next[from]++;
            CHECK(status.MPI_TAG == n % 3);
            CHECK(words == 2 + (n * 7) % (WORDS - 2));
            fill(expected, words, from, n);
            CHECK(!memcmp(message, expected, words * sizeof *message));
            done++;
        }
    }
    free(next);
}

static void await_file(const char *file) {
    for (int i = 0; i < 1000 && access(file, F_OK); i++) usleep(10000);
    CHECK(!access(file, F_OK));
}

static void make_file(const char *file) {
    FILE *made = fopen(file, "w");
    CHECK(made && !fclose(made));
}

enum { LARGE_BYTES = 8 << 20, SMALL_BYTES = 4096, ATTACHED_BYTES = LARGE_BYTES + SMALL_BYTES + 2 * MPI_BSEND_OVERHEAD };
enum { DETACH, FLUSH, IFLUSH, COMM_DETACH, COMM_FLUSH, COMM_IFLUSH, DISCONNECT, WAYS };

/* Sends a large and a small message, and waits until they have left, in one of the ways. */
static void send_all(int way, const char *message, MPI_Comm *comm) {
    static char attached[ATTACHED_BYTES];
    MPI_Request request;
    void *detached = attached;
    int bytes = ATTACHED_BYTES;
    if (way == DISCONNECT) {
        MPI_Isend(message, LARGE_BYTES, MPI_CHAR, 1, 0, *comm, &request);
        MPI_Request_free(&request);
        MPI_Isend(message, SMALL_BYTES, MPI_CHAR, 1, 1, *comm, &request);
        MPI_Request_free(&request);
        MPI_Comm_disconnect(comm);
        return;
    }
    if (way < COMM_DETACH) MPI_Buffer_attach(attached, ATTACHED_BYTES);
    else MPI_Comm_attach_buffer(*comm, attached, ATTACHED_BYTES);
    MPI_Bsend(message, LARGE_BYTES, MPI_CHAR, 1, 0, *comm);
    MPI_Bsend(message, SMALL_BYTES, MPI_CHAR, 1, 1, *comm);
    if (way == DETACH) MPI_Buffer_detach(&detached, &bytes);
    if (way == FLUSH) MPI_Buffer_flush();
    if (way == IFLUSH) MPI_Buffer_iflush(&request);
    if (way == COMM_DETACH) MPI_Comm_detach_buffer(*comm, &detached, &bytes);
    if (way == COMM_FLUSH) MPI_Comm_flush_buffer(*comm);
    if (way == COMM_IFLUSH) MPI_Comm_iflush_buffer(*comm, &request);
    if (way == IFLUSH || way == COMM_IFLUSH) MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(detached == attached && bytes == ATTACHED_BYTES);
}

static void buffered(const char *file) {
    static char message[LARGE_BYTES], small[SMALL_BYTES];
    MPI_Request requests[2];
    void *detached;
    int bytes;
    for (int way = 0; way < WAYS; way++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (rank == 0) {
            memset(message, way + 1, LARGE_BYTES);
            send_all(way, message, &comm);
            await_file(file);
            unlink(file);
            if (way == FLUSH || way == IFLUSH) MPI_Buffer_detach(&detached, &bytes);
        } else {
            MPI_Irecv(message, LARGE_BYTES, MPI_CHAR, 0, 0, comm, &requests[0]);
            MPI_Irecv(small, SMALL_BYTES, MPI_CHAR, 0, 1, comm, &requests[1]);
            if (way == DISCONNECT) MPI_Comm_disconnect(&comm);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            CHECK(message[LARGE_BYTES - 1] == way + 1 && small[0] == way + 1);
            make_file(file);
        }
        if (way != DISCONNECT) MPI_Comm_free(&comm);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* What was not sent from the buffer is not waited for. */
    if (rank == 0) {
        MPI_Isend(message, LARGE_BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Buffer_attach(small, SMALL_BYTES);
        MPI_Buffer_detach(&detached, &bytes);
        make_file(file);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else {
        await_file(file);
        unlink(file);
        MPI_Recv(message, LARGE_BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void behind(void) {
    enum { LARGE = 1 << 20, LARGE_ONES = 80, SMALL_ONES = 3000 };
    char *message = calloc(LARGE, 1);
    MPI_Request requests[LARGE_ONES];
    if (rank == 1) {
        for (int i = 0; i < LARGE_ONES; i++) MPI_Isend(message, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < SMALL_ONES; i++) MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD);
        MPI_Waitall(LARGE_ONES, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < SMALL_ONES; i++) {
            int n;
            MPI_Recv(&n, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(n == i);
        }
        for (int i = 0; i < LARGE_ONES; i++) MPI_Recv(message, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(message);
}

static void large(void) {
    enum { WORDS = 3 << 20 };
    int *out = malloc(WORDS * sizeof *out), *in = malloc(WORDS * sizeof *in), *wanted = malloc(WORDS * sizeof *in);
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        MPI_Request request;
        fill(out, WORDS, rank, step);
        MPI_Isend(out, WORDS, MPI_INT, to, step, MPI_COMM_WORLD, &request);
        MPI_Recv(in, WORDS, MPI_INT, from, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        fill(wanted, WORDS, from, step);
        CHECK(!memcmp(in, wanted, WORDS * sizeof *in));
    }
    free(out), free(in), free(wanted);
}

struct worker {
    int number;
    MPI_Comm comm;
};

static void *work(void *argument) {
    struct worker *me = argument;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int n = 0; n < 1000; n++) {
        int out[3] = {rank, me->number, n}, in[3], sum;
        MPI_Sendrecv(out, 3, MPI_INT, to, me->number, in, 3, MPI_INT, from, me->number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in[0] == from && in[1] == me->number && in[2] == n);
        if (n % 50 == 0) {
            MPI_Allreduce(&n, &sum, 1, MPI_INT, MPI_SUM, me->comm);
            CHECK(sum == n * size);
        }
    }
    return NULL;
}

static void threads(void) {
    enum { THREADS = 4 };
    pthread_t all[THREADS];
    struct worker workers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        workers[t].number = t;
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 0; t < THREADS; t++) pthread_create(&all[t], NULL, work, &workers[t]);
    for (int t = 0; t < THREADS; t++) pthread_join(all[t], NULL);
    for (int t = 0; t < THREADS; t++) MPI_Comm_free(&workers[t].comm);
}

enum { ROUNDS = 300, ASK = 1, ANSWER = 2, OVER = 3 };

static void *answer(void *from) {
    int n, peer = *(int *)from;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Recv(&n, 1, MPI_INT, peer, ASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&n, 1, MPI_INT, peer, ANSWER, MPI_COMM_WORLD);
    }
    return NULL;
}

static void ask(int peer) {
    int n;
    for (int i = 0; i < ROUNDS; i++) {
        /* Until the thread that answers sleeps. */
        usleep(3000);
        MPI_Send(&i, 1, MPI_INT, peer, ASK, MPI_COMM_WORLD);
        MPI_Recv(&n, 1, MPI_INT, peer, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(n == i);
        if (i == ROUNDS / 2) MPI_Send(NULL, 0, MPI_INT, peer, OVER, MPI_COMM_WORLD);
    }
    MPI_Send(NULL, 0, MPI_INT, peer, OVER, MPI_COMM_WORLD);
}

static void helper(void) {
    pthread_t thread;
    MPI_Request request;
    int peer = 0, done = 0;
    if (rank == 0) return ask(1);
    pthread_create(&thread, NULL, answer, &peer);
    while (!done) MPI_Iprobe(0, OVER, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    MPI_Recv(NULL, 0, MPI_INT, 0, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(NULL, 0, MPI_INT, 0, OVER, MPI_COMM_WORLD, &request);
    for (done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

static int query(void *extra, MPI_Status *status) { return (void)extra, MPI_Status_set_elements(status, MPI_INT, 0); }
static int release(void *extra) { return (void)extra, MPI_SUCCESS; }
static int cancel(void *extra, int done) { return (void)extra, (void)done, MPI_SUCCESS; }

static volatile int awaited;

static void *await_each(void *requests) {
    for (; awaited < ROUNDS; awaited++) MPI_Wait((MPI_Request *)requests + awaited, MPI_STATUS_IGNORE);
    return NULL;
}

static void self(void) {
    static MPI_Request requests[ROUNDS], copies[ROUNDS];
    pthread_t thread;
    for (int i = 0; i < ROUNDS; i++) MPI_Grequest_start(query, release, cancel, NULL, &requests[i]);
    memcpy(copies, requests, sizeof copies);
    pthread_create(&thread, NULL, await_each, requests);
    for (int i = 0; i < ROUNDS; i++) {
        usleep(3000);
        MPI_Grequest_complete(copies[i]);
        while (awaited == i) sched_yield();
    }
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, answer, &rank);
    ask(rank);
    pthread_join(thread, NULL);
    MPI_Recv(NULL, 0, MPI_INT, rank, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(NULL, 0, MPI_INT, rank, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static volatile int is_called, has_polled;

static void add_later(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    is_called = 1;
    while (!has_polled) sched_yield();
    for (int i = 0; i < *n; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void *poll_once(void *flag) {
    while (!is_called) sched_yield();
    MPI_Iprobe(MPI_ANY_SOURCE, OVER, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE);
    has_polled = 1;
    return NULL;
}

static void reduce(void) {
    int sum, flag;
    pthread_t thread;
    MPI_Op op;
    MPI_Op_create(add_later, 1, &op);
    /* Ranks that wait for each other would do so for ever. */
    alarm(20);
    pthread_create(&thread, NULL, poll_once, &flag);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    is_called = 1;
    pthread_join(thread, NULL);
    MPI_Op_free(&op);
}

static volatile int calls;

static void *kill_later(void *argument) {
    int when = *(int *)argument;
    while (calls < when) sched_yield();
    kill(getpid(), SIGKILL);
    return NULL;
}

static void die(int seed) {
    static int when;
    static int much[100000];
    pthread_t killer;
    when = (seed * 7919) % 400;
    if (rank == seed % size) pthread_create(&killer, NULL, kill_later, &when);
    for (;; calls++) {
        int sum;
        MPI_Allreduce((int *)&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(much, calls % 100000, MPI_INT, calls % size, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 1 && provided == MPI_THREAD_MULTIPLE);
    if (!strcmp(argv[1], "flood")) flood();
    if (!strcmp(argv[1], "behind")) behind();
    if (!strcmp(argv[1], "buffered")) buffered(argv[2]);
    if (!strcmp(argv[1], "large")) large();
    if (!strcmp(argv[1], "threads")) threads();
    if (!strcmp(argv[1], "reduce")) reduce();
    if (!strcmp(argv[1], "helper")) helper();
    if (!strcmp(argv[1], "self")) self();
    if (!strcmp(argv[1], "die")) die(atoi(argv[2]));
    MPI_Finalize();
    if (rank == 0) printf("stress: all well\n");
    return 0;
}
