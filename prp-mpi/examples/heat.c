/* Heat conduction by an explicit five-point stencil, in the three forms of "Communication latency
 * hiding" (Strumpen 1994, sections 2.1 and 3.2): A.1 computes and then exchanges boundaries,
 * A.2 sends the boundaries before it computes the inside, A.3 starts both transfers first. */
#define APP_ROWS
#include "app.h"

/* r_x and r_y of the paper: the scheme is stable up to 1/4. */
static const double RX = 0.2, RY = 0.2;

struct grid {
    long rows, width;
    double *now, *next;
    /* Seconds of calculation, and of starting transfers. */
    double calculation, starting;
};

static double initial(const struct app *app, long row, long column)
{
    return app_random(app->seed, (uint64_t)(row * app->size + column));
}

/* Rows 1 to `rows` of a grid whose first is row `first` of all, between two rows of boundary. */
static struct grid grid_new(const struct app *app, long first, long rows)
{
    struct grid grid = {.rows = rows, .width = app->size + 2};
    size_t cells = (size_t)((rows + 2) * grid.width);
    grid.now = app_memory(cells, sizeof(double));
    grid.next = app_memory(cells, sizeof(double));
    for (long row = 0; row < rows + 2; row++) {
        long global = first + row - 1;
        if (global < 0 || global >= app->rows)
            continue;
        for (long column = 0; column < app->size; column++)
            grid.now[row * grid.width + column + 1] = initial(app, global, column);
    }
    return grid;
}

static void grid_free(struct grid *grid)
{
    free(grid->now);
    free(grid->next);
}

static void compute(struct grid *grid, long from, long to)
{
    long width = grid->width;
    grid->calculation -= MPI_Wtime();
    for (long row = from; row <= to; row++) {
        const double *u = grid->now + row * width;
        double *v = grid->next + row * width;
        for (long j = 1; j < width - 1; j++)
            v[j] = RX * u[j - width] + RX * u[j + width] + (1 - 2 * RX - 2 * RY) * u[j] +
                   RY * u[j - 1] + RY * u[j + 1];
    }
    grid->calculation += MPI_Wtime();
}

static void swap(struct grid *grid)
{
    double *now = grid->now;
    grid->now = grid->next;
    grid->next = now;
}

/* The inner rows, and then the rows at the edges, which are not sent yet; in A.2 and A.3 the edges
 * come first. */
static void compute_edges(struct grid *grid)
{
    compute(grid, 1, 1);
    if (grid->rows > 1)
        compute(grid, grid->rows, grid->rows);
}

static void send_edges(const struct app *app, struct grid *grid, MPI_Request *requests)
{
    int count = (int)grid->width;
    MPI_Isend(grid->next + grid->width, count, MPI_DOUBLE, app_neighbour(app, -1), 0, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(grid->next + grid->rows * grid->width, count, MPI_DOUBLE, app_neighbour(app, 1), 0,
              MPI_COMM_WORLD, &requests[1]);
}

static void receive_edges(const struct app *app, struct grid *grid)
{
    int count = (int)grid->width;
    MPI_Recv(grid->next, count, MPI_DOUBLE, app_neighbour(app, -1), 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Recv(grid->next + (grid->rows + 1) * grid->width, count, MPI_DOUBLE, app_neighbour(app, 1), 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void start_receiving(const struct app *app, struct grid *grid, MPI_Request *requests)
{
    int count = (int)grid->width;
    MPI_Irecv(grid->next, count, MPI_DOUBLE, app_neighbour(app, -1), 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(grid->next + (grid->rows + 1) * grid->width, count, MPI_DOUBLE, app_neighbour(app, 1), 0,
              MPI_COMM_WORLD, &requests[1]);
}

static void step(const struct app *app, struct grid *grid, int form)
{
    MPI_Request requests[4];
    switch (form) {
    case 1:
        compute(grid, 1, grid->rows);
        send_edges(app, grid, requests);
        receive_edges(app, grid);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    case 2:
        compute_edges(grid);
        send_edges(app, grid, requests);
        compute(grid, 2, grid->rows - 1);
        receive_edges(app, grid);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    default:
        grid->starting -= MPI_Wtime();
        start_receiving(app, grid, requests);
        grid->starting += MPI_Wtime();
        compute_edges(grid);
        grid->starting -= MPI_Wtime();
        send_edges(app, grid, requests + 2);
        grid->starting += MPI_Wtime();
        compute(grid, 2, grid->rows - 1);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    swap(grid);
}

/* The times of one form: of the slowest rank, and the means of all ranks. */
struct times {
    double all, calculation, starting;
};

/* Runs one form. Every rank compares its rows with those of the sequential program. */
static struct times run(const struct app *app, int form, const double *sequential, double *off)
{
    long first, rows = app_share(app, app->rows, app->rank, &first);
    struct grid grid = grid_new(app, first, rows);
    double start = app_begin();
    for (long i = 0; i < app->iterations; i++)
        step(app, &grid, form);
    struct times times = {.all = app_elapsed(start),
                          .calculation = app_mean(app, grid.calculation),
                          .starting = app_mean(app, grid.starting)};
    *off = app_largest(app_difference(grid.now + grid.width, sequential + (first + 1) * grid.width,
                                      rows * grid.width));
    grid_free(&grid);
    return times;
}

/* The sequential program: its time, and all rows with those of the boundary. */
static double *sequential_rows(const struct app *app, double *time)
{
    struct grid grid = grid_new(app, 0, app->rows);
    double start = MPI_Wtime();
    for (long i = 0; i < app->iterations; i++) {
        compute(&grid, 1, app->rows);
        swap(&grid);
    }
    *time = MPI_Wtime() - start;
    free(grid.next);
    return grid.now;
}

/* The values that `prp model gain` needs. */
static void report_model(const struct app *app, const struct times *times)
{
    const struct times *first = &times[1], *last = &times[FORMS];
    if (first->calculation > 0 && first->all > first->calculation)
        app_value(app, "gamma", first->calculation / (first->all - first->calculation));
    if (first->calculation > 0 && last->all > 0)
        app_value(app, "overhead",
                  fmax(0, (last->calculation + last->starting) / first->calculation - 1));
    app_value(app, "message_bytes", (double)(app->size + 2) * sizeof(double));
    app_value(app, "messages_per_iteration", 2.0 * (app->ranks - 1));
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "heat", 256, 50);
    app_require(&app, app.rows >= app.ranks, "there must be at least as many rows as ranks");
    struct times times[FORMS + 1] = {0};
    double *sequential = NULL, alone = 0, unused, off;
    /* Every rank computes the sequential result, since receiving its rows over a slow network would
     * take longer. Rank 0 measures its time while the others wait. */
    if (app.rank == 0)
        sequential = sequential_rows(&app, &alone);
    MPI_Barrier(MPI_COMM_WORLD);
    if (app.rank != 0)
        sequential = sequential_rows(&app, &unused);
    for (int form = 1; form <= FORMS; form++) {
        if (app.form != ALL_FORMS && app.form != form)
            continue;
        times[form] = run(&app, form, sequential, &off);
        if (app.rank != 0)
            continue;
        char key[32];
        snprintf(key, sizeof key, "form%d", form);
        app_check(&app, key, off, 0);
        app_form(&app, form, times[form].all, alone, times[1].all);
        snprintf(key, sizeof key, "calculation_s.form%d", form);
        app_value(&app, key, times[form].calculation);
    }
    if (app.rank == 0) {
        app_value(&app, "sequential_s", alone);
        app_value(&app, "starting_s", times[FORMS].starting);
        report_model(&app, times);
    }
    free(sequential);
    return app_finish(&app);
}
