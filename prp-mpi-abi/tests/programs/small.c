/* Ranks that exchange messages of all sizes and take no memory of their own: for limits. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { MOST = 1 << 20 };

static char out[MOST], in[MOST];

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int n = 1; n <= MOST; n *= 4) {
        memset(out, n % 251 + rank, n);
        MPI_Request requests[2];
        MPI_Irecv(in, n, MPI_CHAR, before, n % 97, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, n, MPI_CHAR, next, n % 97, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; i++) CHECK(in[i] == (char)(n % 251 + before));
    }
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Win window;
    MPI_Win_create(in, MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    CHECK(*(int *)in == before);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) printf("small: all well\n");
    return 0;
}
