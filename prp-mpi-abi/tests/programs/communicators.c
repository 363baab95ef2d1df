/* Intercommunicators, neighborhood collectives on grids and graphs, distributed arrays, and
 * duplicates that no rank waits for: on two ranks or more. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank, size;

/* The lower ranks are the first group, which has one rank fewer if the number is odd. A rank
 * contributes ten times its rank in the group, plus 1000 in the second group. */
static int value_of(int high, int place) { return 1000 * high + 10 * place; }

static int sum_of(int high, int count) {
    int sum = 0;
    for (int i = 0; i < count; i++) sum += value_of(high, i);
    return sum;
}

static void rooted(MPI_Comm inter, int high, int own, int mine, int others) {
    int x, y = value_of(high, own), *all = calloc(mine + others, sizeof(int));
    for (int from = 0; from < 2; from++) {
        for (int root = 0; root < (from == high ? mine : others); root++) {
            int here = from == high, is_root = here && own == root;
            int at = is_root ? MPI_ROOT : here ? MPI_PROC_NULL : root;
            x = is_root ? 77 + root : -1;
            MPI_Bcast(&x, 1, MPI_INT, at, inter);
            CHECK(x == (here && !is_root ? -1 : 77 + root));
            memset(all, 255, others * sizeof(int));
            MPI_Gather(&y, 1, MPI_INT, all, 1, MPI_INT, at, inter);
            for (int i = 0; i < others && is_root; i++) CHECK(all[i] == value_of(!high, i));
            for (int i = 0; i < others; i++) all[i] = 5 * i + root;
            x = -1;
            MPI_Scatter(all, 1, MPI_INT, &x, 1, MPI_INT, at, inter);
            CHECK(x == (here ? -1 : 5 * own + root));
            x = -1;
            MPI_Reduce(&y, &x, 1, MPI_INT, MPI_SUM, at, inter);
            CHECK(x == (is_root ? sum_of(!high, others) : -1));
        }
    }
    free(all);
}

static void between(MPI_Comm inter, int high, int own, int mine, int others) {
    int x = -1, y = value_of(high, own), flag;
    int *all = calloc(mine + others, sizeof(int)), *out = calloc(mine + others, sizeof(int));
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Comm_remote_size(inter, &x);
    CHECK(x == others);
    MPI_Comm_rank(inter, &x);
    CHECK(x == own);
    /* Each rank sends to the same rank of the other group, if there is one. */
    if (own < others) {
        MPI_Status status;
        MPI_Sendrecv(&y, 1, MPI_INT, own, 3, &x, 1, MPI_INT, own, 3, inter, &status);
        CHECK(x == value_of(!high, own) && status.MPI_SOURCE == own);
    }
    MPI_Barrier(inter);
    rooted(inter, high, own, mine, others);
    MPI_Allreduce(&y, &x, 1, MPI_INT, MPI_SUM, inter);
    CHECK(x == sum_of(!high, others));
    MPI_Allgather(&y, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < others; i++) CHECK(all[i] == value_of(!high, i));
    for (int i = 0; i < others; i++) out[i] = 100 * y + i;
    MPI_Request request;
    MPI_Ialltoall(out, 1, MPI_INT, all, 1, MPI_INT, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < others; i++) CHECK(all[i] == 100 * value_of(!high, i) + own);
    /* Both groups have the same number of elements. Each rank receives its share of the other
     * group's sum. */
    int *counts = calloc(mine, sizeof(int)), *ones = calloc(mine * others, sizeof(int));
    for (int i = 0; i < mine; i++) counts[i] = others;
    for (int i = 0; i < mine * others; i++) ones[i] = y + i;
    MPI_Reduce_scatter(ones, all, counts, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < others; i++) CHECK(all[i] == sum_of(!high, others) + others * (own * others + i));
    free(all), free(out), free(counts), free(ones);
}

