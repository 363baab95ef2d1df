/* Collective access to files whose ranks have pieces between each other's: what comes of it is what
 * comes of the calls of one rank, byte for byte. Arguments: a folder that all ranks see, and a
 * seed. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "check.h"

#define FAILS(call, expected)                                                                   \
    do {                                                                                        \
        int class_;                                                                             \
        MPI_Error_class((call), &class_);                                                       \
        CHECK(class_ == (expected));                                                            \
    } while (0)

enum { ROUNDS = 40, SEGMENTS = 3000, LONGEST = 300, MOST = SEGMENTS * LONGEST };

static int rank, size;
static MPI_Comm world = MPI_COMM_WORLD;
static const char *folder;
static uint64_t dice;

/* A number below `below`: the same on all ranks, if all have asked for as many before. */
static int any(int below) {
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return (int)(dice % (uint64_t)below);
}

/* A file in parts, one after the other: how long each is, and whose. Nobody's is -1. */
static int lengths[SEGMENTS], owners[SEGMENTS], segments;

static int plan(void) {
    int shape = any(4), longest = 1 + any(LONGEST), bytes = 0, idle = any(2 * size), same = 1 + any(LONGEST);
    segments = 1 + any(SEGMENTS);
    for (int i = 0; i < segments; i++) {
        lengths[i] = shape == 0 ? same : 1 + any(longest);
        owners[i] = shape < 2 ? i % size : any(size + (shape == 3)) - (shape == 3);
        if (owners[i] == idle) owners[i] = -1;
        bytes += lengths[i];
    }
    return bytes;
}

