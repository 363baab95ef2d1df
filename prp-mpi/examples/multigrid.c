/* A flow in time by implicit steps, each solved by multigrid, several steps at once: the pattern
 * of figure 18 of "The hyperbolic model". A plane is one step in time. Ranks of one plane send
 * edges of their strips to each other in every sweep (IL and IR); a rank sends its strip to the
 * next plane after every cycle (G), with the time at which it was sent. Form 1 has one rank a
 * plane, form 2 two, form 3 all ranks in one plane. Form 1 also runs with all planes sending at the
 * same time, as for figure 19. */
#include "app.h"

enum { MOST_LEVELS = 16, SWEEPS = 2, COARSEST_SWEEPS = 30 };

/* Damping of the Jacobi sweeps; time step over the square of the finest mesh width; frequency of
 * the lid. */
static const double DAMPING = 0.8, STEP = 16, FREQUENCY = 0.7;

struct level {
    long rows, size, width;
    double coupling;
    double *u, *right, *scratch;
};

/* The ranks of one plane, and the grids of this rank's strip. */
struct plane {
    MPI_Comm comm;
    int strip, strips;
    int levels;
    struct level level[MOST_LEVELS];
    /* Messages from the previous plane that count, and their time in seconds. */
    double messages, taken;
};

static void plane_grids(struct plane *p, long size)
{
    double coupling = STEP;
    long rows = size / p->strips;
    for (p->levels = 0; p->levels < MOST_LEVELS; p->levels++) {
        struct level *l = &p->level[p->levels];
        *l = (struct level){.rows = rows, .size = size, .width = size + 2, .coupling = coupling};
        /* One more element, for the time at which a plane is sent. */
        size_t cells = (size_t)((rows + 2) * l->width + 1);
        l->u = app_memory(cells, sizeof(double));
        l->right = app_memory(cells, sizeof(double));
        l->scratch = app_memory(cells, sizeof(double));
        if (rows % 2 || size <= 2) {
            p->levels++;
            break;
        }
        rows /= 2;
        size /= 2;
        coupling /= 4;
    }
}

static void plane_free(struct plane *p)
{
    for (int i = 0; i < p->levels; i++)
        free(p->level[i].u), free(p->level[i].right), free(p->level[i].scratch);
}

/* Fills the cells around the strip: those of other strips, and at the wall the negative, so that
 * the value at the wall is 0. */
static void edges(const struct plane *p, const struct level *l, double *u)
{
    long width = l->width, rows = l->rows;
    for (long i = 1; i <= rows; i++) {
        u[i * width] = -u[i * width + 1];
        u[i * width + width - 1] = -u[i * width + width - 2];
    }
    int above = p->strip > 0 ? p->strip - 1 : MPI_PROC_NULL;
    int below = p->strip < p->strips - 1 ? p->strip + 1 : MPI_PROC_NULL;
    if (p->strips > 1) {
        MPI_Sendrecv(u + width, (int)width, MPI_DOUBLE, above, 0, u + (rows + 1) * width, (int)width,
                     MPI_DOUBLE, below, 0, p->comm, MPI_STATUS_IGNORE);
        MPI_Sendrecv(u + rows * width, (int)width, MPI_DOUBLE, below, 1, u, (int)width, MPI_DOUBLE, above,
                     1, p->comm, MPI_STATUS_IGNORE);
    }
    for (long j = 0; j < width; j++) {
        if (p->strip == 0)
            u[j] = -u[width + j];
        if (p->strip == p->strips - 1)
            u[(rows + 1) * width + j] = -u[rows * width + j];
    }
}

/* The residual: right - (1 + coupling A) u at one cell. */
static double residual(const struct level *l, long at)
{
    const double *u = l->u;
    double around = u[at - 1] + u[at + 1] + u[at - l->width] + u[at + l->width];
    return l->right[at] - u[at] - l->coupling * (4 * u[at] - around);
}

static void sweep(const struct plane *p, struct level *l)
{
    double factor = DAMPING / (1 + 4 * l->coupling);
    edges(p, l, l->u);
    for (long i = 1; i <= l->rows; i++)
        for (long j = 1; j <= l->size; j++)
            l->scratch[i * l->width + j] = l->u[i * l->width + j] + factor * residual(l, i * l->width + j);
    double *u = l->u;
    l->u = l->scratch;
    l->scratch = u;
}

