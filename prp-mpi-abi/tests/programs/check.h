/* Checks of the test programs in C. */
#include <mpi.h>
#include <stdio.h>

#define CHECK(holds)                                                                            \
    do {                                                                                        \
        if (!(holds)) {                                                                         \
            int rank_;                                                                          \
            MPI_Comm_rank(MPI_COMM_WORLD, &rank_);                                              \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank_, #holds);         \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                       \
        }                                                                                       \
    } while (0)
