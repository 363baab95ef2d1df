/* What MPI_Pack costs, and a copy of as many bytes; used by `netns-scripts/bench --mpi`.
 *
 * measure_pack SECONDS WHAT...: each WHAT is measured for that long, in batches. Rank 0 prints a
 * line for each, in microseconds: its name, the median over the batches, and the best.
 *   vector:BYTES   every second double
 *   column:BYTES   a column of a square matrix of doubles
 *   struct:BYTES   an array of `struct mixed`
 *   memcpy:BYTES   no MPI_Pack: memcpy of bytes that lie in one piece */
#include "measure.h"
#include <stddef.h>

struct mixed {
    int number;
    double value;
    char name[4];
};

/* Bytes of a `struct mixed` without its gaps. */
enum { PACKED = 16 };

static char *from, *to;
static MPI_Datatype datatype;
static int count;

static void pack(int bytes) {
    int position = 0;
    MPI_Pack(from, count, datatype, to, bytes, &position, MPI_COMM_SELF);
    if (position != bytes) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The compiler does not know what is copied, or that it is not looked at. */
static void copy(int bytes) {
    memcpy(to, from, bytes);
    __asm__ volatile("" ::: "memory");
}

static void make_struct(void) {
    int lengths[] = {1, 1, 4};
    MPI_Aint places[] = {offsetof(struct mixed, number), offsetof(struct mixed, value), offsetof(struct mixed, name)};
    MPI_Datatype kinds[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Type_create_struct(3, lengths, places, kinds, &datatype);
}

static void measure_packing(const char *what, int bytes, double seconds) {
    int doubles = bytes / 8, stride = *what == 'c' ? doubles : 2;
    count = *what == 's' ? bytes / PACKED : 1;
    if (*what == 's') make_struct();
    else MPI_Type_vector(doubles, 1, stride, MPI_DOUBLE, &datatype);
    MPI_Type_commit(&datatype);
    measure_batches(what, pack, bytes, seconds, 1e6);
    MPI_Type_free(&datatype);
}

static void measure(const char *what, double seconds) {
    int bytes = atoi(strchr(what, ':') + 1);
    size_t room = (size_t)bytes * (*what == 'c' ? bytes / 8 : 2);
    from = malloc(room), to = malloc(bytes);
    memset(from, 1, room), memset(to, 1, bytes);
    if (*what == 'm') measure_batches(what, copy, bytes, seconds, 1e6);
    else measure_packing(what, bytes, seconds);
    free(from), free(to);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 2; i < argc; i++) measure(argv[i], atof(argv[1]));
    MPI_Finalize();
    return 0;
}
