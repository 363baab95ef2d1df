/* What windows, files, messages that nobody waits for and datatypes cost; used by
 * `netns-scripts/bench --mpi`.
 *
 * measure_data SECONDS FOLDER WHAT...: each WHAT is measured for that long, in batches. Rank 0
 * prints a line for each, in microseconds: its name, the median over the batches, and the best.
 *   put:BYTES, get:BYTES, accumulate:BYTES   from rank 0 to rank 1, and one MPI_Win_fence
 *   interleaved:MIB   all ranks write a new file in FOLDER with MPI_File_write_all, PIECE bytes of
 *                     each rank by turns
 *   ordered:MIB       rank 0 writes the same bytes in order
 *   queue:COUNT       one of so many messages of 8 bytes that are there before rank 1 receives any
 *   column:DOUBLES    half a round trip of a column of a matrix with so many rows and columns
 *   row:DOUBLES       the same of a row */
#include "measure.h"

enum { PIECE = 512 };

/* Bytes that rank 0 writes in order with one call. */
#define AT_ONCE (16 << 20)

static const char *folder;
static double *own, *other;
static MPI_Win window;
static MPI_Datatype column;

static void put(int bytes) {
    if (rank == 0) MPI_Put(own, bytes / 8, MPI_DOUBLE, 1, 0, bytes / 8, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
}

static void get(int bytes) {
    if (rank == 0) MPI_Get(own, bytes / 8, MPI_DOUBLE, 1, 0, bytes / 8, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
}

static void accumulate(int bytes) {
    if (rank == 0) MPI_Accumulate(own, bytes / 8, MPI_DOUBLE, 1, 0, bytes / 8, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_fence(0, window);
}

static MPI_File new_file(void) {
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/measured", folder);
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file)) MPI_Abort(MPI_COMM_WORLD, 1);
    return file;
}

static void interleaved(int mib) {
    MPI_File file = new_file();
    MPI_Datatype piece, filetype;
    long each = ((long)mib << 20) / size;
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, PIECE * size, &filetype);
    MPI_Type_commit(&filetype);
    MPI_File_set_view(file, PIECE * rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
    if (MPI_File_write_all(file, own, (int)each, MPI_BYTE, MPI_STATUS_IGNORE)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_free(&piece);
    MPI_Type_free(&filetype);
    MPI_File_close(&file);
}

static void ordered(int mib) {
    MPI_File file = new_file();
    long all = (long)mib << 20;
    for (long at = 0; rank == 0 && at < all; at += AT_ONCE) {
        int bytes = all - at < AT_ONCE ? (int)(all - at) : AT_ONCE;
        if (MPI_File_write_at(file, at, (char *)own + at / size, bytes, MPI_BYTE, MPI_STATUS_IGNORE))
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_File_close(&file);
}

/* The message behind all others is received first. */
static void queue(int count) {
    for (int i = 0; rank == 0 && i <= count; i++) MPI_Send(own, 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(other, 1, MPI_DOUBLE, 0, count, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 1 && i < count; i++)
        MPI_Recv(other, 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void pingpong(int count, MPI_Datatype datatype) {
    if (rank == 0) MPI_Send(own, count, datatype, 1, 1, MPI_COMM_WORLD);
    if (rank < 2) MPI_Recv(other, count, datatype, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(own, count, datatype, 0, 1, MPI_COMM_WORLD);
}

static void send_column(int doubles) {
    (void)doubles;
    pingpong(1, column);
}

static void send_row(int doubles) {
    pingpong(doubles, MPI_DOUBLE);
}

static void measure_window(const char *what, void (*once)(int), int bytes, double seconds) {
    MPI_Win_create(other, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    measure_batches(what, once, bytes, seconds, 1e6);
    MPI_Win_free(&window);
}

static void measure(const char *what, double seconds) {
    const char *colon = strchr(what, ':');
    int amount = colon ? atoi(colon + 1) : 0;
    int is_file = !strncmp(what, "interleaved", 11) || !strncmp(what, "ordered", 7);
    int is_matrix = !strncmp(what, "column", 6) || !strncmp(what, "row", 3);
    size_t bytes = is_file ? ((size_t)amount << 20) / size + AT_ONCE : (size_t)amount * 8 * (is_matrix ? amount : 1) + 8;
    own = malloc(bytes), other = malloc(is_file ? 8 : bytes);
    memset(own, 1, bytes), memset(other, 1, is_file ? 8 : bytes);
    if (!strncmp(what, "put", 3)) measure_window(what, put, amount, seconds);
    else if (!strncmp(what, "get", 3)) measure_window(what, get, amount, seconds);
    else if (!strncmp(what, "accumulate", 10)) measure_window(what, accumulate, amount, seconds);
    else if (!strncmp(what, "interleaved", 11)) measure_batches(what, interleaved, amount, seconds, 1e6);
    else if (!strncmp(what, "ordered", 7)) measure_batches(what, ordered, amount, seconds, 1e6);
    else if (!strncmp(what, "queue", 5)) measure_batches(what, queue, amount, seconds, 1e6 / amount);
    else if (!strncmp(what, "row", 3)) measure_batches(what, send_row, amount, seconds, 0.5e6);
    else {
        MPI_Type_vector(amount, 1, amount, MPI_DOUBLE, &column);
        MPI_Type_commit(&column);
        measure_batches(what, send_column, amount, seconds, 0.5e6);
        MPI_Type_free(&column);
    }
    free(own), free(other);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    folder = argv[2];
    for (int i = 3; i < argc; i++) measure(argv[i], atof(argv[1]));
    MPI_Finalize();
    return 0;
}
