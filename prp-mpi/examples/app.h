/* Common code of the programs in this folder: options, random numbers that every rank can compute,
 * the division of rows among ranks, the check against the sequential program, and the report. */
#ifndef APP_H
#define APP_H

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The form of a program that has several, which differ in communication. 0 runs all of them,
 * interleaved. */
enum { ALL_FORMS = 0, FORMS = 3 };

#ifdef APP_ROWS
#define APP_ROWS_USAGE "[--rows N] "
#else
#define APP_ROWS_USAGE ""
#endif

struct app {
    const char *name;
    int rank, ranks;
    /* Points along a side, and the number of rows if it may differ (a program that defines
     * APP_ROWS). */
    long size, rows, iterations;
    uint64_t seed;
    int form;
    int report;
    int failed;
};

/* The rank plus `step`; MPI_PROC_NULL beyond the first and the last rank. */
static inline int app_neighbour(const struct app *app, int step)
{
    int other = app->rank + step;
    return other < 0 || other >= app->ranks ? MPI_PROC_NULL : other;
}

static inline void app_usage(const struct app *app, const char *word)
{
    if (app->rank == 0)
        fprintf(stderr,
                "%s: cannot use '%s'; usage: %s [--size N] " APP_ROWS_USAGE "[--iterations N] "
                "[--seed N] [--form 1|2|3] [--report]\n",
                app->name, word, app->name);
    MPI_Finalize();
    exit(2);
}

static inline long app_number(const struct app *app, const char *word, long least)
{
    char *end;
    long value = word ? strtol(word, &end, 10) : 0;
    if (!word || *end || end == word || value < least)
        app_usage(app, word ? word : "a number that is missing");
    return value;
}

/* Starts MPI and reads the options. `size` and `iterations` are the defaults. */
static inline struct app app_start(int argc, char **argv, const char *name, long size, long iterations)
{
    struct app app = {.name = name, .size = size, .iterations = iterations, .seed = 1};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &app.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &app.ranks);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--report"))
            app.report = 1;
        else if (!strcmp(argv[i], "--size"))
            app.size = app_number(&app, argv[++i], 1);
#ifdef APP_ROWS
        else if (!strcmp(argv[i], "--rows"))
            app.rows = app_number(&app, argv[++i], 1);
#endif
        else if (!strcmp(argv[i], "--iterations"))
            app.iterations = app_number(&app, argv[++i], 1);
        else if (!strcmp(argv[i], "--seed"))
            app.seed = (uint64_t)app_number(&app, argv[++i], 0);
        else if (!strcmp(argv[i], "--form")) {
            app.form = (int)app_number(&app, argv[++i], 1);
            if (app.form > FORMS)
                app_usage(&app, argv[i]);
        } else
            app_usage(&app, argv[i]);
    }
    app.rows = app.rows ? app.rows : app.size;
    if (app.rank == 0)
        printf("%s: %d ranks, size %ld, %ld iterations, seed %llu\n", name, app.ranks, app.size,
               app.iterations, (unsigned long long)app.seed);
    return app;
}

/* Ends the program if the size cannot be divided as required. */
static inline void app_require(const struct app *app, int holds, const char *what)
{
    if (holds)
        return;
    if (app->rank == 0)
        fprintf(stderr, "%s: %s\n", app->name, what);
    MPI_Finalize();
    exit(2);
}

/* Number `index` of the random numbers of `seed`, in [0, 1) (splitmix64). */
static inline double app_random(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + (index + 1) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

/* The number of rows of rank `rank`, of `total` rows, and the first of them. */
static inline long app_share(const struct app *app, long total, int rank, long *first)
{
    long each = total / app->ranks, rest = total % app->ranks;
    *first = rank * each + (rank < rest ? rank : rest);
    return each + (rank < rest);
}

/* Zeroed memory of `count` elements that begins at a page; ends the job if there is none. */
static inline void *app_memory(size_t count, size_t each)
{
    size_t bytes = (count * each + 4095) / 4096 * 4096;
    void *memory = aligned_alloc(4096, bytes ? bytes : 4096);
    if (!memory) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memset(memory, 0, bytes ? bytes : 4096);
}

/* The largest of a number of every rank. */
static inline double app_largest(double mine)
{
    double largest;
    MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return largest;
}

/* The time of the slowest rank since `start`, in seconds. */
static inline double app_elapsed(double start)
{
    return app_largest(MPI_Wtime() - start);
}

/* Seconds of the machine's clock, which all its ranks share; MPI_Wtime may differ between ranks. */
static inline double app_machine_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Synchronizes all ranks; returns the time. */
static inline double app_begin(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* The mean of a number of every rank. */
static inline double app_mean(const struct app *app, double mine)
{
    double sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / app->ranks;
}

/* Gathers the rows of all ranks, `width` doubles each, at rank 0. */
static inline void app_gather(const struct app *app, const double *rows, long total, long width,
                              double *all)
{
    int *counts = app_memory((size_t)app->ranks, sizeof *counts);
    int *places = app_memory((size_t)app->ranks, sizeof *places);
    MPI_Datatype row;
    MPI_Type_contiguous((int)width, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    for (int rank = 0; rank < app->ranks; rank++) {
        long first;
        counts[rank] = (int)app_share(app, total, rank, &first);
        places[rank] = (int)first;
    }
    MPI_Gatherv(rows, counts[app->rank], row, all, counts, places, row, 0, MPI_COMM_WORLD);
    MPI_Type_free(&row);
    free(counts);
    free(places);
}

/* The largest difference between two arrays; infinite where one is not a number. */
static inline double app_difference(const double *a, const double *b, long count)
{
    double largest = 0;
    for (long i = 0; i < count; i++) {
        double difference = fabs(a[i] - b[i]);
        if (isnan(difference))
            return INFINITY;
        if (difference > largest)
            largest = difference;
    }
    return largest;
}

/* Reports whether the parallel result is equal to the sequential one; called by rank 0. */
static inline void app_check(struct app *app, const char *what, double difference, double bound)
{
    int good = difference <= bound;
    printf("check %s %s difference %.3g bound %.3g\n", what, good ? "ok" : "WRONG", difference, bound);
    if (!good)
        app->failed = 1;
}

/* One line of the report; called by rank 0. */
static inline void app_value(const struct app *app, const char *key, double value)
{
    if (app->report)
        printf("report %s %.9g\n", key, value);
}

/* The report of one of several forms; `first` is the time of form 1, 0 if that was not run. */
static inline void app_form(const struct app *app, int form, double time, double alone, double first)
{
    char key[32];
    snprintf(key, sizeof key, "time_s.form%d", form);
    app_value(app, key, time);
    snprintf(key, sizeof key, "speedup.form%d", form);
    app_value(app, key, alone / time);
    if (form > 1 && first > 0) {
        snprintf(key, sizeof key, "gain.form%d", form);
        app_value(app, key, first / time);
    }
}

/* Ends MPI; returns the exit status of the program. */
static inline int app_finish(struct app *app)
{
    MPI_Bcast(&app->failed, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return app->failed;
}

#endif
