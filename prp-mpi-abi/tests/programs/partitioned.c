/* Messages in parts, on any number of ranks: each rank sends to the next one. */
#include <mpi.h>
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

enum { PARTS = 8, EACH = 1000, ALL = PARTS * EACH };

static int rank, size, next, previous;
static MPI_Comm world = MPI_COMM_WORLD;
static int out[ALL], in[ALL];

static void fill(int round) {
    for (int i = 0; i < ALL; i++) out[i] = rank * ALL + i + round, in[i] = -1;
}

static void check_all(int round) {
    for (int i = 0; i < ALL; i++) CHECK(in[i] == previous * ALL + i + round);
}

/* The receiver divides the same bytes into `theirs` parts. */
static void divided(int theirs) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int count;
    MPI_Psend_init(out, PARTS, EACH, MPI_INT, next, 3, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, theirs, ALL / theirs, MPI_INT, previous, 3, world, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 5; round++) {
        int order[3] = {7, 0, 5};
        fill(round);
        MPI_Startall(2, requests);
        MPI_Pready_range(1, 4, requests[0]);
        MPI_Pready_list(3, order, requests[0]);
        MPI_Pready(6, requests[0]);
        MPI_Waitall(2, requests, statuses);
        check_all(round);
        MPI_Get_count(&statuses[1], MPI_INT, &count);
        CHECK(count == ALL && statuses[1].MPI_SOURCE == previous && statuses[1].MPI_TAG == 3);
    }
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
}

