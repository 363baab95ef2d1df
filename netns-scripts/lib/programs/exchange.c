/* A program of MPI that checks what it gets: messages of many sizes around a ring and between all
 * ranks, collective operations, and a window. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 4 << 20, ROUNDS = 200 };

static int rank, size, wrong;
static unsigned char *out, *in;

static unsigned char byte(int of, int at) { return (unsigned char)(at * 7 + at / 251 + of * 31); }

static void fill(int length) {
    for (int at = 0; at < length; at++) out[at] = byte(rank, at);
}

static void compare(const unsigned char *got, int of, int length) {
    for (int at = 0; at < length; at++) wrong += got[at] != byte(of, at);
}

/* The first rank prints what all have found. */
static void tell(const char *what) {
    int all;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%s: %d wrong\n", what, all);
}

static void ring(void) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int length = 1; length <= LARGEST; length *= 4) {
        fill(length);
        memset(in, 0, length);
        MPI_Sendrecv(out, length, MPI_BYTE, next, 1, in, length, MPI_BYTE, before, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        compare(in, before, length);
    }
    tell("ring");
}

/* Many small ones from anybody, in the order of each sender. */
static void crowd(void) {
    int *next = calloc(size, sizeof *next);
    MPI_Request *sent = malloc(sizeof *sent * size * ROUNDS);
    static int numbers[ROUNDS];
    for (int at = 0; at < ROUNDS; at++) {
        numbers[at] = at;
        for (int to = 0; to < size; to++)
            MPI_Isend(&numbers[at], 1, MPI_INT, to, 2, MPI_COMM_WORLD, &sent[at * size + to]);
    }
    for (int at = 0; at < size * ROUNDS; at++) {
        int number;
        MPI_Status status;
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        wrong += number != next[status.MPI_SOURCE]++;
    }
    MPI_Waitall(size * ROUNDS, sent, MPI_STATUSES_IGNORE);
    free(next);
    free(sent);
    tell("crowd");
}

static void collectives(void) {
    int part = LARGEST / size / 4;
    for (int root = 0; root < size; root++) {
        memset(in, 0, LARGEST);
        if (rank == root) memcpy(in, out, LARGEST);
        MPI_Bcast(in, LARGEST, MPI_BYTE, root, MPI_COMM_WORLD);
        compare(in, root, LARGEST);
    }
    memset(in, 0, LARGEST);
    MPI_Allgather(out, part, MPI_BYTE, in, part, MPI_BYTE, MPI_COMM_WORLD);
    for (int of = 0; of < size; of++) compare(in + of * part, of, part);
    for (int to = 1; to < size; to++) memcpy(out + to * part, out, part);
    memset(in, 0, LARGEST);
    MPI_Alltoall(out, part, MPI_BYTE, in, part, MPI_BYTE, MPI_COMM_WORLD);
    for (int of = 0; of < size; of++) compare(in + of * part, of, part);
    for (int at = 0; at < ROUNDS; at++) {
        int mine = rank + at, sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != size * (size - 1) / 2 + size * at;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    tell("collectives");
}

static void window(void) {
    int part = LARGEST / 4, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Win win;
    fill(part);
    memset(in, 0, part);
    MPI_Win_create(in, part, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(out, part, MPI_BYTE, next, 0, part, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    compare(in, before, part);
    MPI_Win_fence(0, win);
    memset(out, 0, part);
    MPI_Get(out, part, MPI_BYTE, next, 0, part, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    compare(out, rank, part);
    MPI_Win_free(&win);
    tell("window");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    out = malloc(LARGEST);
    in = malloc(LARGEST);
    ring();
    crowd();
    fill(LARGEST);
    collectives();
    window();
    MPI_Finalize();
    return wrong != 0;
}
