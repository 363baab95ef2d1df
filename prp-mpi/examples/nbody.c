/* N-Body of "Tolerating message latency through the early release of blocked receives": particles
 * that attract each other. All ranks have the same number of particles. Each moves its own and
 * sends them to all others. */
#include "app.h"

/* Time of a step; added to squared distances, so that no two particles are too close. */
static const double STEP = 1e-3, SOFTENING = 1e-2;

struct particle {
    double x, y, z, mass;
};

struct velocity {
    double x, y, z;
};

static struct particle particle_new(const struct app *app, long index)
{
    uint64_t at = (uint64_t)index * 4;
    return (struct particle){app_random(app->seed, at), app_random(app->seed, at + 1),
                             app_random(app->seed, at + 2), app_random(app->seed, at + 3)};
}

/* Adds the forces of the particles of `others` on one particle. */
static void attract(const struct particle *one, const struct particle *others, long count,
                    struct velocity *force)
{
    for (long i = 0; i < count; i++) {
        double x = others[i].x - one->x, y = others[i].y - one->y, z = others[i].z - one->z;
        double square = x * x + y * y + z * z + SOFTENING;
        double pull = others[i].mass / (square * sqrt(square));
        force->x += pull * x;
        force->y += pull * y;
        force->z += pull * z;
    }
}

/* Moves the particles of block `block`. The forces of its own block are added first and those of
 * the others in the order in which they follow it: a block that comes late is used late. */
static void move(const struct app *app, const struct particle *all, int block, struct velocity *speed,
                 struct particle *moved)
{
    long first, count = app_share(app, app->size, block, &first);
    struct velocity *force = app_memory((size_t)count, sizeof *force);
    for (int i = 0; i < app->ranks; i++) {
        long from, others = app_share(app, app->size, (block + i) % app->ranks, &from);
        for (long j = 0; j < count; j++)
            attract(&all[first + j], all + from, others, &force[j]);
    }
    for (long j = 0; j < count; j++) {
        speed[j].x += STEP * force[j].x;
        speed[j].y += STEP * force[j].y;
        speed[j].z += STEP * force[j].z;
        moved[j] = all[first + j];
        moved[j].x += STEP * speed[j].x;
        moved[j].y += STEP * speed[j].y;
        moved[j].z += STEP * speed[j].z;
    }
    free(force);
}

/* Sends this rank's particles to all others and receives theirs into their places. */
static void exchange(const struct app *app, struct particle *all, MPI_Request *requests)
{
    long first, count = app_share(app, app->size, app->rank, &first);
    int made = 0;
    for (int i = 1; i < app->ranks; i++) {
        int other = (app->rank + i) % app->ranks;
        long from, theirs = app_share(app, app->size, other, &from);
        MPI_Irecv(all + from, (int)theirs * 4, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, &requests[made++]);
    }
    for (int i = 1; i < app->ranks; i++)
        MPI_Isend(all + first, (int)count * 4, MPI_DOUBLE, (app->rank + app->ranks - i) % app->ranks, 0,
                  MPI_COMM_WORLD, &requests[made++]);
    MPI_Waitall(made, requests, MPI_STATUSES_IGNORE);
}

static double sequential(const struct app *app, struct particle *all)
{
    struct velocity *speed = app_memory((size_t)app->size, sizeof *speed);
    struct particle *next = app_memory((size_t)app->size, sizeof *next);
    for (long i = 0; i < app->size; i++)
        all[i] = particle_new(app, i);
    double start = MPI_Wtime();
    for (long step = 0; step < app->iterations; step++) {
        for (int block = 0; block < app->ranks; block++) {
            long first;
            app_share(app, app->size, block, &first);
            move(app, all, block, speed + first, next + first);
        }
        memcpy(all, next, (size_t)app->size * sizeof *all);
    }
    double time = MPI_Wtime() - start;
    free(speed);
    free(next);
    return time;
}

int main(int argc, char **argv)
{
    struct app app = app_start(argc, argv, "nbody", 512, 10);
    app_require(&app, app.size >= app.ranks, "there must be at least as many particles as ranks");
    long first, count = app_share(&app, app.size, app.rank, &first);
    struct particle *all = app_memory((size_t)app.size, sizeof *all);
    struct particle *moved = app_memory((size_t)count, sizeof *moved);
    struct velocity *speed = app_memory((size_t)count, sizeof *speed);
    MPI_Request *requests = app_memory((size_t)app.ranks * 2, sizeof *requests);
    for (long i = 0; i < app.size; i++)
        all[i] = particle_new(&app, i);
    double start = app_begin();
    for (long step = 0; step < app.iterations; step++) {
        move(&app, all, app.rank, speed, moved);
        memcpy(all + first, moved, (size_t)count * sizeof *all);
        exchange(&app, all, requests);
    }
    double time = app_elapsed(start);
    if (app.rank == 0) {
        struct particle *expected = app_memory((size_t)app.size, sizeof *expected);
        double alone = sequential(&app, expected);
        app_check(&app, "particles", app_difference(&all->x, &expected->x, app.size * 4), 0);
        app_value(&app, "time_s", time);
        app_value(&app, "sequential_s", alone);
        app_value(&app, "speedup", alone / time);
        app_value(&app, "message_bytes", (double)count * sizeof *all);
        app_value(&app, "messages_per_iteration", (double)app.ranks * (app.ranks - 1));
        free(expected);
    }
    free(all);
    free(moved);
    free(speed);
    free(requests);
    return app_finish(&app);
}