/* A part has come before the next one is ready. */
static void one_after_the_other(void) {
    MPI_Request requests[2];
    int flag, answer = 0;
    MPI_Psend_init(out, 2, ALL / 2, MPI_INT, next, 0, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, ALL / 4, MPI_INT, previous, 0, world, MPI_INFO_NULL, &requests[1]);
    CHECK(!MPI_Parrived(requests[1], 0, &flag) && flag);
    fill(0);
    MPI_Startall(2, requests);
    CHECK(!MPI_Parrived(requests[1], 3, &flag) && !flag);
    MPI_Barrier(world);
    MPI_Pready(1, requests[0]);
    for (int part = 2; part < 4; part++) {
        do MPI_Parrived(requests[1], part, &flag);
        while (!flag);
    }
    CHECK(in[ALL / 2] == previous * ALL + ALL / 2 && in[ALL - 1] == previous * ALL + ALL - 1);
    MPI_Sendrecv(&rank, 1, MPI_INT, previous, 1, &answer, 1, MPI_INT, next, 1, world, MPI_STATUS_IGNORE);
    CHECK(answer == next && !MPI_Parrived(requests[1], 1, &flag) && !flag);
    MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Sendrecv(&rank, 1, MPI_INT, previous, 1, &answer, 1, MPI_INT, next, 1, world, MPI_STATUS_IGNORE);
    MPI_Pready(0, requests[0]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    check_all(0);
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
}

/* Columns of a matrix here are rows there, in other parts. */
static void datatypes(void) {
    enum { SIDE = 12 };
    int matrix[SIDE][SIDE], rows[SIDE][SIDE];
    MPI_Request requests[2];
    MPI_Datatype column, resized;
    MPI_Type_vector(SIDE, 1, SIDE, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &resized);
    MPI_Type_commit(&resized);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) matrix[i][j] = rank * 1000 + i * SIDE + j;
    for (int turn = 0; turn < 2; turn++) {
        /* Columns are sent in the first turn, and received in the second one. */
        MPI_Datatype sent = turn ? MPI_INT : resized, received = turn ? resized : MPI_INT;
        int sent_each = turn ? 3 * SIDE : 3, received_each = turn ? 2 : 2 * SIDE;
        memset(rows, 0, sizeof rows);
        MPI_Psend_init(matrix, 4, sent_each, sent, next, 1, world, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(rows, 6, received_each, received, previous, 1, world, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        for (int part = 3; part >= 0; part--) MPI_Pready(part, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) CHECK(rows[i][j] == previous * 1000 + j * SIDE + i);
        for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&resized);
}

/* Messages with the same ranks and tag match in the order in which they were made. */
static void order(void) {
    MPI_Request requests[4];
    int sent[2] = {10 * rank, 10 * rank + 1}, got[2] = {-1, -1}, plain = -1;
    for (int i = 0; i < 2; i++) {
        MPI_Psend_init(&sent[i], 1, 1, MPI_INT, next, 2, world, MPI_INFO_NULL, &requests[i]);
        MPI_Precv_init(&got[i], 1, 1, MPI_INT, previous, 2, world, MPI_INFO_NULL, &requests[2 + i]);
    }
    for (int i = 1; i >= 0; i--) {
        MPI_Start(&requests[i]);
        MPI_Pready(0, requests[i]);
    }
    /* A message that is not in parts does not match them. */
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 2, &plain, 1, MPI_INT, previous, 2, world, MPI_STATUS_IGNORE);
    CHECK(plain == previous);
    MPI_Startall(2, requests + 2);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    CHECK(got[0] == 10 * previous && got[1] == 10 * previous + 1);
    for (int i = 0; i < 4; i++) MPI_Request_free(&requests[i]);
}

/* The buffer of the receiver is longer than the message, or there are no parts at all. */
static void shorter(void) {
    MPI_Request requests[2];
    MPI_Status status;
    int sent[4] = {rank, rank + 1, rank + 2, rank + 3}, got[6] = {-1, -1, -1, -1, -1, -1}, count;
    MPI_Psend_init(sent, 2, 2, MPI_INT, next, 4, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(got, 2, 3, MPI_INT, previous, 4, world, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 1, requests[0]);
    MPI_Wait(&requests[1], &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 4 && got[4] == -1 && got[5] == -1);
    for (int i = 0; i < 4; i++) CHECK(got[i] == previous + i);
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
    MPI_Psend_init(sent, 0, 2, MPI_INT, next, 4, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(got, 0, 2, MPI_INT, previous, 4, world, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Wait(&requests[1], &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 0);
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
}

static void errors(void) {
    MPI_Request requests[2], plain;
    MPI_Status status;
    int flag, value;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    FAILS(MPI_Psend_init(out, -1, 1, MPI_INT, next, 0, world, MPI_INFO_NULL, &requests[0]), MPI_ERR_ARG);
    FAILS(MPI_Psend_init(out, 1, -1, MPI_INT, next, 0, world, MPI_INFO_NULL, &requests[0]), MPI_ERR_COUNT);
    FAILS(MPI_Psend_init(out, 1, 1, MPI_INT, size, 0, world, MPI_INFO_NULL, &requests[0]), MPI_ERR_RANK);
    FAILS(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_INFO_NULL, &requests[0]), MPI_ERR_RANK);
    MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, world, &plain);
    FAILS(MPI_Pready(0, plain), MPI_ERR_REQUEST);
    MPI_Request_free(&plain);
    MPI_Psend_init(out, 2, 3, MPI_INT, next, 0, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 1, 5, MPI_INT, previous, 0, world, MPI_INFO_NULL, &requests[1]);
    FAILS(MPI_Pready(0, requests[0]), MPI_ERR_REQUEST);
    MPI_Startall(2, requests);
    FAILS(MPI_Pready(2, requests[0]), MPI_ERR_ARG);
    FAILS(MPI_Pready(0, requests[1]), MPI_ERR_ARG);
    FAILS(MPI_Parrived(requests[0], 0, &flag), MPI_ERR_ARG);
    CHECK(!MPI_Pready(0, requests[0]));
    FAILS(MPI_Pready(0, requests[0]), MPI_ERR_ARG);
    CHECK(!MPI_Pready(1, requests[0]));
    CHECK(!MPI_Wait(&requests[0], &status));
    /* It has six numbers, for which there is no room. */
    FAILS(MPI_Wait(&requests[1], &status), MPI_ERR_TRUNCATE);
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
    MPI_Psend_init(out, 2, 3, MPI_INT, MPI_PROC_NULL, 0, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 2, 3, MPI_INT, MPI_PROC_NULL, 0, world, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    CHECK(!MPI_Pready_range(0, 1, requests[0]) && !MPI_Parrived(requests[1], 1, &flag) && flag);
    CHECK(!MPI_Wait(&requests[1], &status) && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) MPI_Request_free(&requests[i]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    next = (rank + 1) % size, previous = (rank + size - 1) % size;
    divided(PARTS);
    divided(1);
    divided(5);
    divided(100);
    one_after_the_other();
    datatypes();
    order();
    shorter();
    errors();
    MPI_Barrier(world);
    if (rank == 0) puts("all well");
    MPI_Finalize();
    return 0;
}
