/* Every collective operation, on the world and on the halves of it, blocking and not, in place
 * and not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size;

/* The composition of two functions x -> 10^d x + n, which does not commute: it concatenates decimal
 * digits. */
static void behind(void *in, void *inout, int *n, MPI_Datatype *type) {
    unsigned *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        b[2 * i] = a[2 * i] * b[2 * i + 1] + b[2 * i];
        b[2 * i + 1] *= a[2 * i + 1];
    }
}

static unsigned written(int n) {
    unsigned x = 0;
    for (int i = 0; i < n; i++) x = x * 10 + i + 1;
    return x;
}

static void on(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int n = size, i, r;
    int *all = calloc(n * n + 1, sizeof(int)), *other = calloc(n * n + 1, sizeof(int));
    int *counts = calloc(n, sizeof(int)), *places = calloc(n, sizeof(int));
    MPI_Barrier(comm);
    for (r = 0; r < n; r++) {
        int x = rank == r ? 42 + r : 0, y = rank + 1, sum = 0;
        MPI_Bcast(&x, 1, MPI_INT, r, comm);
        CHECK(x == 42 + r);
        MPI_Reduce(&y, &sum, 1, MPI_INT, MPI_SUM, r, comm);
        CHECK(rank != r || sum == n * (n + 1) / 2);
        x = rank * 2;
        MPI_Gather(&x, 1, MPI_INT, all, 1, MPI_INT, r, comm);
        for (i = 0; i < n && rank == r; i++) CHECK(all[i] == 2 * i);
        for (i = 0; i < n; i++) all[i] = 5 * i + r;
        x = -1;
        MPI_Scatter(all, 1, MPI_INT, &x, 1, MPI_INT, r, comm);
        CHECK(x == 5 * rank + r);
    }
    int total = 0;
    for (i = 0; i < n; i++) { counts[i] = i; places[i] = total; total += i; }
    int mine[64];
    for (i = 0; i < rank; i++) mine[i] = 100 * rank + i;
    memset(all, 0, n * n * sizeof(int));
    MPI_Gatherv(mine, rank, MPI_INT, all, counts, places, MPI_INT, n - 1, comm);
    for (r = 0; r < n && rank == n - 1; r++) for (i = 0; i < r; i++) CHECK(all[places[r] + i] == 100 * r + i);
    memset(mine, 0, sizeof mine);
    MPI_Scatterv(all, counts, places, MPI_INT, mine, rank, MPI_INT, n - 1, comm);
    for (i = 0; i < rank; i++) CHECK(mine[i] == 100 * rank + i);
    memset(all, 0, n * n * sizeof(int));
    MPI_Allgatherv(mine, rank, MPI_INT, all, counts, places, MPI_INT, comm);
    for (r = 0; r < n; r++) for (i = 0; i < r; i++) CHECK(all[places[r] + i] == 100 * r + i);
    all[rank] = rank + 7;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm);
    for (i = 0; i < n; i++) CHECK(all[i] == i + 7);
    for (i = 0; i < n; i++) all[i] = 100 * rank + i;
    MPI_Alltoall(all, 1, MPI_INT, other, 1, MPI_INT, comm);
    for (i = 0; i < n; i++) CHECK(other[i] == 100 * i + rank);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, comm);
    for (i = 0; i < n; i++) CHECK(all[i] == 100 * i + rank);
    for (i = 0; i < n; i++) { counts[i] = 1; places[i] = n - 1 - i; }
    MPI_Alltoallv(all, counts, places, MPI_INT, other, counts, places, MPI_INT, comm);
    /* Sums, in every algorithm: short and long vectors. */
    for (int len = 1; len < 100000; len = len * 7 + 1) {
        double *a = malloc(len * sizeof(double)), *b = malloc(len * sizeof(double));
        for (i = 0; i < len; i++) a[i] = rank + i;
        MPI_Allreduce(a, b, len, MPI_DOUBLE, MPI_SUM, comm);
        for (i = 0; i < len; i++) CHECK(b[i] == n * (n - 1) / 2 + (double)i * n);
        MPI_Allreduce(MPI_IN_PLACE, a, len, MPI_DOUBLE, MPI_MAX, comm);
        for (i = 0; i < len; i++) CHECK(a[i] == n - 1 + i);
        free(a);
        free(b);
    }
    struct { double value; int at; } best = {(rank * 7) % n, rank}, found;
#ifdef __x86_64__
    long double tenth = 0.1L * (rank + 1), tenths;
    MPI_Allreduce(&tenth, &tenths, 1, MPI_LONG_DOUBLE, MPI_MAX, comm);
    CHECK(tenths == 0.1L * size);
