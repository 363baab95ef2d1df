/* Errors of programs. The first argument names the error. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, value = 0;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(what, "skip") && rank != size - 2) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(what, "kill") && rank == 1) raise(SIGKILL);
    if (!strcmp(what, "exit") && rank == 1) exit(7);
    if (!strcmp(what, "leave") && rank == 1) _exit(0);
    /* Until the file is there that the second argument names. */
    if (!strcmp(what, "compute") && rank == 1) while (access(argv[2], F_OK)) continue;
    if (!strcmp(what, "stop") && rank == 1) {
        FILE *file = fopen(argv[2], "w");
        fprintf(file, "%d", getpid());
        fclose(file);
        raise(SIGSTOP);
    }
    if (!strcmp(what, "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 9);
    if (!strcmp(what, "mismatch")) {
        if (rank == 1) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        else MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!strcmp(what, "counts")) {
        double a[8] = {0}, b[8];
        MPI_Allreduce(a, b, rank == 1 ? 8 : 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (!strcmp(what, "roots")) MPI_Bcast(&value, 1, MPI_INT, rank == 1, MPI_COMM_WORLD);
    if (!strcmp(what, "circle")) MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "truncate")) {
        int two[2] = {1, 2};
        if (rank == 0) MPI_Send(two, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(what, "spawn")) {
        MPI_Comm children;
        MPI_Comm_spawn("none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    /* These may be called at any time. */
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int is_over = 0;
    MPI_Info info;
    MPI_Finalized(&is_over);
    MPI_Get_library_version(text, &size);
    MPI_Error_string(MPI_ERR_COMM, text, &size);
    MPI_Info_create(&info);
    MPI_Info_free(&info);
    if (!is_over) return 3;
    if (!strcmp(what, "late") && rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
