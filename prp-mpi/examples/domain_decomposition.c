/* Poisson's equation on a square, divided into boxes: the pattern of figure 15 of "The hyperbolic
 * model". In an iteration of preconditioned conjugate gradients a rank sends an edge to each of its
 * four neighbours (message A), adds single numbers with all others (B), and takes part in a coarse
 * problem of one unknown a box, which rank 0 solves (C). In form 2 all ranks synchronize before
 * each exchange of edges, so that its time does not include the time of waiting. */
#include "app.h"

struct box {
    int dims[2], at[2];
    long rows, columns, width;
    int north, south, west, east;
    MPI_Datatype column;
    MPI_Comm grid;
    /* Whether all ranks synchronize before each exchange; seconds in exchanges, and in all
     * messages. */
    int meets;
    double edges, messages;
};

static struct box box_new(const struct app *app)
{
    struct box box = {0};
    int periods[2] = {0, 0};
    MPI_Dims_create(app->ranks, 2, box.dims);
    app_require(app, app->size % box.dims[0] == 0 && app->size % box.dims[1] == 0,
                "the size must be a multiple of the ranks along each side");
    MPI_Cart_create(MPI_COMM_WORLD, 2, box.dims, periods, 0, &box.grid);
    MPI_Cart_coords(box.grid, app->rank, 2, box.at);
    MPI_Cart_shift(box.grid, 0, 1, &box.north, &box.south);
    MPI_Cart_shift(box.grid, 1, 1, &box.west, &box.east);
    box.rows = app->size / box.dims[0];
    box.columns = app->size / box.dims[1];
    box.width = box.columns + 2;
    MPI_Type_vector((int)box.rows, 1, (int)box.width, MPI_DOUBLE, &box.column);
    MPI_Type_commit(&box.column);
    return box;
}

/* A vector over the box, between an edge of each neighbour. */
static double *vector_new(const struct box *box)
{
    return app_memory((size_t)((box->rows + 2) * box->width), sizeof(double));
}

/* Message A: an edge to each neighbour, and theirs. */
static void exchange(struct box *box, double *x)
{
    if (box->meets)
        MPI_Barrier(box->grid);
    double start = MPI_Wtime();
    long width = box->width, rows = box->rows, columns = box->columns;
    double *first = x + width + 1;
    MPI_Request requests[8];
    MPI_Irecv(x + 1, (int)columns, MPI_DOUBLE, box->north, 0, box->grid, &requests[0]);
    MPI_Irecv(x + (rows + 1) * width + 1, (int)columns, MPI_DOUBLE, box->south, 1, box->grid, &requests[1]);
    MPI_Irecv(x + width, 1, box->column, box->west, 2, box->grid, &requests[2]);
    MPI_Irecv(x + width + columns + 1, 1, box->column, box->east, 3, box->grid, &requests[3]);
    MPI_Isend(first, (int)columns, MPI_DOUBLE, box->north, 1, box->grid, &requests[4]);
    MPI_Isend(x + rows * width + 1, (int)columns, MPI_DOUBLE, box->south, 0, box->grid, &requests[5]);
    MPI_Isend(first, 1, box->column, box->west, 3, box->grid, &requests[6]);
    MPI_Isend(x + width + columns, 1, box->column, box->east, 2, box->grid, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    box->edges += MPI_Wtime() - start;
    box->messages += MPI_Wtime() - start;
}

static void multiply(struct box *box, double *x, double *y)
{
    exchange(box, x);
    for (long i = 1; i <= box->rows; i++)
        for (long j = 1; j <= box->columns; j++) {
            long at = i * box->width + j;
            y[at] = 4 * x[at] - x[at - 1] - x[at + 1] - x[at - box->width] - x[at + box->width];
        }
}

static double sum_of(const struct box *box, const double *a, const double *b)
{
    double sum = 0;
    for (long i = 1; i <= box->rows; i++)
        for (long j = 1; j <= box->columns; j++)
            sum += a[i * box->width + j] * (b ? b[i * box->width + j] : 1);
    return sum;
}

/* Message B: the sum of a number of every rank. */
static double total(struct box *box, double mine)
{
    double sum, start = MPI_Wtime();
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, box->grid);
    box->messages += MPI_Wtime() - start;
    return sum;
}

/* Rank 0: one unknown a box, by Gauss-Seidel sweeps forwards and backwards, which are symmetric. */
static void solve_coarse(const struct box *box, const double *right, double *values)
{
    int high = box->dims[0], wide = box->dims[1], boxes = high * wide;
    memset(values, 0, (size_t)boxes * sizeof *values);
    for (int sweep = 0; sweep < 16; sweep++)
        for (int k = 0; k < boxes; k++) {
            int at = sweep % 2 ? boxes - 1 - k : k, i = at / wide, j = at % wide;
            double around = (i ? values[at - wide] : 0) + (i < high - 1 ? values[at + wide] : 0) +
                            (j ? values[at - 1] : 0) + (j < wide - 1 ? values[at + 1] : 0);
            values[at] = (right[at] + around) / 4;
        }
}