/* What a rank has of the parts, as a datatype. */
static MPI_Datatype parts_of(int owner, int *bytes) {
    static int own_lengths[SEGMENTS];
    static MPI_Aint places[SEGMENTS];
    MPI_Datatype made, filetype;
    int count = 0, at = 0;
    *bytes = 0;
    for (int i = 0; i < segments; at += lengths[i++]) {
        if (owners[i] != owner) continue;
        own_lengths[count] = lengths[i], places[count++] = at;
        *bytes += lengths[i];
    }
    MPI_Type_create_hindexed(count, own_lengths, places, MPI_BYTE, &made);
    MPI_Type_create_resized(made, 0, at, &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_free(&made);
    return filetype;
}

static unsigned char byte_of(int owner, int number, int turn) {
    return (unsigned char)(number * 31 + number / 251 + owner * 57 + turn * 11 + 1);
}

static MPI_File open_with(const char *name, int mode, const char *choice) {
    static const char *const buffers[] = {"4096", "8192", "65536", "16777216"};
    char path[4096], nodes[16];
    MPI_Info info;
    MPI_File file;
    MPI_Info_create(&info);
    snprintf(nodes, sizeof nodes, "%d", 1 + any(size + 1));
    MPI_Info_set(info, "romio_cb_write", choice);
    MPI_Info_set(info, "romio_cb_read", choice);
    MPI_Info_set(info, "cb_buffer_size", buffers[any(4)]);
    if (any(2)) MPI_Info_set(info, "cb_nodes", nodes);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(!MPI_File_open(world, path, mode, info, &file));
    MPI_Info_free(&info);
    return file;
}

/* Every second byte of memory, if `is_strided`. */
static unsigned char *memory(int bytes, int is_strided, MPI_Datatype *datatype) {
    int step = is_strided ? 2 : 1;
    MPI_Type_vector(bytes, 1, step, MPI_BYTE, datatype);
    MPI_Type_commit(datatype);
    return calloc(1, (size_t)bytes * step + 1);
}

/* Ranks write their parts of a file that was full of something else, once by themselves. */
static void writes(int turn) {
    static unsigned char expected[2 * MOST], back[2 * MOST + 1];
    int bytes = plan(), tiles = 1 + any(2), start = any(10000), own, is_strided = any(2), form = any(4);
    const char *choice = any(4) ? "enable" : "automatic";
    int mode = MPI_MODE_CREATE | (any(2) ? MPI_MODE_WRONLY : MPI_MODE_RDWR);
    int total = start + tiles * bytes;
    if (total > 2 * MOST) tiles = 1, total = start + bytes;
    int counts[64] = {0};
    for (int i = 0; i < total; i++) expected[i] = (unsigned char)(i * 7);
    for (int tile = 0, at = start; tile < tiles; tile++)
        for (int i = 0; i < segments; at += lengths[i++])
            for (int j = 0; owners[i] >= 0 && j < lengths[i]; j++)
                expected[at + j] = byte_of(owners[i], counts[owners[i]]++, turn);
    MPI_Datatype filetype = parts_of(rank, &own), datatype;
    own *= tiles;
    unsigned char *buffer = memory(own, is_strided, &datatype);
    for (int i = 0; i < own; i++) buffer[(is_strided ? 2 : 1) * i] = byte_of(rank, i, turn);
    for (int together = 0; together < 2; together++) {
        MPI_File file = open_with("written", MPI_MODE_CREATE | MPI_MODE_WRONLY, "disable");
        CHECK(!MPI_File_set_size(file, 0));
        for (int i = 0; i < total; i++) back[i] = (unsigned char)(i * 7);
        if (rank == 0) CHECK(!MPI_File_write_at(file, 0, back, total, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(!MPI_File_close(&file));
        MPI_Status status;
        int count;
        file = open_with("written", mode, together ? choice : "disable");
        CHECK(!MPI_File_set_view(file, start, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
        if (form == 0) {
            CHECK(!MPI_File_write_at_all(file, 0, buffer, 1, datatype, &status));
        } else if (form == 1) {
            CHECK(!MPI_File_write_all_begin(file, buffer, 1, datatype));
            CHECK(!MPI_File_write_all_end(file, buffer, &status));
        } else if (form == 2) {
            MPI_Request request;
            CHECK(!MPI_File_iwrite_at_all(file, 0, buffer, 1, datatype, &request));
            MPI_Wait(&request, &status);
        } else {
            MPI_Offset at;
            CHECK(!MPI_File_write_all(file, buffer, 1, datatype, &status));
            CHECK(!MPI_File_get_position(file, &at) && at == own);
        }
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == own);
        CHECK(!MPI_File_close(&file));
        file = open_with("written", MPI_MODE_RDONLY, "disable");
        CHECK(!MPI_File_read_at(file, 0, back, total + 1, MPI_BYTE, &status));
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == total);
        CHECK(!memcmp(back, expected, total));
        CHECK(!MPI_File_close(&file));
    }
    MPI_Type_free(&filetype);
    MPI_Type_free(&datatype);
    free(buffer);
}

/* Ranks read parts of what the file has, perhaps the same parts, and beyond its end. */
static void reads(int turn) {
    static unsigned char written[MOST];
    int bytes = plan(), len = any(4) ? bytes : any(bytes), owner = any(3) ? rank : 0, own;
    int is_strided = any(2), skipped = any(100), more = any(3) * 100;
    const char *choice = any(4) ? "enable" : "automatic";
    MPI_File file = open_with("read", MPI_MODE_CREATE | MPI_MODE_RDWR, choice);
    for (int i = 0; i < len; i++) written[i] = byte_of(0, i, turn);
    CHECK(!MPI_File_set_size(file, 0));
    if (rank == 0) CHECK(!MPI_File_write_at(file, 0, written, len, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(world);
    MPI_Datatype filetype = parts_of(owner, &own), datatype;
    if (own > 0) own += more;
    CHECK(!MPI_File_set_view(file, 0, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
    unsigned char *together = memory(own, is_strided, &datatype);
    MPI_Type_free(&datatype);
    unsigned char *alone = memory(own, is_strided, &datatype);
    MPI_Status status;
    MPI_Count count, expected;
    CHECK(!MPI_File_read_at(file, skipped, alone, 1, datatype, &status));
    MPI_Get_elements_c(&status, datatype, &expected);
    if (any(2)) {
        CHECK(!MPI_File_read_at_all(file, skipped, together, 1, datatype, &status));
    } else {
        CHECK(!MPI_File_seek(file, skipped, MPI_SEEK_SET));
        CHECK(!MPI_File_read_all(file, together, 1, datatype, &status));
    }
    MPI_Get_elements_c(&status, datatype, &count);
    CHECK(count == expected);
    CHECK(!memcmp(together, alone, (size_t)own * (is_strided ? 2 : 1)));
    MPI_Type_free(&filetype);
    MPI_Type_free(&datatype);
    free(together), free(alone);
    CHECK(!MPI_File_close(&file));
}

/* A view in which ranks take turns with 8 bytes. */
static void take_turns(MPI_File file) {
    MPI_Datatype filetype;
    MPI_Type_create_resized(MPI_INT64_T, 0, 8 * size, &filetype);
    MPI_Type_commit(&filetype);
    CHECK(!MPI_File_set_view(file, 8 * rank, MPI_INT64_T, filetype, "native", MPI_INFO_NULL));
    MPI_Type_free(&filetype);
}

/* What one rank does wrong, or cannot do, all ranks hear of. */
static void errors(void) {
    enum { MANY = 4096 };
    static int64_t numbers[MANY];
    MPI_File file;
    int last = size - 1;
    CHECK(!MPI_File_open(world, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    take_turns(file);
    FAILS(MPI_File_write_all(file, numbers, MANY, MPI_INT64_T, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK(!MPI_File_close(&file));
    const char *choices[] = {"enable", "disable"};
    for (int i = 0; i < 2; i++) {
        file = open_with("errors", MPI_MODE_CREATE | MPI_MODE_RDWR, choices[i]);
        CHECK(!MPI_File_set_size(file, 0));
        take_turns(file);
        int count = rank == last ? -1 : MANY;
        FAILS(MPI_File_write_all(file, numbers, count, MPI_INT64_T, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
        int offset = rank == last ? -1 : 0;
        FAILS(MPI_File_read_at_all(file, offset, numbers, MANY, MPI_INT64_T, MPI_STATUS_IGNORE), MPI_ERR_ARG);
        MPI_Datatype none = rank == last ? MPI_DATATYPE_NULL : MPI_INT64_T;
        FAILS(MPI_File_write_ordered(file, numbers, 1, none, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
        /* The last rank may only write the beginning of files. */
        struct rlimit before, limit = {8 * size * MANY / 2, RLIM_INFINITY};
        if (rank == last) {
            getrlimit(RLIMIT_FSIZE, &before);
            limit.rlim_max = before.rlim_max;
            setrlimit(RLIMIT_FSIZE, &limit);
        }
        MPI_Info info;
        char nodes[16];
        MPI_Info_create(&info);
        snprintf(nodes, sizeof nodes, "%d", size);
        MPI_Info_set(info, "cb_nodes", nodes);
        CHECK(!MPI_File_set_info(file, info));
        MPI_Info_free(&info);
        FAILS(MPI_File_write_all(file, numbers, MANY, MPI_INT64_T, MPI_STATUS_IGNORE), MPI_ERR_IO);
        MPI_Offset at;
        CHECK(!MPI_File_get_position(file, &at) && at == 0);
        if (rank == last) setrlimit(RLIMIT_FSIZE, &before);
        CHECK(!MPI_File_write_all(file, numbers, MANY, MPI_INT64_T, MPI_STATUS_IGNORE));
        MPI_Barrier(world);
        CHECK(!MPI_File_get_size(file, &at) && at == 8 * size * MANY);
        CHECK(!MPI_File_close(&file));
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    folder = argv[1];
    dice = strtoull(argv[2], NULL, 10) * 2 + 1;
    for (int turn = 0; turn < ROUNDS; turn++) writes(turn), reads(turn);
    errors();
    MPI_Barrier(world);
    if (rank == 0) puts("all well");
    MPI_Finalize();
    return 0;
}