/* The mean of the residuals of four cells is the right-hand side of the coarser cell. */
static void restrict_to(const struct plane *p, struct level *l, struct level *coarse)
{
    edges(p, l, l->u);
    for (long i = 1; i <= coarse->rows; i++)
        for (long j = 1; j <= coarse->size; j++) {
            long at = (2 * i - 1) * l->width + 2 * j - 1;
            coarse->right[i * coarse->width + j] = (residual(l, at) + residual(l, at + 1) +
                                                    residual(l, at + l->width) +
                                                    residual(l, at + l->width + 1)) / 4;
            coarse->u[i * coarse->width + j] = 0;
        }
}

/* Adds the coarse correction, bilinear between the centres of the coarse cells. */
static void prolong(const struct plane *p, struct level *l, struct level *coarse)
{
    const double *c = coarse->u;
    edges(p, coarse, coarse->u);
    for (long i = 1; i <= l->rows; i++)
        for (long j = 1; j <= l->size; j++) {
            long row = (i + 1) / 2, column = (j + 1) / 2;
            long other_row = i % 2 ? row - 1 : row + 1, other_column = j % 2 ? column - 1 : column + 1;
            l->u[i * l->width + j] += (9 * c[row * coarse->width + column] +
                                       3 * c[other_row * coarse->width + column] +
                                       3 * c[row * coarse->width + other_column] +
                                       c[other_row * coarse->width + other_column]) / 16;
        }
}

static void cycle(struct plane *p, int at)
{
    struct level *l = &p->level[at];
    int coarsest = at == p->levels - 1;
    for (int i = 0; i < (coarsest ? COARSEST_SWEEPS : SWEEPS); i++)
        sweep(p, l);
    if (coarsest)
        return;
    restrict_to(p, l, l + 1);
    cycle(p, at + 1);
    prolong(p, l, l + 1);
    for (int i = 0; i < SWEEPS; i++)
        sweep(p, l);
}

/* The force of step `step` on a cell: a field that the lid moves back and forth. */
static double force(const struct app *app, long step, long row, long column)
{
    double field = app_random(app->seed, (uint64_t)(row * app->size + column)) - 0.5;
    return sin(FREQUENCY * (double)(step + 1)) * field;
}

/* The right-hand side of a step: the previous step and the force. */
static void set_right(const struct app *app, struct plane *p, const double *before, long step)
{
    struct level *l = &p->level[0];
    for (long i = 1; i <= l->rows; i++)
        for (long j = 1; j <= l->size; j++)
            l->right[i * l->width + j] =
                before[i * l->width + j] + force(app, step, p->strip * l->rows + i - 1, j - 1);
}

/* Receives the previous plane after the same number of cycles; returns the time since it was sent.
 * A message counts if this rank has waited for it during most of that time; otherwise its arrival
 * was noticed too late. */
