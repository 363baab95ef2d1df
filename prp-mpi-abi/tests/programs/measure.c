/* What messages and collective operations cost; used by `netns-scripts/bench --mpi`.
 *
 * measure SECONDS WHAT...: each WHAT is measured for that long, in batches. Rank 0 prints a line
 * for each, in microseconds: its name, the median over the batches, and the best of them.
 *   pingpong:BYTES   half a round trip between ranks 0 and 1, MPI_Isend and MPI_Recv
 *   roundtrip:BYTES  the same, each round trip measured alone: the median of all, and the best
 *   barrier          one MPI_Barrier of all ranks
 *   allreduce:BYTES  one MPI_Allreduce of doubles of all ranks */
#include "measure.h"

/* Round trips that are measured alone, at most, and between two checks of the time. */
#define ROUND_TRIPS (1 << 20)
#define CHUNK 1000

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
            double now = MPI_Wtime();
            if (is_warm && n < ROUND_TRIPS) costs[n++] = now - before;
            before = now;
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
    out = calloc(1, bytes + 8), in = calloc(1, bytes + 8);
    if (!strncmp(what, "roundtrip", 9)) measure_each(what, bytes, seconds);
    else if (!strncmp(what, "pingpong", 8)) measure_batches(what, pingpong, bytes, seconds, 0.5e6);
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
