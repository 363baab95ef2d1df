/* Conjugate gradients for a 2-D Laplacian, in three forms. 1 waits for every message: for the rows
 * of its neighbours, then for each sum. 2 multiplies its inner rows while the neighbours' rows are
 * in transit. 3 is the pipelined method of Ghysels and Vanroose (2014): one sum per iteration,
 * which overlaps with the product of the matrix. */
#include "app.h"

/* A rank's rows of a grid vector, between one row of each neighbour. */
struct rows {
    long count, size;
};

static double *vector_new(const struct rows *r)
{
    return app_memory((size_t)((r->count + 2) * r->size), sizeof(double));
}

/* Rows `from` to `to` of y = A x: 4 on the diagonal, -1 for each neighbour in the grid. */
static void multiply(const struct rows *r, const double *x, double *y, long from, long to)
{
    long size = r->size;
    for (long row = from; row <= to; row++)
        for (long j = 0; j < size; j++) {
            long at = row * size + j;
            double left = j > 0 ? x[at - 1] : 0, right = j < size - 1 ? x[at + 1] : 0;
            y[at] = 4 * x[at] - left - right - x[at - size] - x[at + size];
        }
}

static void start_exchange(const struct app *app, const struct rows *r, double *x, MPI_Request *requests)
{
    int above = app_neighbour(app, -1), below = app_neighbour(app, 1), count = (int)r->size;
    MPI_Irecv(x, count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(x + (r->count + 1) * r->size, count, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(x + r->size, count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(x + r->count * r->size, count, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
}

/* y = A x over all ranks; inner rows first when `overlap` is set. */
static void product(const struct app *app, const struct rows *r, double *x, double *y, int overlap)
{
    MPI_Request requests[4];
    start_exchange(app, r, x, requests);
    if (overlap && r->count > 2)
        multiply(r, x, y, 2, r->count - 1);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (overlap && r->count > 2) {
        multiply(r, x, y, 1, 1);
        multiply(r, x, y, r->count, r->count);
    } else
        multiply(r, x, y, 1, r->count);
}

static double dot(const struct rows *r, const double *a, const double *b)
{
    double sum = 0;
    for (long i = r->size; i < (r->count + 1) * r->size; i++)
        sum += a[i] * b[i];
    return sum;
}

static double total(double mine)
{
    double sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* a += factor * b */
static void add(const struct rows *r, double *a, double factor, const double *b)
{
    for (long i = r->size; i < (r->count + 1) * r->size; i++)
        a[i] += factor * b[i];
}

/* a = b + factor * a */
static void scale_and_add(const struct rows *r, double *a, double factor, const double *b)
{
    for (long i = r->size; i < (r->count + 1) * r->size; i++)
        a[i] = b[i] + factor * a[i];
}

/* Forms 1 and 2. Initially `x` is 0 and `residual` the right-hand side. */
static void classic(const struct app *app, const struct rows *r, double *x, double *residual, int overlap)
{
    double *direction = vector_new(r), *image = vector_new(r);
    double square = total(dot(r, residual, residual));
    scale_and_add(r, direction, 0, residual);
    for (long i = 0; i < app->iterations; i++) {
        product(app, r, direction, image, overlap);
        double along = total(dot(r, direction, image)), step = along > 0 ? square / along : 0;
        add(r, x, step, direction);
        add(r, residual, -step, image);
        double next = total(dot(r, residual, residual));
        scale_and_add(r, direction, square > 0 ? next / square : 0, residual);
        square = next;
    }
    free(direction);
    free(image);
}

/* Form 3, with the names of the paper: p, s, z are the direction and its images, w is A r, q is
 * A w. */
static void pipelined(const struct app *app, const struct rows *r, double *x, double *residual)
{
    double *w = vector_new(r), *q = vector_new(r), *z = vector_new(r), *s = vector_new(r);
    double *p = vector_new(r), gamma_before = 0, alpha = 0;
    product(app, r, residual, w, 1);
    for (long i = 0; i < app->iterations; i++) {
        double mine[2] = {dot(r, residual, residual), dot(r, w, residual)}, sums[2];
        MPI_Request request;
        MPI_Iallreduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        product(app, r, w, q, 1);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        double gamma = sums[0], delta = sums[1], beta = i && gamma_before > 0 ? gamma / gamma_before : 0;
        double below = i && alpha != 0 ? delta - beta * gamma / alpha : delta;
        alpha = below != 0 ? gamma / below : 0;
        scale_and_add(r, z, beta, q);
        scale_and_add(r, s, beta, w);
        scale_and_add(r, p, beta, residual);
        add(r, x, alpha, p);
        add(r, residual, -alpha, s);
        add(r, w, -alpha, z);
        gamma_before = gamma;
    }
    free(w);
    free(q);
    free(z);
    free(s);
    free(p);
}

static void right_side(const struct app *app, const struct rows *r, long first, double *b)
{
    for (long i = 0; i < r->count * r->size; i++)
        b[r->size + i] = app_random(app->seed, (uint64_t)(first * r->size + i)) - 0.5;
}

/* The time of one form, and its solution at rank 0. */
static double run(const struct app *app, int form, double *all)
{
    long first;
    struct rows r = {app_share(app, app->size, app->rank, &first), app->size};
    double *x = vector_new(&r), *residual = vector_new(&r);
    right_side(app, &r, first, residual);
    double start = app_begin();
    if (form == 3)
        pipelined(app, &r, x, residual);
    else
        classic(app, &r, x, residual, form == 2);
    double time = app_elapsed(start);
    app_gather(app, x + r.size, app->size, app->size, all);
    free(x);
    free(residual);
    return time;
}

/* The sequential program: the same iteration on the whole grid. */
static double sequential(const struct app *app, double *x)
{
    struct rows r = {app->size, app->size};
    double *residual = vector_new(&r), *direction = vector_new(&r), *image = vector_new(&r);
    right_side(app, &r, 0, residual);
    scale_and_add(&r, direction, 0, residual);
    double start = MPI_Wtime(), square = dot(&r, residual, residual);
    for (long i = 0; i < app->iterations; i++) {
        multiply(&r, direction, image, 1, r.count);
        double along = dot(&r, direction, image), step = along > 0 ? square / along : 0;
        add(&r, x, step, direction);
        add(&r, residual, -step, image);
        double next = dot(&r, residual, residual);
        scale_and_add(&r, direction, square > 0 ? next / square : 0, residual);
        square = next;
    }
    double time = MPI_Wtime() - start;
    free(residual);
    free(direction);
    free(image);
    return time;
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "cg", 128, 40);
    app_require(&app, app.size >= app.ranks, "the size must be at least the number of ranks");
    size_t cells = (size_t)(app.size * app.size);
    double *expected = NULL, *all = NULL, alone = 0, largest = 0, times[FORMS + 1] = {0};
    if (app.rank == 0) {
        struct rows whole = {app.size, app.size};
        expected = vector_new(&whole);
        alone = sequential(&app, expected);
        all = app_memory(cells, sizeof(double));
        for (size_t i = 0; i < cells; i++)
            largest = fmax(largest, fabs(expected[(size_t)app.size + i]));
    }
    for (int form = 1; form <= FORMS; form++) {
        if (app.form != ALL_FORMS && app.form != form)
            continue;
        times[form] = run(&app, form, all);
        if (app.rank != 0)
            continue;
        char key[32];
        snprintf(key, sizeof key, "form%d", form);
        /* The order of additions differs, and form 3 rounds differently, so the last bits may
         * differ. */
        app_check(&app, key, app_difference(all, expected + app.size, (long)cells), 1e-7 * largest);
        app_form(&app, form, times[form], alone, times[1]);
    }
    if (app.rank == 0) {
        app_value(&app, "sequential_s", alone);
        app_value(&app, "message_bytes", (double)app.size * sizeof(double));
        app_value(&app, "messages_per_iteration", 2.0 * (app.ranks - 1));
    }
    free(all);
    free(expected);
    return app_finish(&app);
}
