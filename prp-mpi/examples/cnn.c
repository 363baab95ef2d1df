/* A cellular neural network on an L x L lattice with periodic boundaries: equations 3 and 4 of the
 * PRP paper, linear 3 x 3 templates, a saturating linear activation, 32-bit numbers. */
#include "app.h"

/* Multiplications and additions for one cell: two templates of nine terms each, and the bias. */
static const double FLOPS = 2 * 2 * 9;

/* Templates of an edge detector: A feeds outputs back, B weighs the inputs. */
static const float A[9] = {0.02f, 0.05f, 0.02f, 0.05f, 0.60f, 0.05f, 0.02f, 0.05f, 0.02f};
static const float B[9] = {-0.05f, -0.1f, -0.05f, -0.1f, 0.7f, -0.1f, -0.05f, -0.1f, -0.05f};
static const float BIAS = -0.02f;

/* A rank's rows of a lattice, each with the periodic columns at its ends, between one row of each
 * neighbour. */
struct lattice {
    long rows, width;
    float *input, *output, *next;
};

static float cell(const struct app *app, long row, long column)
{
    long size = app->size;
    row = (row + size) % size;
    column = (column + size) % size;
    return (float)(2 * app_random(app->seed, (uint64_t)(row * size + column)) - 1);
}

static struct lattice lattice_new(const struct app *app, long first, long rows)
{
    struct lattice l = {.rows = rows, .width = app->size + 2};
    size_t cells = (size_t)((rows + 2) * l.width);
    l.input = app_memory(cells, sizeof(float));
    l.output = app_memory(cells, sizeof(float));
    l.next = app_memory(cells, sizeof(float));
    for (long row = 0; row < rows + 2; row++)
        for (long column = 0; column < l.width; column++)
            l.input[row * l.width + column] = l.output[row * l.width + column] =
                cell(app, first + row - 1, column - 1);
    return l;
}

static void lattice_free(struct lattice *l)
{
    free(l->input);
    free(l->output);
    free(l->next);
}

static float template_of(const float *weights, const float *at, long width)
{
    return weights[0] * at[-width - 1] + weights[1] * at[-width] + weights[2] * at[-width + 1] +
           weights[3] * at[-1] + weights[4] * at[0] + weights[5] * at[1] + weights[6] * at[width - 1] +
           weights[7] * at[width] + weights[8] * at[width + 1];
}

static void compute(struct lattice *l)
{
    long width = l->width;
    for (long row = 1; row <= l->rows; row++) {
        float *next = l->next + row * width;
        for (long j = 1; j < width - 1; j++) {
            long at = row * width + j;
            float x = BIAS + template_of(A, l->output + at, width) + template_of(B, l->input + at, width);
            next[j] = x > 1 ? 1 : x < -1 ? -1 : x;
        }
        next[0] = next[width - 2];
        next[width - 1] = next[1];
    }
    float *output = l->output;
    l->output = l->next;
    l->next = output;
}

/* Every rank sends its first row to the rank before it and its last to the one after it. */
static void exchange(const struct app *app, struct lattice *l)
{
    int before = (app->rank + app->ranks - 1) % app->ranks, after = (app->rank + 1) % app->ranks;
    int count = (int)l->width;
    float *first = l->output + l->width, *last = l->output + l->rows * l->width;
    MPI_Request requests[2];
    MPI_Isend(first, count, MPI_FLOAT, before, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(last, count, MPI_FLOAT, after, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(last + l->width, count, MPI_FLOAT, after, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(l->output, count, MPI_FLOAT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* The exchange of a single rank: the lattice is periodic. */
static void wrap(struct lattice *l)
{
    size_t bytes = (size_t)l->width * sizeof(float);
    memcpy(l->output, l->output + l->rows * l->width, bytes);
    memcpy(l->output + (l->rows + 1) * l->width, l->output + l->width, bytes);
}

/* The largest difference of this rank's cells from those of the sequential program. */
static double compare(const struct lattice *mine, const struct lattice *all, long first)
{
    double largest = 0;
    const float *a = mine->output + mine->width, *b = all->output + (first + 1) * all->width;
    for (long i = 0; i < mine->rows * mine->width; i++)
        if (!(fabs((double)a[i] - b[i]) <= largest))
            largest = fabs((double)a[i] - b[i]);
    return largest;
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "cnn", 64, 100);
    app_require(&app, app.size >= app.ranks, "the size must be at least the number of ranks");
    long first, rows = app_share(&app, app.size, app.rank, &first);
    struct lattice mine = lattice_new(&app, first, rows);
    double start = app_begin();
    for (long i = 0; i < app.iterations; i++) {
        compute(&mine);
        exchange(&app, &mine);
    }
    double time = app_elapsed(start);

    /* Every rank runs the sequential program, since the lattice is small, and compares its own
     * rows. */
    struct lattice all = lattice_new(&app, 0, app.size);
    start = MPI_Wtime();
    for (long i = 0; i < app.iterations; i++) {
        compute(&all);
        wrap(&all);
    }
    double alone = MPI_Wtime() - start, mine_off = compare(&mine, &all, first), off;
    MPI_Reduce(&mine_off, &off, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (app.rank == 0) {
        double flops = FLOPS * (double)(app.size * app.size) * (double)app.iterations;
        app_check(&app, "cells", off, 0);
        app_value(&app, "time_s", time);
        app_value(&app, "sequential_s", alone);
        app_value(&app, "speedup", alone / time);
        app_value(&app, "mflops", flops / time / 1e6);
        app_value(&app, "message_bytes", (double)(app.size + 2) * sizeof(float));
        app_value(&app, "messages_per_iteration", 2.0 * app.ranks);
    }
    lattice_free(&mine);
    lattice_free(&all);
    return app_finish(&app);
}
