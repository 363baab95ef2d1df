/* Counts, lists of ranks and indices that make no sense: an error by its class, nothing done. */
#include <mpi.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define REFUSED(call, expected)                                                                 \
    do {                                                                                        \
        int class_;                                                                             \
        MPI_Error_class((call), &class_);                                                       \
        CHECK(class_ == (expected));                                                            \
    } while (0)

enum { MANY = 64 };

static int ones[MANY];

static void groups(void) {
    MPI_Group world, made = MPI_GROUP_NULL;
    int range[1][3] = {{0, 0, 1}}, ranks[1] = {0};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    REFUSED(MPI_Group_incl(world, -1, ranks, &made), MPI_ERR_ARG);
    REFUSED(MPI_Group_excl(world, -1, ranks, &made), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_incl(world, -1, range, &made), MPI_ERR_ARG);
    REFUSED(MPI_Group_range_excl(world, -1, range, &made), MPI_ERR_ARG);
    REFUSED(MPI_Group_translate_ranks(world, -1, ranks, world, ranks), MPI_ERR_ARG);
    REFUSED(MPI_Group_free(&made), MPI_ERR_GROUP);
    CHECK(made == MPI_GROUP_NULL);
    MPI_Group_free(&world);
}

static void statuses(void) {
    MPI_Status status;
    int count;
    MPI_Status_set_elements(&status, MPI_INT, 3);
    REFUSED(MPI_Status_set_elements(&status, MPI_INT, -1), MPI_ERR_COUNT);
    REFUSED(MPI_Status_set_elements_x(&status, MPI_INT, -1), MPI_ERR_COUNT);
    REFUSED(MPI_Status_set_elements_c(&status, MPI_INT, -1), MPI_ERR_COUNT);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 3);
}

