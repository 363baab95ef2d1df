/* PES of "Tolerating message latency through the early release of blocked receives": an iterative
 * 2-D Poisson solver. All ranks have the same number of rows. Each updates its rows, sends the
 * first and the last one to its neighbours and receives theirs. Two corners are 1, the other two
 * 0. */
#include "app.h"

struct rows {
    long first, count, size;
    double *now, *next;
};

static int is_corner(long row, long column, long size)
{
    return (row == 0 || row == size - 1) && (column == 0 || column == size - 1);
}

/* `count` rows of the matrix from row `first` on, between two rows of other ranks. */
static struct rows rows_new(long first, long count, long size)
{
    struct rows r = {.first = first, .count = count, .size = size};
    size_t cells = (size_t)((count + 2) * size);
    r.now = app_memory(cells, sizeof(double));
    r.next = app_memory(cells, sizeof(double));
    for (long row = 0; row < count + 2; row++) {
        long global = first + row - 1;
        if (global == 0)
            r.now[row * size] = r.next[row * size] = 1;
        if (global == size - 1)
            r.now[row * size + size - 1] = r.next[row * size + size - 1] = 1;
    }
    return r;
}

static void rows_free(struct rows *r)
{
    free(r->now);
    free(r->next);
}

/* Replaces every element except the corners by the mean of its neighbours inside the matrix. */
static void update(struct rows *r)
{
    long size = r->size;
    for (long row = 1; row <= r->count; row++) {
        long global = r->first + row - 1;
        int above = global > 0, below = global < size - 1;
        const double *u = r->now + row * size;
        double *v = r->next + row * size;
        for (long j = 0; j < size; j++) {
            if ((j == 0 || j == size - 1) && is_corner(global, j, size))
                continue;
            double sum = 0;
            int neighbours = above + below;
            if (above)
                sum += u[j - size];
            if (j > 0) {
                sum += u[j - 1];
                neighbours++;
            }
            if (j < size - 1) {
                sum += u[j + 1];
                neighbours++;
            }
            if (below)
                sum += u[j + size];
            v[j] = sum / neighbours;
        }
    }
    double *now = r->now;
    r->now = r->next;
    r->next = now;
}

static void exchange(const struct app *app, struct rows *r)
{
    MPI_Request requests[4];
    int above = app_neighbour(app, -1), below = app_neighbour(app, 1), count = (int)r->size;
    MPI_Irecv(r->now, count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(r->now + (r->count + 1) * r->size, count, MPI_DOUBLE, below, 0, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(r->now + r->size, count, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(r->now + r->count * r->size, count, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "pes", 512, 50);
    app_require(&app, app.size >= app.ranks && app.size > 1,
                "the size must be at least 2 and the number of ranks");
    long first, count = app_share(&app, app.size, app.rank, &first);
    struct rows mine = rows_new(first, count, app.size);
    double start = app_begin();
    for (long i = 0; i < app.iterations; i++) {
        update(&mine);
        exchange(&app, &mine);
    }
    double time = app_elapsed(start);

    size_t cells = (size_t)(app.size * app.size);
    double *all = app.rank == 0 ? app_memory(cells, sizeof(double)) : NULL;
    app_gather(&app, mine.now + app.size, app.size, app.size, all);
    if (app.rank == 0) {
        struct rows whole = rows_new(0, app.size, app.size);
        start = MPI_Wtime();
        for (long i = 0; i < app.iterations; i++)
            update(&whole);
        double alone = MPI_Wtime() - start;
        app_check(&app, "elements", app_difference(all, whole.now + app.size, (long)cells), 0);
        app_value(&app, "time_s", time);
        app_value(&app, "sequential_s", alone);
        app_value(&app, "speedup", alone / time);
        app_value(&app, "message_bytes", (double)app.size * sizeof(double));
        app_value(&app, "messages_per_iteration", 2.0 * (app.ranks - 1));
        rows_free(&whole);
    }
    free(all);
    rows_free(&mine);
    return app_finish(&app);
}