#endif
    MPI_Allreduce(&best, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    double top = 0;
    for (i = 0; i < n; i++) if ((i * 7) % n > top) top = (i * 7) % n;
    CHECK(found.value == top && (found.at * 7) % n == top);
    /* In the order of ranks. */
    MPI_Op op;
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &two);
    MPI_Type_commit(&two);
    MPI_Op_create(behind, 0, &op);
    unsigned x[2] = {rank + 1, 10}, w[2] = {0, 0};
    MPI_Allreduce(x, w, 1, two, op, comm);
    CHECK(w[0] == written(n));
    for (r = 0; r < n; r++) {
        w[0] = 0;
        MPI_Reduce(x, w, 1, two, op, r, comm);
        CHECK(rank != r || w[0] == written(n));
    }
    MPI_Scan(x, w, 1, two, op, comm);
    CHECK(w[0] == written(rank + 1));
    w[0] = 5;
    MPI_Exscan(x, w, 1, two, op, comm);
    CHECK(rank == 0 ? w[0] == 5 : w[0] == written(rank));
    MPI_Type_free(&two);
    int y = 0;
    MPI_Op_free(&op);
    for (i = 0; i < n; i++) { all[i] = rank + i; counts[i] = 1; }
    MPI_Reduce_scatter(all, &y, counts, MPI_INT, MPI_SUM, comm);
    CHECK(y == n * (n - 1) / 2 + n * rank);
    MPI_Reduce_scatter_block(all, &y, 1, MPI_INT, MPI_SUM, comm);
    CHECK(y == n * (n - 1) / 2 + n * rank);
    /* Several operations at once, completed in another order. */
    MPI_Request requests[4];
    int a = rank, b = 0, c = rank == 0 ? 9 : 0;
    MPI_Iallreduce(&a, &b, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Ibcast(&c, 1, MPI_INT, 0, comm, &requests[1]);
    MPI_Ibarrier(comm, &requests[2]);
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[3]);
    MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(b == n * (n - 1) / 2 && c == 9 && all[n - 1] == n - 1);
    /* Persistent. */
    MPI_Allreduce_init(&a, &b, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
    for (a = 0; a < 3; a++) {
        MPI_Start(&requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(b == a * n);
    }
    MPI_Request_free(&requests[0]);
    /* Started in another order on each rank, with calls in between. */
    int d = 0, e = 0;
    MPI_Bcast_init(&c, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(&a, &b, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]);
    for (a = 0; a < 4; a++) {
        c = rank == 0 ? 70 + a : 0;
        d = rank + a;
        for (i = 0; i < 3; i++) {
            MPI_Start(&requests[(i + rank + a) % 3]);
            if (i == rank % 3) MPI_Iallreduce(&d, &e, 1, MPI_INT, MPI_MAX, comm, &requests[3]);
        }
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        CHECK(b == a * n && c == 70 + a && e == n - 1 + a);
    }
    for (i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
    free(all); free(other); free(counts); free(places);
}

static int calls, wrong_calls;

static void measure(void *in, void *inout, int *n, MPI_Datatype *type) {
    int bytes = 0;
    (void)in, (void)inout, (void)n;
    calls++;
    wrong_calls += MPI_Type_size(*type, &bytes) != MPI_SUCCESS || bytes != 3 * (int)sizeof(int);
}

/* The function of a reduction gets the datatype that the program has freed meanwhile. */
static void freed(void) {
    int x[3] = {0, 0, 0}, y[3], sum[2];
    MPI_Datatype three, other;
    MPI_Op op;
    MPI_Request request;
    MPI_Op_create(measure, 1, &op);
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Iallreduce(x, y, 1, three, op, MPI_COMM_WORLD, &request);
    MPI_Type_free(&three);
    MPI_Type_contiguous(5, MPI_INT, &other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&other);
    MPI_Op_free(&op);
    MPI_Allreduce((int[]){calls, wrong_calls}, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK((size == 1 || sum[0] > 0) && sum[1] == 0);
}

int main(int argc, char **argv) {
    MPI_Comm half, copy, grid;
    int world;
    MPI_Init(&argc, &argv);
    on(MPI_COMM_WORLD);
    world = rank;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    on(half);
    MPI_Comm_dup(half, &copy);
    on(copy);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coordinates[2];
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, world, 2, coordinates);
    int back;
    MPI_Cart_rank(grid, coordinates, &back);
    CHECK(back == world);
    MPI_Comm_free(&grid);
    freed();
    MPI_Finalize();
    if (world == 0) printf("collectives: all well\n");
    return 0;
}
