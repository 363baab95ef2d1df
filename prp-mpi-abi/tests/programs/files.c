/* Files, on any number of ranks. The argument is a folder that they all see. */
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

enum { ALL = MPI_MODE_RDWR | MPI_MODE_CREATE, EACH = 1000 };

static int rank, size, next;
static MPI_Comm world = MPI_COMM_WORLD;
static char path[4096], folder[4000];

/* An empty file that all ranks have opened. */
static MPI_File fresh(const char *name) {
    MPI_File file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(!MPI_File_open(world, path, ALL, MPI_INFO_NULL, &file));
    CHECK(!MPI_File_set_size(file, 0));
    return file;
}

static int count_of(MPI_Status *status, MPI_Datatype datatype) {
    int count;
    MPI_Get_count(status, datatype, &count);
    return count;
}

static MPI_Offset size_of(MPI_File file) {
    MPI_Offset bytes = -1;
    CHECK(!MPI_File_get_size(file, &bytes));
    return bytes;
}

static MPI_Offset position_of(MPI_File file) {
    MPI_Offset offset = -1;
    CHECK(!MPI_File_get_position(file, &offset));
    return offset;
}

/* Every rank writes a block of numbers, and reads that of the next one. */
static void explicit_offsets(void) {
    MPI_File file = fresh("explicit");
    MPI_Status status;
    MPI_Offset bytes = EACH * sizeof(int);
    int own[EACH], other[EACH];
    for (int i = 0; i < EACH; i++) own[i] = rank * EACH + i;
    CHECK(!MPI_File_write_at(file, rank * bytes, own, EACH, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == EACH);
    CHECK(!MPI_File_sync(file));
    CHECK(size_of(file) == size * bytes);
    CHECK(!MPI_File_read_at_all(file, next * bytes, other, EACH, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == EACH && other[EACH - 1] == next * EACH + EACH - 1);
    /* Behind the end there is nothing, and before it less than was asked for. */
    CHECK(!MPI_File_read_at(file, size * bytes, other, EACH, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 0);
    CHECK(!MPI_File_read_at(file, size * bytes - 12, other, EACH, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 3 && other[2] == size * EACH - 1);
    /* Every other number, of memory. */
    MPI_Datatype every_other;
    MPI_Type_vector(EACH / 2, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Barrier(world);
    CHECK(!MPI_File_write_at_all_c(file, rank * bytes, own, 1, every_other, &status));
    memset(other, 0, sizeof other);
    CHECK(!MPI_File_read_at_c(file, rank * bytes, other, 1, every_other, &status));
    CHECK(count_of(&status, every_other) == 1 && other[2] == own[2] && other[1] == 0);
    CHECK(!MPI_File_read_at(file, rank * bytes, other, EACH / 2, MPI_INT, &status));
    CHECK(other[1] == own[2] && other[EACH / 2 - 1] == own[EACH - 2]);
    MPI_Type_free(&every_other);
    CHECK(!MPI_File_close(&file) && file == MPI_FILE_NULL);
}

/* Each rank sees every size-th pair of numbers. */
static void views(void) {
    MPI_File file = fresh("views");
    MPI_Datatype pair, etype, filetype;
    MPI_Status status;
    MPI_Offset at;
    MPI_Aint lb, extent;
    char datarep[MPI_MAX_DATAREP_STRING];
    int own[EACH], back[EACH], all[2 * EACH];
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 2 * size * sizeof(int), &filetype);
    MPI_Type_commit(&filetype);
    for (int i = 0; i < EACH; i++) own[i] = rank * EACH + i;
    CHECK(!MPI_File_set_view(file, 8 + 8 * rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_write_all(file, own, EACH, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == EACH && position_of(file) == EACH);
    CHECK(!MPI_File_get_byte_offset(file, 5, &at) && at == 8 + 8 * rank + 2 * 8 * size + 4);
    MPI_Barrier(world);
    CHECK(size_of(file) == 8 + size * EACH * (MPI_Offset)sizeof(int));
    CHECK(!MPI_File_seek(file, 0, MPI_SEEK_END) && position_of(file) == EACH);
    CHECK(!MPI_File_seek(file, -EACH, MPI_SEEK_CUR) && position_of(file) == 0);
    CHECK(!MPI_File_read_all(file, back, EACH, MPI_INT, &status));
    CHECK(!memcmp(own, back, sizeof own));
    CHECK(!MPI_File_read(file, back, EACH, MPI_INT, &status) && count_of(&status, MPI_INT) == 0);
    CHECK(!MPI_File_read_at(file, EACH - 3, back, EACH, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 3 && back[2] == own[EACH - 1]);
    CHECK(!MPI_File_get_view(file, &at, &etype, &filetype, datarep));
    CHECK(at == 8 + 8 * rank && etype == MPI_INT && !strcmp(datarep, "native"));
    MPI_Type_get_extent(filetype, &lb, &extent);
    CHECK(extent == 2 * size * (MPI_Aint)sizeof(int));
    MPI_Type_free(&filetype);
    /* The whole file again, whose first two numbers nobody has written. */
    CHECK(!MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "internal", MPI_INFO_NULL));
    CHECK(position_of(file) == 0);
    CHECK(!MPI_File_get_view(file, &at, &etype, &etype, datarep) && !strcmp(datarep, "internal"));
    CHECK(!MPI_File_read(file, all, 2 + 2 * size, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(all[0] == 0 && all[1] == 0);
    for (int i = 0; i < size; i++) CHECK(all[2 + 2 * i] == i * EACH && all[3 + 2 * i] == i * EACH + 1);
    /* A view in parts far from each other. */
    int places[3] = {7 * size + rank, 1000000 + rank, 2000000 + rank}, lengths[3] = {1, 1, 1};
    MPI_Type_indexed(3, lengths, places, MPI_INT, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(!MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_write_at_all(file, 1, own, 2, MPI_INT, &status));
    CHECK(!MPI_File_read_at_all(file, 0, back, 3, MPI_INT, &status));
    CHECK(back[1] == own[0] && back[2] == own[1]);
    FAILS(MPI_File_write_at(file, 0, own, 3, MPI_SHORT, &status), MPI_ERR_IO);
    MPI_Type_free(&filetype);
    MPI_Type_free(&pair);
    /* A view of no bytes: nothing is read of it, and nothing can be written. */
    MPI_Type_contiguous(0, MPI_INT, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(!MPI_File_set_view(file, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_read(file, back, 2, MPI_INT, &status) && count_of(&status, MPI_INT) == 0);
    CHECK(!MPI_File_write(file, own, 0, MPI_INT, &status));
    FAILS(MPI_File_write(file, own, 2, MPI_INT, &status), MPI_ERR_ARG);
    MPI_Type_free(&filetype);
    CHECK(!MPI_File_close(&file));
}

static void shared_pointer(void) {
    enum { ROUNDS = 20 };
    MPI_File file = fresh("shared");
    MPI_Status status;
    MPI_Offset at;
    int record[2], *all = calloc(2 * size * ROUNDS, sizeof(int)), *seen = calloc(size, sizeof(int));
    CHECK(!MPI_File_set_view(file, 0, MPI_2INT, MPI_2INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < ROUNDS; i++) {
        record[0] = rank, record[1] = i;
        CHECK(!MPI_File_write_shared(file, record, 1, MPI_2INT, &status));
        CHECK(count_of(&status, MPI_2INT) == 1);
    }
    MPI_Barrier(world);
    CHECK(!MPI_File_get_position_shared(file, &at) && at == size * ROUNDS);
    CHECK(!MPI_File_read_at(file, 0, all, size * ROUNDS, MPI_2INT, &status));
    CHECK(count_of(&status, MPI_2INT) == size * ROUNDS);
    /* All records of each rank are there, in their order. */
    for (int i = 0; i < size * ROUNDS; i++) CHECK(all[2 * i + 1] == seen[all[2 * i]]++);
    /* In the order of ranks, of which each writes one more than the one before. */
    for (int i = 0; i < 2 * (rank + 1); i++) all[i] = rank;
    CHECK(!MPI_File_seek_shared(file, 5, MPI_SEEK_SET));
    CHECK(!MPI_File_write_ordered(file, all, rank + 1, MPI_2INT, &status));
    MPI_Barrier(world);
    CHECK(!MPI_File_get_position_shared(file, &at) && at == 5 + size * (size + 1) / 2);
    CHECK(!MPI_File_read_at(file, 5 + rank * (rank + 1) / 2, all, rank + 1, MPI_2INT, &status));
    for (int i = 0; i < 2 * (rank + 1); i++) CHECK(all[i] == rank);
    MPI_Barrier(world);
    CHECK(!MPI_File_seek_shared(file, -1, MPI_SEEK_CUR));
    CHECK(!MPI_File_seek_shared(file, 5 - (MPI_Offset)(4 + size * (size + 1) / 2), MPI_SEEK_CUR));
    CHECK(!MPI_File_read_ordered(file, all, rank + 1, MPI_2INT, &status));
    for (int i = 0; i < 2 * (rank + 1); i++) CHECK(all[i] == rank);
    CHECK(!MPI_File_seek_shared(file, 0, MPI_SEEK_END));
    CHECK(!MPI_File_read_shared(file, record, 1, MPI_2INT, &status) && count_of(&status, MPI_INT) == 0);
    if (size > 1) FAILS(MPI_File_seek_shared(file, rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    free(all), free(seen);
    CHECK(!MPI_File_close(&file));
}

/* Numbers as any machine reads them: the highest byte first, and four bytes of a long. */
static void external32(void) {
    MPI_File file = fresh("external32");
    MPI_Status status;
    MPI_Aint extent;
    MPI_Count large;
    MPI_Offset at;
    long longs[3] = {1, -2, 3 + rank}, back[4] = {0};
    short shorts[2] = {0x0102, 3}, short_back[2];
    unsigned char bytes[12];
    CHECK(!MPI_File_set_view(file, 12 * rank, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    CHECK(!MPI_File_get_type_extent(file, MPI_LONG, &extent) && extent == 4);
    CHECK(!MPI_File_get_type_extent_c(file, MPI_DOUBLE, &large) && large == 8);
    CHECK(!MPI_File_write(file, longs, 3, MPI_LONG, &status));
    CHECK(count_of(&status, MPI_LONG) == 3 && position_of(file) == 3);
    CHECK(!MPI_File_get_byte_offset(file, 2, &at) && at == 12 * rank + 8);
    CHECK(!MPI_File_read_at(file, 0, back, 3, MPI_LONG, &status));
    CHECK(count_of(&status, MPI_LONG) == 3 && back[1] == -2 && back[2] == 3 + rank);
    MPI_Barrier(world);
    CHECK(!MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_read_at(file, 12 * rank, bytes, 12, MPI_BYTE, &status));
    CHECK(bytes[0] == 0 && bytes[3] == 1 && bytes[4] == 255 && bytes[7] == 254 && bytes[11] == 3 + rank);
    /* What ends within a number has that many whole ones. */
    CHECK(!MPI_File_set_size(file, 12 * size - 2));
    CHECK(!MPI_File_set_view(file, 12 * (size - 1), MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
    CHECK(!MPI_File_read_at(file, 0, back, 4, MPI_LONG, &status) && count_of(&status, MPI_LONG) == 2);
    longs[0] = 1L << 40;
    FAILS(MPI_File_write_at(file, 0, longs, 1, MPI_LONG, &status), MPI_ERR_CONVERSION);
    CHECK(!MPI_File_set_view(file, 0, MPI_SHORT, MPI_SHORT, "external32", MPI_INFO_NULL));
    CHECK(!MPI_File_write_at_all(file, 2 * rank, shorts, 2, MPI_SHORT, &status));
    CHECK(!MPI_File_read_at_all(file, 2 * rank, short_back, 2, MPI_SHORT, &status));
    CHECK(short_back[0] == 0x0102 && short_back[1] == 3);
    FAILS(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "internal64", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK(!MPI_File_close(&file));
}

/* A representation of the program's own: an int is in the file twice, the second time inverted. */
static int write_twice(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset first, void *calls) {
    CHECK(type == MPI_INT);
    const int *from = (const int *)memory + first;
    for (int i = 0; i < count; i++) ((int *)file)[2 * i] = from[i], ((int *)file)[2 * i + 1] = ~from[i];
    ++*(int *)calls;
    return MPI_SUCCESS;
}

static int read_twice(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset first, void *calls) {
    CHECK(type == MPI_INT);
    int *into = (int *)memory + first;
    for (int i = 0; i < count; i++) {
        into[i] = ((int *)file)[2 * i];
        if (into[i] != ~((int *)file)[2 * i + 1]) return MPI_ERR_IO;
    }
    ++*(int *)calls;
    return MPI_SUCCESS;
}

static int extent_twice(MPI_Datatype type, MPI_Aint *extent, void *calls) {
    int bytes;
    (void)calls;
    MPI_Type_size(type, &bytes);
    *extent = type == MPI_INT ? 2 * bytes : bytes;
    return MPI_SUCCESS;
}

static void representation(void) {
    MPI_File file = fresh("representation");
    MPI_Status status;
    MPI_Aint extent;
    MPI_Offset at;
    static int calls;
    int own[3] = {rank, 100 + rank, -rank}, back[4] = {0}, pair[2], wrong = 5;
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Datatype etype, filetype;
    CHECK(!MPI_Register_datarep("twice", read_twice, write_twice, extent_twice, &calls));
    CHECK(!MPI_File_set_view(file, 24 * rank, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
    CHECK(!MPI_File_get_view(file, &at, &etype, &filetype, name) && !strcmp(name, "twice"));
    CHECK(!MPI_File_get_type_extent(file, MPI_INT, &extent) && extent == 8);
    CHECK(!MPI_File_write(file, own, 3, MPI_INT, &status) && count_of(&status, MPI_INT) == 3);
    CHECK(position_of(file) == 3 && calls == 1);
    CHECK(!MPI_File_read_at(file, 1, back, 2, MPI_INT, &status) && count_of(&status, MPI_INT) == 2);
    CHECK(back[0] == 100 + rank && back[1] == -rank && calls == 2);
    MPI_Barrier(world);
    CHECK(!MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_read_at(file, 24 * rank + 8, pair, 8, MPI_BYTE, &status));
    CHECK(pair[0] == 100 + rank && pair[1] == ~(100 + rank));
    MPI_Barrier(world);
    /* What the function does not take is an error; what ends within a number is left out. */
    CHECK(!MPI_File_write_at(file, 24 * rank + 20, &wrong, 4, MPI_BYTE, &status));
    CHECK(!MPI_File_set_view(file, 24 * rank, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
    FAILS(MPI_File_read_at(file, 2, back, 1, MPI_INT, &status), MPI_ERR_CONVERSION);
    MPI_Barrier(world);
    CHECK(!MPI_File_set_size(file, 24 * size - 2));
    if (rank == size - 1) {
        CHECK(!MPI_File_read_at(file, 0, back, 4, MPI_INT, &status));
        CHECK(count_of(&status, MPI_INT) == 2 && back[1] == 100 + rank);
    }
    CHECK(!MPI_File_close(&file));
}

static void datareps(void) {
    int class;
    CHECK(!MPI_Register_datarep("unconverted", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_twice, NULL));
    const char *taken[] = {"native", "external32", "unconverted"};
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        int code = MPI_Register_datarep(taken[i], read_twice, write_twice, extent_twice, NULL);
        MPI_Error_class(code, &class);
        CHECK(class == MPI_ERR_DUP_DATAREP);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void requests(void) {
    MPI_File file = fresh("requests");
    MPI_Request request[2];
    MPI_Status status[2], one;
    int own[2] = {rank, -rank}, back[2] = {-1, -1}, flag;
    CHECK(!MPI_File_iwrite_at(file, 8 * rank, own, 1, MPI_INT, &request[0]));
    CHECK(!MPI_File_iwrite_at_all(file, 8 * rank + 4, own + 1, 1, MPI_INT, &request[1]));
    MPI_Waitall(2, request, status);
    CHECK(count_of(&status[1], MPI_INT) == 1 && request[0] == MPI_REQUEST_NULL);
    MPI_Barrier(world);
    CHECK(!MPI_File_seek(file, 8 * next, MPI_SEEK_SET));
    CHECK(!MPI_File_iread(file, back, 1, MPI_INT, &request[0]));
    CHECK(!MPI_File_iread_all(file, back + 1, 1, MPI_INT, &request[1]));
    MPI_Wait(&request[0], &one);
    MPI_Test(&request[1], &flag, &one);
    CHECK(flag && back[0] == next && back[1] == -next && position_of(file) == 8 * next + 8);
    CHECK(!MPI_File_iread_shared(file, back, 1, MPI_INT, &request[0]));
    MPI_Wait(&request[0], &one);
    CHECK(count_of(&one, MPI_INT) == 1);
    /* Accesses that one call begins and another one ends. */
    MPI_Barrier(world);
    CHECK(!MPI_File_write_at_all_begin(file, 8 * rank, own, 2, MPI_INT));
    FAILS(MPI_File_write_all_end(file, own, &one), MPI_ERR_IO);
    FAILS(MPI_File_read_all_begin(file, back, 2, MPI_INT), MPI_ERR_IO);
    FAILS(MPI_File_close(&file), MPI_ERR_IO);
    CHECK(!MPI_File_write_at_all_end(file, own, &one) && count_of(&one, MPI_INT) == 2);
    FAILS(MPI_File_write_at_all_end(file, own, &one), MPI_ERR_IO);
    MPI_Barrier(world);
    CHECK(!MPI_File_seek(file, 8 * next, MPI_SEEK_SET));
    CHECK(!MPI_File_read_all_begin_c(file, back, 2, MPI_INT));
    CHECK(!MPI_File_read_all_end(file, back, &one) && back[0] == next && back[1] == -next);
    CHECK(!MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    CHECK(!MPI_File_read_ordered_begin(file, back, 2, MPI_INT));
    CHECK(!MPI_File_read_ordered_end(file, back, &one) && back[0] == rank && back[1] == -rank);
    CHECK(!MPI_File_close(&file));
}

/* Rank 0 writes letters, all the same, to every second place. Others see no two of them. */
static void atomicity(void) {
    enum { LETTERS = 3000, ROUNDS = 60 };
    MPI_File file = fresh("atomic");
    MPI_Datatype filetype;
    char *letters = malloc(LETTERS);
    int flag = 0;
    MPI_Type_vector(LETTERS, 1, 2, MPI_CHAR, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(!MPI_File_set_view(file, 0, MPI_CHAR, filetype, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_get_atomicity(file, &flag) && !flag);
    CHECK(!MPI_File_set_atomicity(file, 1));
    CHECK(!MPI_File_get_atomicity(file, &flag) && flag);
    memset(letters, 'a', LETTERS);
    if (rank == 0) CHECK(!MPI_File_write_at(file, 0, letters, LETTERS, MPI_CHAR, MPI_STATUS_IGNORE));
    MPI_Barrier(world);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            memset(letters, 'a' + i % 26, LETTERS);
            CHECK(!MPI_File_write_at(file, 0, letters, LETTERS, MPI_CHAR, MPI_STATUS_IGNORE));
        } else {
            CHECK(!MPI_File_read_at(file, 0, letters, LETTERS, MPI_CHAR, MPI_STATUS_IGNORE));
            for (int j = 1; j < LETTERS; j++) CHECK(letters[j] == letters[0]);
        }
    }
    if (size > 1) FAILS(MPI_File_set_atomicity(file, rank == 0), MPI_ERR_NOT_SAME);
    MPI_Type_free(&filetype);
    free(letters);
    CHECK(!MPI_File_close(&file));
}

/* More than is read or written at a time, in pieces of memory and of the file. */
static void large(void) {
    enum { MANY = 1 << 19 };
    MPI_File file = fresh("large");
    MPI_Datatype filetype, every_other;
    MPI_Status status;
    int *own = malloc(2 * MANY * sizeof(int)), *back = calloc(2 * MANY, sizeof(int));
    for (int i = 0; i < 2 * MANY; i++) own[i] = i * 7 + rank;
    MPI_Type_vector(3, 5, 9, MPI_INT, &every_other);
    MPI_Type_create_resized(every_other, 0, 40 * size * sizeof(int), &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_free(&every_other);
    MPI_Type_vector(MANY, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    CHECK(!MPI_File_set_view(file, 160 * rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
    CHECK(!MPI_File_write_all(file, own, 1, every_other, &status));
    CHECK(!MPI_File_seek(file, 0, MPI_SEEK_SET));
    CHECK(!MPI_File_read_all(file, back, 1, every_other, &status));
    CHECK(count_of(&status, MPI_INT) == MANY);
    for (int i = 0; i < MANY; i++) CHECK(back[2 * i] == own[2 * i] && back[2 * i + 1] == 0);
    MPI_Type_free(&filetype);
    MPI_Type_free(&every_other);
    free(own), free(back);
    CHECK(!MPI_File_close(&file));
}

static int handled, handled_code;
static MPI_File handled_file;

static void note(MPI_File *file, int *code, ...) {
    handled++, handled_file = *file, handled_code = *code;
}

static void errors(void) {
    MPI_File file = MPI_FILE_NULL, other;
    MPI_Errhandler handler, current;
    int value = 1;
    MPI_Offset at;
    snprintf(path, sizeof path, "%s/none", folder);
    FAILS(MPI_File_open(world, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    CHECK(file == MPI_FILE_NULL);
    FAILS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    FAILS(MPI_File_open(world, folder, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_BAD_FILE);
    FAILS(MPI_File_open(world, path, MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    FAILS(MPI_File_open(world, path, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file), MPI_ERR_AMODE);
    FAILS(MPI_File_open(MPI_COMM_NULL, path, ALL, MPI_INFO_NULL, &file), MPI_ERR_COMM);
    if (size > 1) {
        int mode = rank ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
        FAILS(MPI_File_open(world, path, mode, MPI_INFO_NULL, &file), MPI_ERR_NOT_SAME);
    }
    FAILS(MPI_File_get_size(MPI_FILE_NULL, &at), MPI_ERR_FILE);
    /* A file of another rank, and of this one. */
    file = fresh("errors");
    FAILS(MPI_File_open(world, path, ALL | MPI_MODE_EXCL, MPI_INFO_NULL, &other), MPI_ERR_FILE_EXISTS);
    FAILS(MPI_File_write_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_File_write_at(file, INT64_MAX, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
    FAILS(MPI_File_write_at(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_File_write_at(file, 0, &value, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
    FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    FAILS(MPI_File_seek(file, 0, 77), MPI_ERR_ARG);
    FAILS(MPI_File_get_size(file, NULL), MPI_ERR_ARG);
    FAILS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
    FAILS(MPI_File_set_view(file, -5, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    FAILS(MPI_File_set_view(file, 0, MPI_INT, MPI_BYTE, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    if (size > 1) {
        MPI_Datatype unit = rank ? MPI_INT : MPI_SHORT;
        FAILS(MPI_File_set_view(file, 0, unit, unit, "native", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
        FAILS(MPI_File_set_size(file, rank), MPI_ERR_NOT_SAME);
    }
    /* Errors of a file go to the handler of it, which it has of the handler of none. */
    MPI_File_get_errhandler(MPI_FILE_NULL, &current);
    CHECK(current == MPI_ERRORS_RETURN);
    MPI_File_create_errhandler(note, &handler);
    CHECK(!MPI_File_set_errhandler(file, handler));
    FAILS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
    CHECK(handled == 1 && handled_file == file && handled_code == MPI_ERR_ARG);
    CHECK(!MPI_File_call_errhandler(file, MPI_ERR_IO) && handled == 2 && handled_code == MPI_ERR_IO);
    CHECK(!MPI_File_close(&file));
    CHECK(!MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    FAILS(MPI_File_delete(folder, MPI_INFO_NULL), MPI_ERR_BAD_FILE);
    CHECK(handled == 3 && handled_file == MPI_FILE_NULL);
    CHECK(!MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MPI_Errhandler_free(&handler);
    /* A disk that is always full. */
    CHECK(!MPI_File_open(world, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_File_write_at_all(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    FAILS(MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    CHECK(!MPI_File_close(&file));
}

/* What a file is opened for, and what is known of it. */
static void modes(void) {
    MPI_File file = fresh("modes");
    MPI_Info info;
    MPI_Group group;
    MPI_Offset at;
    MPI_Request request;
    int mode, ranks, flag, value = rank;
    char text[16];
    CHECK(!MPI_File_preallocate(file, 4096) && size_of(file) == 4096);
    CHECK(!MPI_File_preallocate(file, 100) && size_of(file) == 4096);
    CHECK(!MPI_File_set_size(file, 10) && size_of(file) == 10);
    MPI_File_get_group(file, &group);
    MPI_Group_size(group, &ranks);
    MPI_Group_free(&group);
    CHECK(ranks == size && !MPI_File_get_amode(file, &mode) && mode == ALL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "access_style", "sequential");
    CHECK(!MPI_File_set_info(file, info));
    MPI_Info_free(&info);
    CHECK(!MPI_File_get_info(file, &info));
    MPI_Info_get(info, "access_style", 15, text, &flag);
    CHECK(flag && !strcmp(text, "sequential"));
    MPI_Info_free(&info);
    CHECK(!MPI_File_close(&file));
    CHECK(!MPI_File_open(world, path, MPI_MODE_RDWR | MPI_MODE_APPEND, MPI_INFO_NULL, &file));
    CHECK(position_of(file) == 10 && !MPI_File_get_position_shared(file, &at) && at == 10);
    CHECK(!MPI_File_close(&file));
    CHECK(!MPI_File_open(world, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    FAILS(MPI_File_iwrite(file, &value, 1, MPI_INT, &request), MPI_ERR_READ_ONLY);
    FAILS(MPI_File_set_size(file, 5), MPI_ERR_READ_ONLY);
    CHECK(!MPI_File_close(&file));
    int sequential = MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(!MPI_File_open(world, path, sequential, MPI_INFO_NULL, &file));
    CHECK(!MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    FAILS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(!MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Datatype etype, filetype;
    CHECK(!MPI_File_get_view(file, &at, &etype, &filetype, text) && at == 4 * size);
    CHECK(!MPI_File_close(&file));
    FAILS(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    MPI_Info_create(&info);
    MPI_Info_set(info, "file_perm", "600");
    CHECK(!MPI_File_open(world, path, ALL | MPI_MODE_EXCL, info, &file));
    MPI_Info_free(&info);
    CHECK(!MPI_File_close(&file));
    if (rank == 0) CHECK(!MPI_File_delete(path, MPI_INFO_NULL));
    /* A file of each rank alone. */
    snprintf(path, sizeof path, "%s/own-%d", folder, rank);
    CHECK(!MPI_File_open(MPI_COMM_SELF, path, ALL | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    CHECK(!MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE) && size_of(file) == 4);
    CHECK(!MPI_File_close(&file));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    next = (rank + 1) % size;
    snprintf(folder, sizeof folder, "%s", argv[1]);
    explicit_offsets();
    views();
    shared_pointer();
    external32();
    datareps();
    representation();
    requests();
    atomicity();
    large();
    modes();
    errors();
    MPI_Barrier(world);
    if (rank == 0) puts("all well");
    MPI_Finalize();
    return 0;
}