static double receive_plane(struct plane *p, double *start, int count, int before, int is_together)
{
    double posted = app_machine_time();
    MPI_Recv(start, count + 1, MPI_DOUBLE, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double now = app_machine_time(), taken = now - start[count];
    if (!is_together && now - posted > taken / 2)
        p->taken += taken, p->messages++;
    return taken;
}

/* Computes all steps by planes of `strips` ranks each, and gathers the strips of the last step at
 * rank 0. If `is_together` is set, all planes send at the same time, otherwise each as soon as it
 * can. */
static double run(const struct app *app, int strips, int is_together, double *all, double *plane_us)
{
    int planes = app->ranks / strips, mine = app->rank / strips, last = planes - 1;
    struct plane p = {.strip = app->rank % strips, .strips = strips};
    MPI_Comm_split(MPI_COMM_WORLD, mine, app->rank, &p.comm);
    plane_grids(&p, app->size);
    struct level *l = &p.level[0];
    int count = (int)((l->rows + 2) * l->width), next = app->rank + strips, before = app->rank - strips;
    double *start = app_memory((size_t)count + 1, sizeof *start), begin = app_begin();
    /* A synchronous send, as in the paper: no rank is several messages ahead of the next plane. */
    MPI_Request sending = MPI_REQUEST_NULL;
    for (long first = 0; first < app->ranks; first += planes) {
        memset(l->u, 0, (size_t)count * sizeof *l->u);
        /* Each plane is one cycle behind the previous one. */
        for (long turn = 0; turn < app->iterations + last; turn++) {
            int is_mine = turn >= mine && turn < app->iterations + mine;
            double taken = 0;
            if (is_mine) {
                if (mine > 0)
                    taken = receive_plane(&p, start, count, before, is_together);
                MPI_Wait(&sending, MPI_STATUS_IGNORE);
                set_right(app, &p, start, first + mine);
                cycle(&p, 0);
            }
            /* All ranks synchronize and compute the longest time of a message, which counts for all
             * planes. */
            double longest = is_together ? app_largest(taken) : 0;
            if (is_together && turn >= last && turn <= app->iterations)
                p.taken += longest, p.messages++;
            if (is_mine && mine < last) {
                l->u[count] = app_machine_time();
                MPI_Issend(l->u, count + 1, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &sending);
            }
        }
        MPI_Wait(&sending, MPI_STATUS_IGNORE);
        /* The first plane continues from the last one. */
        if (planes == 1)
            memcpy(start, l->u, (size_t)count * sizeof *start);
        else if (mine == last)
            MPI_Send(l->u, count, MPI_DOUBLE, p.strip, 3, MPI_COMM_WORLD);
        else if (mine == 0)
            MPI_Recv(start, count, MPI_DOUBLE, last * strips + p.strip, 3, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    double time = app_elapsed(begin), messages = app_mean(app, p.messages);
    *plane_us = messages > 0 ? 1e6 * app_mean(app, p.taken) / messages : 0;
    if (mine == 0)
        MPI_Gather(start + l->width, (int)(l->rows * l->width), MPI_DOUBLE, all,
                   (int)(l->rows * l->width), MPI_DOUBLE, 0, p.comm);
    free(start);
    plane_free(&p);
    MPI_Comm_free(&p.comm);
    return time;
}

/* The sequential program: one step after another on the whole grid. */
static double sequential(const struct app *app, double *result)
{
    struct plane p = {.comm = MPI_COMM_SELF, .strips = 1};
    plane_grids(&p, app->size);
    struct level *l = &p.level[0];
    size_t bytes = (size_t)((l->rows + 2) * l->width) * sizeof(double);
    double *before = app_memory(bytes, 1), start = MPI_Wtime();
    for (long step = 0; step < app->ranks; step++) {
        set_right(app, &p, before, step);
        memset(l->u, 0, bytes);
        for (long i = 0; i < app->iterations; i++)
            cycle(&p, 0);
        memcpy(before, l->u, bytes);
    }
    double time = MPI_Wtime() - start;
    memcpy(result, before + l->width, (size_t)(l->rows * l->width) * sizeof *result);
    free(before);
    plane_free(&p);
    return time;
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "multigrid", 64, 24);
    app_require(&app, app.size % (2 * app.ranks) == 0, "the size must be a multiple of twice the ranks");
    size_t cells = (size_t)(app.size * (app.size + 2));
    double *expected = app_memory(app.rank ? 1 : cells, sizeof(double)), alone = 0;
    double *all = app_memory(app.rank ? 1 : cells, sizeof(double));
    if (app.rank == 0)
        alone = sequential(&app, expected);
    for (int form = 1; form <= FORMS; form++) {
        int strips = form == 3 ? app.ranks : form;
        if ((app.form != ALL_FORMS && app.form != form) || app.ranks % strips)
            continue;
        for (int is_together = 0; is_together <= (form == 1); is_together++) {
            double plane_us, time = run(&app, strips, is_together, all, &plane_us);
            if (app.rank != 0)
                continue;
            char name[32], key[48];
            double off = 0;
            for (long row = 0; row < app.size; row++)
                off = fmax(off, app_difference(all + row * (app.size + 2) + 1,
                                               expected + row * (app.size + 2) + 1, app.size));
            snprintf(name, sizeof name, "form%d%s", form, is_together ? ".together" : "");
            app_check(&app, name, off, 1e-8);
            if (!is_together)
                app_form(&app, form, time, alone, 0);
            snprintf(key, sizeof key, "plane_us.%s", name);
            if (plane_us > 0)
                app_value(&app, key, plane_us);
            snprintf(key, sizeof key, "plane_bytes.%s", name);
            app_value(&app, key, ((app.size / strips + 2.0) * (app.size + 2.0) + 1) * sizeof(double));
        }
    }
    if (app.rank == 0) {
        app_value(&app, "sequential_s", alone);
        app_value(&app, "edge_bytes", (double)(app.size + 2) * sizeof(double));
    }
    free(expected);
    free(all);
    return app_finish(&app);
}
