/* One-sided communication, on any number of ranks. The argument "compute": rank 1 calls nothing
 * until rank 0 has written to its window. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define FAILS(call, expected)                                                                   \
    do {                                                                                        \
        int class_;                                                                             \
        MPI_Error_class((call), &class_);                                                       \
        CHECK(class_ == (expected));                                                            \
    } while (0)

enum { MANY = 1 << 19 };

static int rank, size, next, previous;
static MPI_Comm world = MPI_COMM_WORLD;

/* A window of `count` numbers of this rank, all zero. */
static int *made(int count, MPI_Win *win) {
    int *memory;
    MPI_Win_allocate(count * sizeof(int), sizeof(int), MPI_INFO_NULL, world, &memory, win);
    memset(memory, 0, count * sizeof(int));
    MPI_Barrier(world);
    return memory;
}

static void fences(void) {
    MPI_Win win;
    int *memory = made(8, &win), three[3] = {rank + 1, rank + 2, rank + 3}, back[2] = {-1, -1};
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(three, 3, MPI_INT, next, 1, 3, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == 0 && memory[1] == previous + 1 && memory[3] == previous + 3);
    MPI_Get(back, 2, MPI_INT, next, 1, 2, MPI_INT, win);
    MPI_Put(three, 1, MPI_INT, MPI_PROC_NULL, 100, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(back[0] == rank + 1 && back[1] == rank + 2);
    /* All ranks add to the first one. */
    for (int i = 0; i < 10; i++) MPI_Accumulate(three, 1, MPI_INT, 0, 7, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (rank == 0) CHECK(memory[7] == 10 * size * (size + 1) / 2);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
}

/* The memory is the program's; columns of a matrix there are rows of one here. */
static void datatypes(void) {
    int matrix[4][4] = {{0}}, row[4], fetched[4];
    MPI_Win win;
    MPI_Datatype column;
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 4; i++) row[i] = 10 * rank + i;
    MPI_Win_create(matrix, sizeof matrix, sizeof(int), MPI_INFO_NULL, world, &win);
    MPI_Win_fence(0, win);
    MPI_Put(row, 4, MPI_INT, next, 2, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 4; i++) CHECK(matrix[i][2] == 10 * previous + i && matrix[i][1] == 0);
    MPI_Get(fetched, 4, MPI_INT, next, 2, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 4; i++) CHECK(fetched[i] == row[i]);
    MPI_Get_accumulate(row, 4, MPI_INT, fetched, 4, MPI_INT, next, 2, 1, column, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 4; i++) CHECK(fetched[i] == 10 * rank + i && matrix[i][2] == 2 * (10 * previous + i));
    MPI_Win_free(&win);
    MPI_Type_free(&column);
}

/* What is sent may be less than there is room for. */
static void fitting(void) {
    enum { ROOM = 6 };
    MPI_Win win;
    MPI_Datatype pair, mixed;
    int *memory = made(MANY, &win), data[ROOM] = {1, 2, 3, 4, 5, 6}, back[ROOM], *many = calloc(MANY, sizeof(int));
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4}, (MPI_Datatype[]){MPI_INT, MPI_UNSIGNED}, &mixed);
    MPI_Type_commit(&pair), MPI_Type_commit(&mixed);
    memset(back, -1, sizeof back);
    MPI_Win_fence(0, win);
    MPI_Put(data, 1, MPI_INT, next, 0, ROOM, MPI_INT, win);
    MPI_Put(data, 3, MPI_INT, next, 1, 2, pair, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == 1 && memory[1] == 1 && memory[2] == 2 && memory[3] == 3 && memory[4] == 0);
    MPI_Win_fence(0, win);
    MPI_Accumulate(data, 3, MPI_INT, next, 0, 2, mixed, MPI_SUM, win);
    MPI_Accumulate(data, 1, MPI_INT, next, 3, 2, MPI_INT, MPI_MAX, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == 2 && memory[1] == 3 && memory[2] == 5 && memory[3] == 3 && memory[4] == 0);
    MPI_Get(back, ROOM, MPI_INT, next, 0, 2, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(back[0] == 2 && back[1] == 3 && back[2] == -1 && back[ROOM - 1] == -1);
    MPI_Get_accumulate(data, 1, MPI_INT, back, ROOM, MPI_INT, next, 2, 2, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(back[0] == 5 && back[1] == 3 && back[2] == -1);
    CHECK(memory[2] == 6 && memory[3] == 3);
    MPI_Win_fence(0, win);
    /* The room is more pieces than the data. */
    MPI_Get_accumulate(data, ROOM, MPI_INT, many, MANY, MPI_INT, next, 0, MANY, MPI_INT, MPI_REPLACE, win);
    MPI_Win_fence(0, win);
    CHECK(many[0] == 2 && many[2] == 6 && many[MANY - 1] == 0);
    CHECK(memory[0] == 1 && memory[ROOM - 1] == ROOM && memory[ROOM] == 0 && memory[MANY - 1] == 0);
    MPI_Win_fence(0, win);
    MPI_Put(many, MANY - 1, MPI_INT, next, 0, MANY, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == 2 && memory[2] == 6 && memory[ROOM] == 0);
    free(many);
    MPI_Type_free(&pair), MPI_Type_free(&mixed);
    MPI_Win_free(&win);
}

static void locks(void) {
    enum { ROUNDS = 50 };
    MPI_Win win;
    int *memory = made(4, &win), one = 1, old, last = -1, value;
    MPI_Barrier(world);
    /* Numbers that are drawn grow, and each is drawn once. */
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        CHECK(old > last);
        last = old;
        /* Between the two no other rank has the lock. */
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    /* A lock of the program's own. */
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        int nobody = 0, mine = rank + 1, sum;
        do {
            MPI_Compare_and_swap(&mine, &nobody, &old, MPI_INT, 0, 2, win);
            MPI_Win_flush(0, win);
        } while (old != 0);
        MPI_Get(&sum, 1, MPI_INT, 0, 3, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        sum++;
        MPI_Accumulate(&sum, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
        MPI_Compare_and_swap(&nobody, &mine, &old, MPI_INT, 0, 2, win);
        MPI_Win_flush_all(win);
        CHECK(old == mine);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(world);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    if (rank == 0) CHECK(memory[0] == ROUNDS * size && memory[1] == ROUNDS * size);
    if (rank == 0) CHECK(memory[2] == 0 && memory[3] == ROUNDS * size);
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

struct located {
    double value;
    int at;
};

/* Elements of a datatype with several pairs: the largest value of all ranks, and the first that has
 * it. */
static void locations(void) {
    MPI_Win win;
    MPI_Datatype pairs;
    struct located *memory, data[2] = {{rank % 3, rank}, {-rank, rank}};
    MPI_Type_contiguous(2, MPI_DOUBLE_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Win_allocate(2 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, world, &memory, &win);
    memory[0] = memory[1] = (struct located){-100, -1};
    MPI_Win_fence(0, win);
    MPI_Accumulate(data, 1, pairs, 0, 0, 1, pairs, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    int most = size < 3 ? size - 1 : 2;
    if (rank == 0) CHECK(memory[0].value == most && memory[0].at == most && memory[1].value == 0 && memory[1].at == 0);
    MPI_Type_free(&pairs);
    MPI_Win_free(&win);
}

static void groups(void) {
    MPI_Win win;
    MPI_Group all, before, behind, same;
    int *memory = made(2, &win), flag = 0, result;
    MPI_Win_get_group(win, &same);
    MPI_Comm_group(world, &all);
    MPI_Group_compare(all, same, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_incl(all, 1, &previous, &before);
    MPI_Group_incl(all, 1, &next, &behind);
    for (int round = 0; round < 20; round++) {
        MPI_Win_post(before, 0, win);
        MPI_Win_start(behind, 0, win);
        int value = 100 * round + rank;
        MPI_Put(&value, 1, MPI_INT, next, round % 2, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (round % 3 == 0)
            do MPI_Win_test(win, &flag);
            while (!flag);
        else MPI_Win_wait(win);
        CHECK(memory[round % 2] == 100 * round + previous);
    }
    MPI_Group_free(&all), MPI_Group_free(&same), MPI_Group_free(&before), MPI_Group_free(&behind);
    MPI_Win_free(&win);
}

/* More than a message carries at a time, and more than may be in progress. */
static void large(void) {
    MPI_Win win;
    int *memory = made(MANY, &win), *out = malloc(MANY * sizeof(int)), *in = calloc(MANY, sizeof(int));
    for (int i = 0; i < MANY; i++) out[i] = rank + i;
    for (int round = 0; round < 3; round++) {
        MPI_Win_fence(0, win);
        for (int part = 0; part < 4; part++) MPI_Put(out, MANY, MPI_INT, next, 0, MANY, MPI_INT, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < MANY; i += 997) CHECK(memory[i] == previous + i);
        for (int part = 0; part < 4; part++) MPI_Get(in, MANY, MPI_INT, next, 0, MANY, MPI_INT, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < MANY; i++) CHECK(in[i] == rank + i);
        MPI_Accumulate(out, MANY, MPI_INT, next, 0, MANY, MPI_INT, MPI_SUM, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < MANY; i++) CHECK(memory[i] == 2 * (previous + i));
    }
    free(out), free(in);
    MPI_Win_free(&win);
}

static void requests(void) {
    MPI_Win win;
    int *memory = made(4, &win), values[2] = {rank, 7}, back[3] = {-1, -1, -1};
    MPI_Request all[3];
    MPI_Win_lock_all(0, win);
    MPI_Rput(values, 2, MPI_INT, next, 0, 2, MPI_INT, win, &all[0]);
    MPI_Raccumulate(values, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, win, &all[1]);
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    MPI_Win_flush(next, win);
    MPI_Rget(back, 2, MPI_INT, next, 0, 2, MPI_INT, win, &all[0]);
    MPI_Rget_accumulate(NULL, 0, MPI_INT, back + 2, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_NO_OP, win, &all[1]);
    MPI_Rget(back, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &all[2]);
    MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
    CHECK(back[0] == rank && back[1] == rank + 7 && back[2] == rank + 7);
    MPI_Win_unlock_all(win);
    MPI_Barrier(world);
    CHECK(memory[0] == previous);
    MPI_Win_free(&win);
}

/* The ranks of a node read and write each other's part. */
static void shared(void) {
    MPI_Comm node;
    MPI_Win win;
    MPI_Aint bytes;
    int *own, *other, place, ranks, unit, one = 1;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_size(node, &ranks);
    MPI_Win_allocate_shared((place + 1) * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i <= place; i++) own[i] = 100 * place + i;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int of = 0; of < ranks; of++) {
        MPI_Win_shared_query(win, of, &bytes, &unit, &other);
        CHECK(bytes == (MPI_Aint)((of + 1) * sizeof(int)) && unit == sizeof(int));
        for (int i = 0; i <= of; i++) CHECK(other[i] == 100 * of + i);
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &other);
    CHECK(other[0] == 0 && bytes == sizeof(int));
    MPI_Barrier(node);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Barrier(node);
    CHECK(other[0] == ranks);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
}

static int is_aligned(const void *address, const char *alignment) { return (uintptr_t)address % atol(alignment) == 0; }

/* Memory begins at a multiple of what its hints say: of ranks that share it that of the first, or
 * that of each. */
static void aligned(const char *alignment) {
    MPI_Comm node;
    MPI_Info info;
    MPI_Win win;
    MPI_Aint bytes;
    char *own, *other;
    int place, ranks, unit;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_size(node, &ranks);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", alignment);
    MPI_Alloc_mem(10, info, &own);
    CHECK(is_aligned(own, alignment));
    MPI_Free_mem(own);
    MPI_Win_allocate(10, 1, info, world, &own, &win);
    CHECK(is_aligned(own, alignment));
    MPI_Win_free(&win);
    MPI_Win_allocate_shared(3, 1, info, node, &own, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &other);
    CHECK(is_aligned(other, alignment) && own == other + 3 * place);
    MPI_Win_free(&win);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win_allocate_shared(3, 1, info, node, &own, &win);
    CHECK(is_aligned(own, alignment));
    MPI_Win_fence(0, win);
    own[2] = 10 + place;
    MPI_Win_fence(0, win);
    for (int of = 0; of < ranks; of++) {
        MPI_Win_shared_query(win, of, &bytes, &unit, &other);
        CHECK(is_aligned(other, alignment) && bytes == 3 && other[2] == 10 + of);
    }
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
}

static int deleted, handled;

static int note_delete(MPI_Win win, int key, void *value, void *extra) {
    (void)win, (void)key, (void)value, (void)extra;
    return deleted++, MPI_SUCCESS;
}

static void note_error(MPI_Win *win, int *code, ...) {
    (void)win;
    handled = *code;
}

static void names_and_attributes(void) {
    MPI_Win win;
    MPI_Errhandler handler;
    MPI_Aint *bytes;
    int memory[3], *unit, *kind, *model, flag, key, length;
    void *base, *value;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Win_create(memory, sizeof memory, 2, MPI_INFO_NULL, world, &win);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == memory);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &flag);
    CHECK(flag && *bytes == sizeof memory);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
    CHECK(flag && *unit == 2);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &kind, &flag);
    CHECK(flag && *kind == MPI_WIN_FLAVOR_CREATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, note_delete, &key, NULL);
    MPI_Win_set_attr(win, key, memory + 1);
    MPI_Win_get_attr(win, key, &value, &flag);
    CHECK(flag && value == memory + 1);
    MPI_Win_free_keyval(&key);
    MPI_Win_set_name(win, "the window");
    MPI_Win_get_name(win, name, &length);
    CHECK(!strcmp(name, "the window") && length == 10);
    MPI_Win_create_errhandler(note_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    FAILS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    CHECK(handled == MPI_ERR_RMA_SYNC);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(handled == MPI_ERR_OTHER);
    MPI_Win_free(&win);
    CHECK(deleted == 1);
}

static void refused(void) {
    MPI_Win win;
    MPI_Aint bytes;
    MPI_Op own;
    int *memory = made(2, &win), values[2] = {3, 4}, value = 5, old = 6, flag, unit;
    double real = 1;
    FAILS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    FAILS(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_lock(7, 0, 0, win), MPI_ERR_LOCKTYPE);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
    FAILS(MPI_Win_fence(1, win), MPI_ERR_ASSERT);
    MPI_Barrier(world);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    FAILS(MPI_Put(&value, 1, MPI_INT, next, 2, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(&value, 1, MPI_INT, next, INTPTR_MAX, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Get(memory, 3, MPI_INT, next, 0, 3, MPI_INT, win), MPI_ERR_RMA_RANGE);
    FAILS(MPI_Put(&value, 1, MPI_INT, next, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    FAILS(MPI_Put(values, 2, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    FAILS(MPI_Accumulate(values, 2, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_COUNT);
    FAILS(MPI_Get(&value, 1, MPI_INT, next, 0, 2, MPI_INT, win), MPI_ERR_COUNT);
    FAILS(MPI_Get_accumulate(values, 2, MPI_INT, values, 2, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_COUNT);
    FAILS(MPI_Get_accumulate(&value, 1, MPI_INT, &old, 1, MPI_INT, next, 0, 2, MPI_INT, MPI_SUM, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(&value, 1, MPI_INT, next, 0, -1, MPI_INT, win), MPI_ERR_COUNT);
    FAILS(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    FAILS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, next, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    FAILS(MPI_Put(NULL, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
    FAILS(MPI_Accumulate(&real, 1, MPI_DOUBLE, next, 0, 1, MPI_DOUBLE, MPI_BAND, win), MPI_ERR_OP);
    FAILS(MPI_Accumulate(&value, 1, MPI_BYTE, next, 0, 1, MPI_BYTE, MPI_SUM, win), MPI_ERR_OP);
    CHECK(!MPI_Get_accumulate(&value, 0, MPI_BYTE, &old, 0, MPI_BYTE, next, 0, 0, MPI_BYTE, MPI_SUM, win));
    FAILS(MPI_Compare_and_swap(&real, &real, &real, MPI_DOUBLE, next, 0, win), MPI_ERR_TYPE);
    MPI_Op_create((MPI_User_function *)note_error, 1, &own);
    FAILS(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, own, win), MPI_ERR_OP);
    MPI_Op_free(&own);
    MPI_Win_unlock(next, win);
    /* Each rank reaches its own memory, and none of another one that does not share it. */
    void *base = &value;
    CHECK(!MPI_Win_shared_query(win, rank, &bytes, &unit, &base));
    CHECK(base == memory && bytes == 2 * (MPI_Aint)sizeof(int) && unit == sizeof(int));
    if (size > 1) CHECK(!MPI_Win_shared_query(win, next, &bytes, &unit, &base) && !base && bytes == 0);
    CHECK(!MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
    CHECK(base == (rank ? NULL : memory) && bytes == (rank ? 0 : 2 * (MPI_Aint)sizeof(int)));
    FAILS(MPI_Win_shared_query(win, size, &bytes, &unit, &base), MPI_ERR_RANK);
    MPI_Barrier(world);
    MPI_Win_free(&win);
    FAILS(MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, world, &win), MPI_ERR_BASE);
    FAILS(MPI_Win_create(&value, -8, 1, MPI_INFO_NULL, world, &win), MPI_ERR_SIZE);
    FAILS(MPI_Win_create(&value, 4, 0, MPI_INFO_NULL, world, &win), MPI_ERR_ARG);
}

/* Memory that is attached later, and found by its address. */
static void dynamic(void) {
    MPI_Win win, fixed;
    int flag, *flavor, value = rank + 1, old = -1, *memory = calloc(4, sizeof(int)), other[2] = {7, 8};
    MPI_Aint own, addresses[64], *all = size <= 64 ? addresses : malloc(size * sizeof(MPI_Aint));
    void *base = &value;
    MPI_Win_create_dynamic(MPI_INFO_NULL, world, &win);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == MPI_BOTTOM);
    CHECK(!MPI_Win_attach(win, memory, 4 * sizeof(int)));
    CHECK(!MPI_Win_attach(win, other, sizeof other));
    MPI_Get_address(memory, &own);
    MPI_Allgather(&own, 1, MPI_AINT, all, 1, MPI_AINT, world);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, next, MPI_Aint_add(all[next], 2 * sizeof(int)), 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[2] == previous + 1 && memory[1] == 0 && other[0] == 7);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&value, &old, MPI_INT, 0, all[0], MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(world);
    if (rank == 0) CHECK(memory[0] == size * (size + 1) / 2);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    FAILS(MPI_Win_attach(win, memory + 1, sizeof(int)), MPI_ERR_RMA_ATTACH);
    FAILS(MPI_Win_attach(win, memory, -1), MPI_ERR_SIZE);
    FAILS(MPI_Win_attach(win, NULL, 4), MPI_ERR_BASE);
    FAILS(MPI_Win_detach(win, memory + 1), MPI_ERR_BASE);
    FAILS(MPI_Win_shared_query(win, rank, &own, &flag, &base), MPI_ERR_RMA_FLAVOR);
    CHECK(!MPI_Win_detach(win, memory) && !MPI_Win_detach(win, other));
    CHECK(!MPI_Win_attach(win, memory + 1, sizeof(int)) && !MPI_Win_detach(win, memory + 1));
    MPI_Barrier(world);
    MPI_Win_free(&win);
    made(1, &fixed);
    MPI_Win_set_errhandler(fixed, MPI_ERRORS_RETURN);
    FAILS(MPI_Win_attach(fixed, memory, 4), MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&fixed);
    if (all != addresses) free(all);
    free(memory);
}

static void compute(void) {
    MPI_Win win;
    volatile int *memory = made(2, &win);
    int value = 42;
    MPI_Barrier(world);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
    }
    if (rank == 1) while (memory[0] != 42) continue;
    MPI_Barrier(world);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    next = (rank + 1) % size, previous = (rank + size - 1) % size;
    if (argc > 1 && !strcmp(argv[1], "compute")) {
        compute();
    } else {
        fences();
        datatypes();
        fitting();
        locks();
        locations();
        groups();
        large();
        requests();
        shared();
        aligned("32"), aligned("4096"), aligned("1048576");
        dynamic();
        names_and_attributes();
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        refused();
    }
    MPI_Barrier(world);
    if (rank == 0) puts("all well");
    MPI_Finalize();
    return 0;
}
