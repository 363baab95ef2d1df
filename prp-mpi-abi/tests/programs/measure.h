/* Times of calls, in batches; for the programs that `netns-scripts/bench --mpi` runs. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The longest time of a batch in seconds: disturbances of a machine last longer. */
#define BATCH 0.01
#define BATCHES 4096

static int rank, size;

/* A batch lasts from the first call of any rank to the last one of any. */
static int is_of_all;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median and the least of `n` times in seconds, each times `factor`. */
static void print(const char *what, double *costs, int n, double factor) {
    qsort(costs, n, sizeof *costs, by_value);
    printf("%s %.3f %.3f\n", what, costs[n / 2] * factor, costs[0] * factor);
    fflush(stdout);
}

/* Seconds on a clock that all processes of the machine share, as those of MPI need not be. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* Seconds of one call, over `count` of them. */
static double batch(void (*once)(int), int argument, int count) {
    double ends[2] = {-now(), 0};
    for (int i = 0; i < count; i++) once(argument);
    ends[1] = now();
    if (is_of_all) MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return (ends[0] + ends[1]) / count;
}

static void measure_batches(const char *what, void (*once)(int), int argument, double seconds, double factor) {
    static double costs[BATCHES];
    int count = 1, plan[2], n = 0;
    double last = 0;
    /* Rank 0 broadcasts the number of calls in a batch, and the end, since all ranks must make the
     * same number of calls. */
    double begun = MPI_Wtime();
    for (;;) {
        double cost = last = batch(once, argument, count);
        double spent = MPI_Wtime() - begun;
        plan[0] = count, plan[1] = spent >= seconds || n == BATCHES;
        if (cost * count < BATCH / 2) plan[0] = 2 * count;
        else if (rank == 0 && n < BATCHES && spent > seconds / 10) costs[n++] = cost;
        MPI_Bcast(plan, 2, MPI_INT, 0, MPI_COMM_WORLD);
        count = plan[0];
        if (plan[1]) break;
    }
    if (rank == 0) {
        /* If a call takes longer than the whole time, the last batch is the only measurement. */
        if (n == 0) costs[n++] = last;
        print(what, costs, n, factor);
    }
}