static void groups(void) {
    int low = size / 2, high = rank >= low, own = high ? rank - low : rank, x, order[2];
    int mine = high ? size - low : low, others = size - mine;
    MPI_Comm half, inter, dup, part, both;
    MPI_Comm_split(MPI_COMM_WORLD, high, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, high ? 0 : low, 9, &inter);
    between(inter, high, own, mine, others);
    MPI_Comm_dup(inter, &dup);
    MPI_Comm_compare(inter, dup, &x);
    CHECK(x == MPI_CONGRUENT);
    between(dup, high, own, mine, others);
    /* The even ranks of both groups, in reverse order. */
    MPI_Comm_split(inter, own % 2 ? MPI_UNDEFINED : 0, -own, &part);
    CHECK((part == MPI_COMM_NULL) == own % 2);
    if (part != MPI_COMM_NULL) {
        int evens = (mine + 1) / 2, there = (others + 1) / 2;
        MPI_Comm_rank(part, &x);
        CHECK(x == evens - 1 - own / 2);
        between(part, high, x, evens, there);
        MPI_Comm_free(&part);
    }
    /* The color of the first rank of one group does not occur in the other group. */
    MPI_Comm_split(inter, high, 0, &part);
    CHECK(part == MPI_COMM_NULL);
    MPI_Group all, first;
    MPI_Comm_group(inter, &all);
    int zero = 0;
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Comm_create(inter, first, &part);
    CHECK((part != MPI_COMM_NULL) == (own == 0));
    if (part != MPI_COMM_NULL) between(part, high, 0, 1, 1);
    /* The group with the argument `high` comes last. */
    for (int last = 0; last < 2; last++) {
        MPI_Intercomm_merge(inter, high == last, &both);
        MPI_Comm_rank(both, &order[0]);
        CHECK(order[0] == (high == last ? others : 0) + own);
        MPI_Allreduce(&rank, &x, 1, MPI_INT, MPI_SUM, both);
        CHECK(x == size * (size - 1) / 2);
        MPI_Comm_free(&both);
    }
    MPI_Group world, local, remote;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(half, &local);
    MPI_Group_difference(world, local, &remote);
    MPI_Comm_free(&dup);
    MPI_Intercomm_create_from_groups(local, 0, remote, 0, "two halves", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &dup);
    between(dup, high, own, mine, others);
    MPI_Comm_free(&dup), MPI_Comm_free(&inter), MPI_Comm_free(&half);
}

/* A ring of all ranks as a grid, as a graph, and as a distributed graph. A message sent to the left
 * arrives from the right, also if both are the same rank. */
static void neighbors(void) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size, yes = 1, no = 0, kind, i;
    int out[4] = {10 * rank, 10 * rank + 1}, in[4] = {-1, -1, -1, -1}, both[2] = {left, right};
    MPI_Comm ring, line, graph, known, named;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &yes, 0, &ring);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring);
    CHECK(in[0] == 10 * left + 1 && in[1] == 10 * right);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring);
    CHECK(in[0] == left && in[1] == right);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &no, 0, &line);
    memset(in, 255, sizeof in);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, line);
    CHECK(in[0] == rank - 1 && in[1] == (rank + 1 < size ? rank + 1 : -1));

    int from, to;
    MPI_Cart_shift(ring, 0, INT_MAX, &from, &to);
    CHECK(to == (rank + INT_MAX % size) % size && from == (rank + size - INT_MAX % size) % size);
    MPI_Cart_shift(line, 0, INT_MIN, &from, &to);
    CHECK(to == MPI_PROC_NULL && from == MPI_PROC_NULL);

    int *ends = calloc(size, sizeof(int)), *edges = calloc(2 * size, sizeof(int));
    for (i = 0; i < size; i++) {
        ends[i] = 2 * i + 2;
        edges[2 * i] = (i + size - 1) % size;
        edges[2 * i + 1] = (i + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &graph);
    MPI_Topo_test(graph, &kind);
    MPI_Graph_neighbors(graph, rank, 2, in);
    CHECK(kind == MPI_GRAPH && in[0] == left && in[1] == right);
    MPI_Request request;
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in[0] == left && in[1] == right);

    /* Edges to the right only, each twice with different weights, and specified by the rank to the
     * left. */
    int weights[2] = {5, 6}, degree = 2, twice[2] = {(right + 1) % size, (right + 1) % size}, sources[2], w[2];
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &right, &degree, twice, weights, MPI_INFO_NULL, 0, &named);
    MPI_Dist_graph_neighbors(named, 2, sources, w, 2, in, in + 2);
    CHECK(sources[0] == left && sources[1] == left && w[0] == 5 && w[1] == 6);
    CHECK(in[0] == right && in[1] == right && in[2] == 5 && in[3] == 6);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, named);
    CHECK(in[0] == 10 * left && in[1] == 10 * left + 1);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 2, both, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &known);
    int indegree, outdegree, weighted;
    MPI_Dist_graph_neighbors_count(known, &indegree, &outdegree, &weighted);
    CHECK(indegree == 1 && outdegree == 2 && !weighted);
    MPI_Comm_free(&ring), MPI_Comm_free(&line), MPI_Comm_free(&graph);
    MPI_Comm_free(&named), MPI_Comm_free(&known);
    free(ends), free(edges);
}