static void requests(void) {
    MPI_Request all[1] = {MPI_REQUEST_NULL};
    MPI_Status status[1];
    int flag = 7, index = 7, indices[1];
    REFUSED(MPI_Waitall(-1, all, status), MPI_ERR_COUNT);
    REFUSED(MPI_Waitany(-1, all, &index, status), MPI_ERR_COUNT);
    REFUSED(MPI_Waitsome(-1, all, &index, indices, status), MPI_ERR_COUNT);
    REFUSED(MPI_Testall(-1, all, &flag, status), MPI_ERR_COUNT);
    REFUSED(MPI_Testany(-1, all, &index, &flag, status), MPI_ERR_COUNT);
    REFUSED(MPI_Testsome(-1, all, &index, indices, status), MPI_ERR_COUNT);
    REFUSED(MPI_Request_get_status_all(-1, all, &flag, status), MPI_ERR_COUNT);
    REFUSED(MPI_Request_get_status_any(-1, all, &index, &flag, status), MPI_ERR_COUNT);
    REFUSED(MPI_Request_get_status_some(-1, all, &index, indices, status), MPI_ERR_COUNT);
    REFUSED(MPI_Startall(-1, all), MPI_ERR_COUNT);
    CHECK(flag == 7 && index == 7);
    /* Named twice. */
    MPI_Request twice[2];
    MPI_Isend(&flag, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &twice[0]);
    twice[1] = twice[0];
    REFUSED(MPI_Waitall(2, twice, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
    MPI_Irecv(&index, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &twice[0]);
    twice[1] = twice[0];
    MPI_Send(&flag, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    REFUSED(MPI_Waitall(2, twice, MPI_STATUSES_IGNORE), MPI_ERR_REQUEST);
}

static void communicators(void) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group world;
    char memory[8];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    REFUSED(MPI_Comm_split(MPI_COMM_WORLD, -1, 0, &made), MPI_ERR_ARG);
    REFUSED(MPI_Comm_split_type(MPI_COMM_WORLD, 1, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    REFUSED(MPI_Comm_create(MPI_COMM_SELF, world, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Comm_create_group(MPI_COMM_SELF, world, 0, &made), MPI_ERR_GROUP);
    REFUSED(MPI_Comm_create_group(MPI_COMM_WORLD, world, -1, &made), MPI_ERR_TAG);
    REFUSED(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, !rank, -1, &made), MPI_ERR_TAG);
    CHECK(made == MPI_COMM_NULL);
    REFUSED(MPI_Buffer_attach(memory, -1), MPI_ERR_ARG);
    REFUSED(MPI_Comm_attach_buffer(MPI_COMM_WORLD, memory, -1), MPI_ERR_ARG);
    MPI_Group_free(&world);
}

static void grids(void) {
    MPI_Comm made = MPI_COMM_NULL, grid;
    /* Of these the product of 64 bits is 0. */
    int dims[3] = {INT_MIN / -2, INT_MIN / -2, 16}, periods[3] = {0}, got[1], one[1] = {1};
    REFUSED(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &made), MPI_ERR_DIMS);
    REFUSED(MPI_Cart_create(MPI_COMM_WORLD, -1, dims, periods, 0, &made), MPI_ERR_DIMS);
    REFUSED(MPI_Dims_create(1, -1, dims), MPI_ERR_DIMS);
    CHECK(made == MPI_COMM_NULL);
    MPI_Cart_create(MPI_COMM_SELF, 1, one, periods, 0, &grid);
    MPI_Comm_set_errhandler(grid, MPI_ERRORS_RETURN);
    REFUSED(MPI_Cart_get(grid, -1, got, got, got), MPI_ERR_ARG);
    REFUSED(MPI_Cart_coords(grid, 0, -1, got), MPI_ERR_ARG);
    MPI_Comm_free(&grid);
}

static void graphs(void) {
    MPI_Comm made = MPI_COMM_NULL, graph;
    int ends[1] = {1}, edges[1] = {0}, weights[1] = {-1}, degrees[1] = {1};
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, edges, MPI_UNWEIGHTED, 1, edges, MPI_UNWEIGHTED,
                                           MPI_INFO_NULL, 0, &made), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, edges, MPI_UNWEIGHTED, -1, edges, MPI_UNWEIGHTED,
                                           MPI_INFO_NULL, 0, &made), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, edges, weights, 1, edges, ones, MPI_INFO_NULL, 0,
                                           &made), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create(MPI_COMM_WORLD, -1, edges, degrees, edges, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                  &made), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, edges, degrees, edges, weights, MPI_INFO_NULL, 0, &made),
            MPI_ERR_ARG);
    CHECK(made == MPI_COMM_NULL);
    MPI_Graph_create(MPI_COMM_SELF, 1, ends, edges, 0, &graph);
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
    REFUSED(MPI_Graph_get(graph, -1, 1, ends, edges), MPI_ERR_ARG);
    REFUSED(MPI_Graph_get(graph, 1, -1, ends, edges), MPI_ERR_ARG);
    REFUSED(MPI_Graph_neighbors(graph, 0, -1, edges), MPI_ERR_ARG);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, edges, ones, 1, edges, ones, MPI_INFO_NULL, 0, &graph);
    MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
    REFUSED(MPI_Dist_graph_neighbors(graph, -1, edges, weights, 1, edges, weights), MPI_ERR_ARG);
    REFUSED(MPI_Dist_graph_neighbors(graph, 1, edges, weights, -1, edges, weights), MPI_ERR_ARG);
    MPI_Comm_free(&graph);
}

