/* Communicators that are made with the same tag at the same time, by different ranks: on three
 * ranks. Rank 1 begins with rank 2, which first makes one with rank 0, which waits for rank 1. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { TAG = 5 };

static int rank;

static MPI_Comm by_group(int other) {
    MPI_Group world, pair;
    MPI_Comm made;
    int ranks[2] = {other < 2 ? other : rank, 2};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, ranks, &pair);
    MPI_Comm_create_group(MPI_COMM_WORLD, pair, TAG, &made);
    MPI_Group_free(&pair), MPI_Group_free(&world);
    return made;
}

static MPI_Comm by_leaders(int other) {
    MPI_Comm made, merged;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, other, TAG, &made);
    MPI_Intercomm_merge(made, 0, &merged);
    MPI_Comm_free(&made);
    return merged;
}

static void check(MPI_Comm made, int sum) {
    int x;
    MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, made);
    CHECK(x == sum);
    MPI_Comm_free(&made);
}

/* If `is_done` is set, rank 1 need not wait for rank 2. */
static void in_another_order(MPI_Comm (*make)(int), int is_done) {
    int token = 0;
    MPI_Comm first, second;
    if (rank == 2) {
        first = make(0);
        second = make(1);
        check(first, 2);
        check(second, 3);
    } else if (rank == 1) {
        if (!is_done) MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        first = make(2);
        if (is_done) MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        check(first, 3);
    } else {
        MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* Gives rank 1 time to begin. It may still begin later. */
        for (int i = 0; i < 1000; i++) MPI_Iprobe(2, 0, MPI_COMM_WORLD, &token, MPI_STATUS_IGNORE);
        check(make(2), 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    in_another_order(by_group, 1);
    in_another_order(by_leaders, 0);
    if (rank == 0) puts("all well");
    MPI_Finalize();
    return 0;
}
