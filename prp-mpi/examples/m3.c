/* M3 of "Tolerating message latency through the early release of blocked receives": products of
 * matrices. In each iteration a master generates a matrix A and sends slices of it to the slaves,
 * which multiply them by B and send the products back. B is transposed and broadcast once. */
#include "app.h"

static double element(const struct app *app, long iteration, long row, long column)
{
    return app_random(app->seed + (uint64_t)iteration, (uint64_t)(row * app->size + column)) - 0.5;
}

/* `rows` rows of the product of `a` and B, whose transpose is `b`. */
static void multiply(const double *a, const double *b, double *c, long rows, long size)
{
    for (long row = 0; row < rows; row++)
        for (long column = 0; column < size; column++) {
            double sum = 0;
            for (long k = 0; k < size; k++)
                sum += a[row * size + k] * b[column * size + k];
            c[row * size + column] = sum;
        }
}

/* The number of rows of slave `slave` of `slaves`, and the first of them. */
static long slice(long size, int slave, int slaves, long *first)
{
    *first = size * slave / slaves;
    return size * (slave + 1) / slaves - *first;
}

static void slave(const struct app *app, const double *b)
{
    long first, rows = slice(app->size, app->rank - 1, app->ranks - 1, &first);
    int count = (int)(rows * app->size);
    double *a = app_memory((size_t)count, sizeof *a), *c = app_memory((size_t)count, sizeof *c);
    for (long i = 0; i < app->iterations; i++) {
        MPI_Recv(a, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        multiply(a, b, c, rows, app->size);
        MPI_Send(c, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    free(a);
    free(c);
}

/* One iteration of the master: sends slices, receives products. */
static void distribute(const struct app *app, const double *a, double *c, MPI_Request *requests)
{
    int slaves = app->ranks - 1, made = 0;
    for (int to = 0; to < slaves; to++) {
        long first, rows = slice(app->size, to, slaves, &first);
        MPI_Irecv(c + first * app->size, (int)(rows * app->size), MPI_DOUBLE, to + 1, 0, MPI_COMM_WORLD,
                  &requests[made++]);
        MPI_Isend(a + first * app->size, (int)(rows * app->size), MPI_DOUBLE, to + 1, 0, MPI_COMM_WORLD,
                  &requests[made++]);
    }
    MPI_Waitall(made, requests, MPI_STATUSES_IGNORE);
}

static void fill(const struct app *app, double *a, long iteration)
{
    for (long row = 0; row < app->size; row++)
        for (long column = 0; column < app->size; column++)
            a[row * app->size + column] = element(app, iteration, row, column);
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "m3", 192, 6);
    app_require(&app, app.size >= app.ranks, "the size must be at least the number of ranks");
    size_t cells = (size_t)(app.size * app.size);
    size_t kept = app.rank ? 1 : cells;
    double *b = app_memory(cells, sizeof *b), alone = 0, off = 0;
    double *a = app_memory(kept, sizeof *a), *expected = app_memory(kept, sizeof *expected);
    double *products = app_memory(kept * (size_t)app.iterations, sizeof *products);
    MPI_Request *requests = app_memory((size_t)app.ranks * 2, sizeof *requests);
    if (app.rank == 0)
        fill(&app, b, app.iterations);
    MPI_Bcast(b, (int)cells, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double start = app_begin();
    if (app.rank > 0)
        slave(&app, b);
    for (long i = 0; app.rank == 0 && i < app.iterations; i++) {
        double *c = products + (size_t)i * cells;
        fill(&app, a, i);
        if (app.ranks == 1)
            multiply(a, b, c, app.size, app.size);
        else
            distribute(&app, a, c, requests);
    }
    double time = app_elapsed(start);
    for (long i = 0; app.rank == 0 && i < app.iterations; i++) {
        start = MPI_Wtime();
        fill(&app, a, i);
        multiply(a, b, expected, app.size, app.size);
        alone += MPI_Wtime() - start;
        off = fmax(off, app_difference(products + (size_t)i * cells, expected, (long)cells));
    }
    if (app.rank == 0) {
        app_check(&app, "products", off, 0);
        app_value(&app, "time_s", time);
        app_value(&app, "sequential_s", alone);
        app_value(&app, "speedup", alone / time);
        app_value(&app, "message_bytes", (double)cells * sizeof *a / (app.ranks > 1 ? app.ranks - 1 : 1));
        app_value(&app, "messages_per_iteration", 2.0 * (app.ranks - 1));
    }
    free(a);
    free(b);
    free(products);
    free(expected);
    free(requests);
    return app_finish(&app);
}
