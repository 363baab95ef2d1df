/* Ranks that start others: `child` is what they start. */
#include <mpi.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { CHILDREN = 3 };

static int rank, size;
static char *program;

/* The sum of all numbers of both groups, by one group of both. */
static int sum_of_both(MPI_Comm both, int is_child) {
    MPI_Comm merged;
    int own, sum;
    MPI_Intercomm_merge(both, is_child, &merged);
    MPI_Comm_rank(merged, &own);
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, merged);
    MPI_Comm_free(&merged);
    return sum;
}

static void child(int argc, char **argv) {
    MPI_Comm parent, again;
    int remote, *number, flag, all = 0;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Comm_get_parent(&parent);
    MPI_Comm_remote_size(parent, &remote);
    MPI_Comm_get_name(parent, name, &flag);
    CHECK(!strcmp(name, "MPI_COMM_PARENT"));
    CHECK(sum_of_both(parent, 1) == (remote + size) * (remote + size - 1) / 2);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag);
    CHECK(flag);
    int own[3] = {argc, *number, argc > 2 ? (int)strlen(argv[2]) : -1};
    MPI_Gather(own, 3, MPI_INT, NULL, 0, MPI_INT, 0, parent);
    if (argc > 2 && !strcmp(argv[2], "grandchildren")) {
        /* Children start others, too. */
        char *words[] = {"child", NULL};
        int counts[3];
        MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &again, MPI_ERRCODES_IGNORE);
        CHECK(sum_of_both(again, 0) == 1);
        MPI_Gather(NULL, 0, MPI_INT, counts, 3, MPI_INT, MPI_ROOT, again);
        MPI_Comm_disconnect(&again);
    }
    MPI_Comm_disconnect(&parent);
    MPI_Comm_get_parent(&again);
    CHECK(again == MPI_COMM_NULL);
    MPI_Allreduce(&size, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all == size * size);
}

/* What children say of themselves goes to rank 0. */
static void hear(MPI_Comm children, int (*said)[3]) {
    int remote;
    MPI_Comm_remote_size(children, &remote);
    CHECK(sum_of_both(children, 0) == (remote + size) * (remote + size - 1) / 2);
    MPI_Gather(NULL, 0, MPI_INT, said, 3, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, children);
    MPI_Comm_disconnect(&children);
}

static void one_program(char *word) {
    MPI_Comm children;
    int codes[CHILDREN] = {-1, -1, -1}, said[CHILDREN][3];
    char *words[] = {"child", word, NULL};
    int root = size - 1, is_root = rank == root;
    MPI_Comm_spawn(is_root ? program : NULL, is_root ? words : NULL, is_root ? CHILDREN : -1,
                   MPI_INFO_NULL, root, MPI_COMM_WORLD, &children, codes);
    for (int i = 0; i < CHILDREN; i++) CHECK(codes[i] == MPI_SUCCESS);
    hear(children, said);
    for (int i = 0; rank == 0 && i < CHILDREN; i++) {
        CHECK(said[i][0] == 3 && said[i][1] == 0 && said[i][2] == (int)strlen(word));
    }
}

static void several_programs(void) {
    MPI_Comm children;
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    int codes[CHILDREN], said[CHILDREN][3], counts[2] = {1, CHILDREN - 1};
    char *first[] = {"child", NULL}, *second[] = {"child", "of two", NULL};
    char *commands[2] = {program, program}, **words[2] = {first, second};
    MPI_Info_create(&infos[1]);
    MPI_Info_set(infos[1], "wdir", "/");
    MPI_Comm_spawn_multiple(2, commands, words, counts, infos, 0, MPI_COMM_WORLD, &children, codes);
    for (int i = 0; i < CHILDREN; i++) CHECK(codes[i] == MPI_SUCCESS);
    hear(children, said);
    if (rank == 0) {
        CHECK(said[0][0] == 2 && said[0][1] == 0 && said[0][2] == -1);
        for (int i = 1; i < CHILDREN; i++) CHECK(said[i][0] == 3 && said[i][1] == 1 && said[i][2] == 6);
    }
    MPI_Info_free(&infos[1]);
}

/* Nothing is left of what was not started as a whole. */
static void refused(void) {
    MPI_Comm children = MPI_COMM_WORLD;
    MPI_Info info;
    int codes[CHILDREN] = {0, 0, 0}, class, counts[2] = {1, CHILDREN - 1};
    char *child[] = {"child", NULL}, *commands[2] = {program, "/no/such/program"};
    char **words[2] = {child, child};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0,
                              MPI_COMM_WORLD, &children, codes);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_SPAWN && children == MPI_COMM_NULL);
    for (int i = 0; i < CHILDREN; i++) CHECK(codes[i] == MPI_ERR_SPAWN);
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    code = MPI_Comm_spawn_multiple(2, commands, words, counts, infos, 0, MPI_COMM_WORLD, &children, codes);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_SPAWN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "no such node");
    code = MPI_Comm_spawn(program, child, 1, info, 0, MPI_COMM_WORLD, &children, codes);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_SPAWN);
    code = MPI_Comm_spawn(program, child, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_SPAWN);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    program = argv[0];
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "silent")) return 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    CHECK((parent != MPI_COMM_NULL) == !strcmp(what, "child"));
    if (!strcmp(what, "child")) {
        child(argc, argv);
    } else if (!strcmp(what, "forsaken")) {
        /* A program that does not become a rank. */
        char *words[] = {"silent", NULL};
        MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE);
    } else {
        one_program("a word");
        refused();
        several_programs();
        one_program("grandchildren");
        if (rank == 0) puts("all well");
    }
    MPI_Finalize();
    return 0;
}