/* The elements of a 5 x 7 array on 2 x 2 processes, distributed cyclically in blocks of 2, and in
 * blocks of 4: each element belongs to one process. */
static void arrays(void) {
    int sizes[2] = {5, 7}, grid[2] = {2, 2}, seen[35] = {0};
    int kinds[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, by[2] = {2, MPI_DISTRIBUTE_DFLT_DARG};
    for (int order = MPI_ORDER_C; order <= MPI_ORDER_FORTRAN; order += MPI_ORDER_FORTRAN - MPI_ORDER_C) {
        for (int of = 0; of < 4; of++) {
            MPI_Datatype part;
            int packed[35], all[35], position = 0, count;
            for (int i = 0; i < 35; i++) all[i] = i;
            MPI_Type_create_darray(4, of, 2, sizes, kinds, by, grid, order, MPI_INT, &part);
            MPI_Type_commit(&part);
            MPI_Type_size(part, &count);
            MPI_Pack(all, 1, part, packed, sizeof packed, &position, MPI_COMM_WORLD);
            for (int i = 0; i < count / 4; i++) {
                int row = order == MPI_ORDER_C ? packed[i] / 7 : packed[i] % 5;
                int column = order == MPI_ORDER_C ? packed[i] % 7 : packed[i] / 5;
                CHECK(row / 2 % 2 == of / 2 && column / 4 == of % 2);
                seen[packed[i]]++;
            }
            MPI_Type_free(&part);
        }
    }
    for (int i = 0; i < 35; i++) CHECK(seen[i] == 2);
}

/* The last rank begins a duplicate before the others do, and goes on. */
static void duplicates(void) {
    MPI_Comm dup;
    MPI_Request request;
    int x = 0, sum;
    if (rank != size - 1) MPI_Recv(&x, 1, MPI_INT, size - 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_idup(MPI_COMM_WORLD, &dup, &request);
    if (rank == size - 1) for (int to = 0; to < rank; to++) MPI_Send(&x, 1, MPI_INT, to, 4, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, dup);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Comm_free(&dup);
}

static MPI_Info info_with(const char *first, const char *second) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (first) MPI_Info_set(info, "first", first);
    if (second) MPI_Info_set(info, "second", second);
    return info;
}

/* Whether the info has these values, and frees it. */
static int has(MPI_Info info, const char *first, const char *second) {
    const char *keys[] = {"first", "second"}, *values[] = {first, second};
    int all = 1;
    for (int i = 0; i < 2; i++) {
        char value[8];
        int length = sizeof value, flag;
        MPI_Info_get_string(info, keys[i], &length, value, &flag);
        all &= values[i] ? flag && !strcmp(value, values[i]) : !flag;
    }
    MPI_Info_free(&info);
    return all;
}

/* Hints that are not named stay as they are, and a duplicate has those that it is given. */
static void hints(void) {
    MPI_Info both = info_with("1", "2"), other = info_with(NULL, "3"), kept;
    MPI_Comm comm, dup;
    MPI_Request request;
    MPI_Win win;
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, both, &comm);
    MPI_Comm_set_info(comm, other);
    MPI_Comm_get_info(comm, &kept);
    CHECK(has(kept, "1", "3"));
    MPI_Win_create(NULL, 0, 1, both, comm, &win);
    MPI_Win_set_info(win, other);
    MPI_Win_get_info(win, &kept);
    CHECK(has(kept, "1", "3"));
    MPI_Win_free(&win);
    MPI_Comm_dup(comm, &dup);
    MPI_Comm_get_info(dup, &kept);
    CHECK(has(kept, NULL, NULL));
    MPI_Comm_free(&dup);
    MPI_Comm_idup(comm, &dup, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_info(dup, &kept);
    CHECK(has(kept, NULL, NULL));
    MPI_Comm_free(&dup);
    MPI_Comm_dup_with_info(comm, other, &dup);
    MPI_Comm_get_info(dup, &kept);
    CHECK(has(kept, NULL, "3"));
    MPI_Comm_free(&dup);
    MPI_Comm_free(&comm);
    MPI_Info_free(&both), MPI_Info_free(&other);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    groups();
    neighbors();
    arrays();
    duplicates();
    hints();
    if (rank == 0) puts("all well");
    MPI_Finalize();
    return 0;
}
