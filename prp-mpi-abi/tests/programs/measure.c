/* What messages and collective operations cost; used by `netns-scripts/bench --mpi`.
 *
 * measure SECONDS WHAT...: each WHAT is measured for that long, in batches. Rank 0 prints a line
 * for each, in microseconds: its name, the median over the batches, and the best of them.
 *   pingpong:BYTES   half a round trip between ranks 0 and 1, MPI_Isend and MPI_Recv
 *   roundtrip:BYTES  the same, each round trip measured alone: the median of all, and the best
 *   barrier          one MPI_Barrier of all ranks
 *   allreduce:BYTES  one MPI_Allreduce of doubles of all ranks
 *   rate:PAIRS       a thousand messages of 8 bytes, of so many pairs of ranks together, each in
 *                    windows of MPI_Isend and MPI_Irecv */
#include "measure.h"

/* Round trips that are measured alone, at most, and between two checks of the time. */
#define ROUND_TRIPS (1 << 20)
#define CHUNK 1000

/* Messages of a pair on their way. */
#define WINDOW 64

static char *out, *in;

static void pingpong(int bytes) {
    int other = 1 - rank;
    MPI_Request request;
    if (rank > 1) return;
    if (rank == 0) {
        MPI_Isend(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(in, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Isend(out, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void barrier(int bytes) {
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(int bytes) {
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Rank 0 sends to the first one of the second half, and so on. Answers keep a sender from running
 * ahead. */
static void window(int pairs) {
    int half = size / 2, is_sender = rank < half, other = is_sender ? rank + half : rank - half;
    MPI_Request requests[WINDOW];
    if (rank % half >= pairs) return;
    for (int i = 0; i < WINDOW; i++) {
        if (is_sender) MPI_Isend(out, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[i]);
        else MPI_Irecv(in + 8 * i, 8, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (is_sender) MPI_Recv(in, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(out, 0, MPI_BYTE, other, 2, MPI_COMM_WORLD);
}

static void measure_rate(const char *what, int pairs, double seconds) {
    is_of_all = 1;
    measure_batches(what, window, pairs, seconds, 1e9 / WINDOW / pairs);
    is_of_all = 0;
}

/* Measures each round trip alone. Disturbances of the machine hit few of them, and the median shows
 * none, where each batch has some. */
static void measure_each(const char *what, int bytes, double seconds) {
    static double costs[ROUND_TRIPS];
    int n = 0, goes_on = 1;
    double begun = MPI_Wtime(), before = begun;
    while (goes_on) {
        int is_warm = before - begun > seconds / 10;
        for (int i = 0; i < CHUNK; i++) {
            pingpong(bytes);
            double after = MPI_Wtime();
            if (is_warm && n < ROUND_TRIPS) costs[n++] = after - before;
            before = after;
        }
        goes_on = n == 0 || before - begun < seconds;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        before = MPI_Wtime();
    }
    if (rank == 0) print(what, costs, n, 0.5e6);
}

static void measure(const char *what, double seconds) {
    const char *colon = strchr(what, ':');
    int bytes = colon ? atoi(colon + 1) : 0;
    out = calloc(1, bytes + 8 * WINDOW), in = calloc(1, bytes + 8 * WINDOW);
    if (!strncmp(what, "roundtrip", 9)) measure_each(what, bytes, seconds);
    else if (!strncmp(what, "pingpong", 8)) measure_batches(what, pingpong, bytes, seconds, 0.5e6);
    else if (!strncmp(what, "rate", 4)) measure_rate(what, bytes, seconds);
    else if (!strncmp(what, "barrier", 7)) measure_batches(what, barrier, bytes, seconds, 1e6);
    else measure_batches(what, allreduce, bytes, seconds, 1e6);
    free(out), free(in);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 2; i < argc; i++) measure(argv[i], atof(argv[1]));
    MPI_Finalize();
    return 0;
}