static void datatypes(void) {
    MPI_Datatype made = MPI_DATATYPE_NULL, vector, old[1];
    int sizes[1] = {2}, parts[1] = {1}, starts[1] = {0}, kinds[1] = {MPI_DISTRIBUTE_NONE}, integers[3] = {7, 7, 7};
    int arguments[1] = {MPI_DISTRIBUTE_DFLT_DARG}, at = -1, size = 7;
    char packed[8];
    MPI_Aint addresses[1];
    REFUSED(MPI_Type_create_subarray(1, sizes, parts, starts, 1, MPI_INT, &made), MPI_ERR_ARG);
    REFUSED(MPI_Type_create_darray(1, 0, 1, sizes, kinds, arguments, ones, 1, MPI_INT, &made), MPI_ERR_ARG);
    CHECK(made == MPI_DATATYPE_NULL);
    REFUSED(MPI_Pack_size(-1, MPI_INT, MPI_COMM_WORLD, &size), MPI_ERR_COUNT);
    REFUSED(MPI_Pack(sizes, 1, MPI_INT, packed, sizeof packed, &at, MPI_COMM_WORLD), MPI_ERR_ARG);
    REFUSED(MPI_Unpack(packed, sizeof packed, &at, sizes, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_ARG);
    CHECK(at == -1 && size == 7 && sizes[0] == 2);
    MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
    REFUSED(MPI_Type_get_contents(vector, 2, 0, 1, integers, addresses, old), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_contents(vector, 3, 0, 0, integers, addresses, old), MPI_ERR_ARG);
    REFUSED(MPI_Type_get_contents(vector, -1, 0, 1, integers, addresses, old), MPI_ERR_ARG);
    CHECK(integers[0] == 7);
    MPI_Type_free(&vector);
}

static void texts(void) {
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY + 1] = "", value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 7, code = 7;
    MPI_Info_create(&info);
    memset(key, 'k', sizeof key - 1);
    memset(value, 'v', sizeof value - 1);
    REFUSED(MPI_Info_set(info, key, "1"), MPI_ERR_INFO_KEY);
    REFUSED(MPI_Info_set(info, "k", value), MPI_ERR_INFO_VALUE);
    REFUSED(MPI_Info_get(info, "k", -1, value, &flag), MPI_ERR_ARG);
    REFUSED(MPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG);
    REFUSED(MPI_Info_get_nthkey(info, 0, key), MPI_ERR_ARG);
    MPI_Info_free(&info);
    REFUSED(MPI_Add_error_code(12345, &code), MPI_ERR_ARG);
    CHECK(flag == 7 && code == 7);
}

/* MPI_IN_PLACE where there is nothing to be in place of, and buffers that overlap. No rank fails
 * alone: where there is a root, each takes itself, or the other one, for it. */
static void buffers(void) {
    int all[4] = {0}, displacements[MANY] = {0}, rank;
    MPI_Request request;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    REFUSED(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, !rank, 0, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, !rank, 0, world, &request), MPI_ERR_BUFFER);
    REFUSED(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, !rank, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, !rank, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce(MPI_IN_PLACE, all, 1, MPI_INT, MPI_SUM, !rank, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Allreduce(all, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Allgather(all, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, world), MPI_ERR_BUFFER);
    displacements[0] = 1;
    REFUSED(MPI_Alltoallv(all, ones, displacements, MPI_INT, MPI_IN_PLACE, ones, displacements, MPI_INT, world),
            MPI_ERR_BUFFER);
    REFUSED(MPI_Allreduce(all, all, 2, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Scan(all, all + 1, 2, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce_scatter_block(all, all + 1, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Reduce(all, all, 2, MPI_INT, MPI_SUM, rank, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Gather(all + rank, 1, MPI_INT, all, 1, MPI_INT, rank, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Scatter(all, 1, MPI_INT, all + rank, 1, MPI_INT, rank, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Allgather(all + rank, 1, MPI_INT, all, 1, MPI_INT, world), MPI_ERR_BUFFER);
    REFUSED(MPI_Alltoall(all, 1, MPI_INT, all + 1, 1, MPI_INT, world), MPI_ERR_BUFFER);
    /* Neighbours do not overlap, nor does nothing. */
    CHECK(MPI_Alltoall(all, 1, MPI_INT, all + 2, 1, MPI_INT, world) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(all, all, 0, MPI_INT, MPI_SUM, world) == MPI_SUCCESS);
}

static void memory(void) {
    void *block = NULL;
    REFUSED(MPI_Alloc_mem(-1, MPI_INFO_NULL, &block), MPI_ERR_ARG);
    REFUSED(MPI_Alloc_mem(PTRDIFF_MAX - 4096, MPI_INFO_NULL, &block), MPI_ERR_NO_MEM);
    CHECK(block == NULL);
}

/* The key is for a level that was asked for before the program started. */
static void level_of_threads(void) {
    char value[MPI_MAX_INFO_VAL];
    int flag, room = sizeof value;
    MPI_Info_get_string(MPI_INFO_ENV, "command", &room, value, &flag);
    CHECK(flag && strstr(value, "refused"));
    room = sizeof value;
    MPI_Info_get_string(MPI_INFO_ENV, "thread_level", &room, value, &flag);
    CHECK(!flag);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < MANY; i++) ones[i] = 1;
    groups();
    statuses();
    requests();
    communicators();
    grids();
    graphs();
    datatypes();
    texts();
    memory();
    buffers();
    level_of_threads();
    puts("all well");
    MPI_Finalize();
    return 0;
}