/* z = a preconditioned r: the diagonal, and message C, the coarse solution of this box. */
static void precondition(const struct app *app, struct box *box, const double *r, double *z,
                         double *boxes)
{
    double mine = sum_of(box, r, NULL) / (double)box->rows, correction;
    double *values = boxes + app->ranks, start = MPI_Wtime();
    MPI_Gather(&mine, 1, MPI_DOUBLE, boxes, 1, MPI_DOUBLE, 0, box->grid);
    if (app->rank == 0)
        solve_coarse(box, boxes, values);
    MPI_Scatter(values, 1, MPI_DOUBLE, &correction, 1, MPI_DOUBLE, 0, box->grid);
    box->messages += MPI_Wtime() - start;
    for (long i = 1; i <= box->rows; i++)
        for (long j = 1; j <= box->columns; j++)
            z[i * box->width + j] = r[i * box->width + j] / 4 + correction / (double)box->rows;
}

static void add(const struct box *box, double *a, double own, double factor, const double *b)
{
    for (long i = 1; i <= box->rows; i++)
        for (long j = 1; j <= box->columns; j++) {
            long at = i * box->width + j;
            a[at] = own * a[at] + factor * b[at];
        }
}

/* Iterates until the residual has fallen by 1e-10, or `iterations` times; returns the number of
 * iterations. */
static long solve(const struct app *app, struct box *box, double *x, double *r)
{
    double *z = vector_new(box), *p = vector_new(box), *q = vector_new(box);
    double *boxes = app_memory((size_t)app->ranks * 2, sizeof *boxes);
    double begin = total(box, sum_of(box, r, r)), now = begin;
    precondition(app, box, r, z, boxes);
    add(box, p, 0, 1, z);
    double rho = total(box, sum_of(box, r, z));
    long i = 0;
    for (; i < app->iterations && now > 1e-20 * begin; i++) {
        multiply(box, p, q);
        double step = rho / total(box, sum_of(box, p, q));
        add(box, x, 1, step, p);
        add(box, r, 1, -step, q);
        now = total(box, sum_of(box, r, r));
        precondition(app, box, r, z, boxes);
        double next = total(box, sum_of(box, r, z));
        add(box, p, next / rho, 1, z);
        rho = next;
    }
    free(z);
    free(p);
    free(q);
    free(boxes);
    return i;
}

/* The known solution, from which the right-hand side is computed, so that rank 0 can check the
 * result. */
static double solution(const struct app *app, long row, long column)
{
    if (row < 0 || column < 0 || row >= app->size || column >= app->size)
        return 0;
    return app_random(app->seed, (uint64_t)(row * app->size + column));
}

/* The right-hand side of that solution, at each point of the box. */
static void set_right(const struct app *app, const struct box *box, double *r)
{
    long top = box->at[0] * box->rows, left = box->at[1] * box->columns;
    for (long i = 1; i <= box->rows; i++)
        for (long j = 1; j <= box->columns; j++) {
            long row = top + i - 1, column = left + j - 1;
            r[i * box->width + j] = 4 * solution(app, row, column) - solution(app, row - 1, column) -
                                    solution(app, row + 1, column) - solution(app, row, column - 1) -
                                    solution(app, row, column + 1);
        }
}

/* How far the result is from the solution, on all ranks. */
static double distance(const struct app *app, const struct box *box, const double *x)
{
    long top = box->at[0] * box->rows, left = box->at[1] * box->columns;
    double off = 0, largest;
    for (long i = 1; i <= box->rows; i++)
        for (long j = 1; j <= box->columns; j++) {
            double difference = fabs(x[i * box->width + j] - solution(app, top + i - 1, left + j - 1));
            if (!(difference <= off))
                off = difference;
        }
    MPI_Allreduce(&off, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

/* Solves, checks and reports one form. */
static void run(struct app *app, int form)
{
    struct box box = box_new(app);
    double *x = vector_new(&box), *r = vector_new(&box);
    box.meets = form == 2;
    set_right(app, &box, r);
    double start = app_begin();
    long iterations = solve(app, &box, x, r);
    double time = app_elapsed(start), off = distance(app, &box, x);
    double each = 1e6 / (double)(iterations ? iterations : 1);
    double edges = app_mean(app, box.edges * each), messages = app_mean(app, box.messages * each);
    if (app->rank == 0) {
        char key[32];
        snprintf(key, sizeof key, "solution.form%d", form);
        app_check(app, key, off, 1e-6);
        snprintf(key, sizeof key, "time_s.form%d", form);
        app_value(app, key, time);
        snprintf(key, sizeof key, "edges_us.form%d", form);
        app_value(app, key, edges);
        snprintf(key, sizeof key, "messages_us.form%d", form);
        app_value(app, key, messages);
        if (form == 1) {
            app_value(app, "time_s", time);
            app_value(app, "iterations", (double)iterations);
            app_value(app, "time_of_iteration_us", time * each);
            app_value(app, "message_bytes", (double)box.columns * sizeof *x);
            app_value(app, "edges_per_iteration",
                      2.0 * ((box.dims[0] - 1) * box.dims[1] + box.dims[0] * (box.dims[1] - 1)));
            app_value(app, "sums_per_iteration", 3);
        }
    }
    MPI_Type_free(&box.column);
    MPI_Comm_free(&box.grid);
    free(x);
    free(r);
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "domain_decomposition", 96, 500);
    for (int form = 1; form <= 2; form++)
        if (app.form == ALL_FORMS || app.form == form)
            run(&app, form);
    return app_finish(&app);
}
