/* Messages between two ranks: order, wildcards, probes, modes, persistent requests, truncation. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static void order_and_wildcards(void) {
    int value;
    MPI_Status status;
    if (rank == 0) {
        int seen[64] = {0};
        for (int i = 0; i < 3 * (size - 1); i++) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            CHECK(status.MPI_TAG == seen[status.MPI_SOURCE]);
            CHECK(value == 100 * status.MPI_SOURCE + status.MPI_TAG);
            seen[status.MPI_SOURCE]++;
        }
    } else {
        for (int i = 0; i < 3; i++) {
            value = 100 * rank + i;
            MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Later tags first. */
    if (rank == 0) {
        for (int tag = 0; tag < 4; tag++) MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
    } else if (rank == 1) {
        for (int tag = 3; tag >= 0; tag--) {
            MPI_Recv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value == tag);
        }
    }
}

static void large(void) {
    const int n = 3 << 20;
    char *out = malloc(n), *in = malloc(n);
    for (int i = 0; i < n; i++) out[i] = (char)(i * 7 + rank);
    memset(in, 0, n);
    MPI_Request requests[2];
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Irecv(in, n, MPI_CHAR, before, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, n, MPI_CHAR, next, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++) CHECK(in[i] == (char)(i * 7 + before));
    /* All ranks send first. Messages without room wait. */
    memset(in, 0, n);
    MPI_Status status;
    MPI_Sendrecv(out, n, MPI_CHAR, next, 6, in, n, MPI_CHAR, before, 6, MPI_COMM_WORLD, &status);
    int count;
    MPI_Get_count(&status, MPI_CHAR, &count);
    CHECK(count == n && status.MPI_SOURCE == before);
    for (int i = 0; i < n; i++) CHECK(in[i] == (char)(i * 7 + before));
    free(out);
    free(in);
}

static void probes(void) {
    MPI_Status status;
    if (rank == 0) {
        int values[5] = {1, 2, 3, 4, 5};
        MPI_Send(values, 5, MPI_INT, 1, 9, MPI_COMM_WORLD);
        MPI_Send(values, 2, MPI_INT, 1, 9, MPI_COMM_WORLD);
    } else if (rank == 1) {
        int values[5], count, flag = 0;
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == 5 && status.MPI_TAG == 9);
        MPI_Message message;
        MPI_Mprobe(0, 9, MPI_COMM_WORLD, &message, &status);
        while (!flag) MPI_Iprobe(0, 9, MPI_COMM_WORLD, &flag, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == 2);
        MPI_Recv(values, 5, MPI_INT, 0, 9, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == 2);
        MPI_Mrecv(values, 5, MPI_INT, &message, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == 5 && values[4] == 5 && message == MPI_MESSAGE_NULL);
    }
}

static void modes(void) {
    int value = 7, flag = 1;
    MPI_Request request;
    if (rank == 0) {
        MPI_Issend(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ssend(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    /* Persistent, to the rank itself. */
    int out = 0, in = -1;
    MPI_Request both[2];
    MPI_Send_init(&out, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &both[0]);
    MPI_Recv_init(&in, 1, MPI_INT, rank, 4, MPI_COMM_WORLD, &both[1]);
    for (out = 0; out < 3; out++) {
        MPI_Startall(2, both);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        CHECK(in == out && both[0] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    /* Cancelled. */
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, rank, 44, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && request == MPI_REQUEST_NULL);
    /* From MPI_PROC_NULL. */
    MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
}

static int query(void *extra, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_INT, *(int *)extra);
    status->MPI_SOURCE = 5, status->MPI_TAG = 6;
    return MPI_SUCCESS;
}

static int freed(void *extra) {
    *(int *)extra = 0;
    return MPI_SUCCESS;
}

static int cancelled(void *extra, int is_complete) {
    (void)extra, (void)is_complete;
    return MPI_SUCCESS;
}

/* By which call a list of requests is completed. */
enum { WAITALL, TESTALL, WAITSOME, TESTSOME, WAYS };

static void complete_all(int way, int n, MPI_Request *requests, MPI_Status *statuses) {
    int flag = 0, done = 1, places[16];
    MPI_Status some[16];
    if (way == WAITALL) MPI_Waitall(n, requests, statuses);
    while (way == TESTALL && !flag) MPI_Testall(n, requests, &flag, statuses);
    while (way >= WAITSOME && done != MPI_UNDEFINED) {
        if (way == WAITSOME) MPI_Waitsome(n, requests, &done, places, some);
        else MPI_Testsome(n, requests, &done, places, some);
        for (int i = 0; i < done; i++) statuses[places[i]] = some[i];
    }
}

/* A list with a request of each kind, also such that no call waits for. */
static void kinds_of_requests(void) {
    enum { NONE, IDLE, RECEIVE, SEND, NOBODY, STARTED, OWN, KINDS };
    int out[2] = {70, 71}, in[2], extra, count;
    MPI_Request idle, started;
    MPI_Status statuses[KINDS];
    MPI_Recv_init(in, 1, MPI_INT, rank, 60, MPI_COMM_WORLD, &idle);
    MPI_Recv_init(&in[1], 1, MPI_INT, rank, 61, MPI_COMM_WORLD, &started);
    for (int way = 0; way < WAYS; way++) {
        MPI_Request all[KINDS] = {[NONE] = MPI_REQUEST_NULL, [IDLE] = idle, [STARTED] = started};
        in[0] = in[1] = 0, extra = 3;
        for (int i = 0; i < KINDS; i++) MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &statuses[i]);
        MPI_Start(&all[STARTED]);
        MPI_Irecv(in, 1, MPI_INT, rank, 62, MPI_COMM_WORLD, &all[RECEIVE]);
        MPI_Irecv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &all[NOBODY]);
        MPI_Isend(out, 1, MPI_INT, rank, 62, MPI_COMM_WORLD, &all[SEND]);
        MPI_Send(&out[1], 1, MPI_INT, rank, 61, MPI_COMM_WORLD);
        MPI_Grequest_start(query, freed, cancelled, &extra, &all[OWN]);
        MPI_Grequest_complete(all[OWN]);
        complete_all(way, KINDS, all, statuses);
        CHECK(in[0] == 70 && in[1] == 71 && extra == 0);
        for (int i = 0; i < KINDS; i++) CHECK((all[i] == MPI_REQUEST_NULL) == (i != IDLE && i != STARTED));
        CHECK(statuses[RECEIVE].MPI_SOURCE == rank && statuses[RECEIVE].MPI_TAG == 62);
        CHECK(statuses[STARTED].MPI_SOURCE == rank && statuses[STARTED].MPI_TAG == 61);
        CHECK(statuses[NOBODY].MPI_SOURCE == MPI_PROC_NULL && statuses[OWN].MPI_TAG == 6);
        MPI_Get_count(&statuses[OWN], MPI_INT, &count);
        CHECK(count == 3);
        MPI_Get_count(&statuses[RECEIVE], MPI_INT, &count);
        CHECK(count == 1);
        int is_all = way == WAITALL || way == TESTALL;
        CHECK(!is_all || statuses[NONE].MPI_SOURCE == MPI_ANY_SOURCE);
        CHECK(!is_all || statuses[IDLE].MPI_SOURCE == MPI_ANY_SOURCE);
    }
    MPI_Request_free(&idle);
    MPI_Request_free(&started);
}

/* One of several messages is too long: the call says which, and all requests are gone. */
static void truncation_in_a_list(void) {
    int out[4] = {1, 2, 3, 4}, in[4], error, class;
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, rank, 63 + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 4; i++) MPI_Send(out, i == 2 ? 4 : 1, MPI_INT, rank, 63 + i, MPI_COMM_WORLD);
    error = MPI_Waitall(4, requests, statuses);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_IN_STATUS);
    for (int i = 0; i < 4; i++) {
        MPI_Error_class(statuses[i].MPI_ERROR, &class);
        CHECK(class == (i == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        CHECK(requests[i] == MPI_REQUEST_NULL && statuses[i].MPI_TAG == 63 + i);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void truncation(void) {
    int values[4] = {1, 2, 3, 4}, error, class;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Send(values, 4, MPI_INT, 1, 8, MPI_COMM_WORLD);
    } else if (rank == 1) {
        int few[2] = {0, 0};
        error = MPI_Recv(few, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_TRUNCATE && few[0] == 1 && few[1] == 0);
    }
    error = MPI_Send(values, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Error_class(error, &class);
    CHECK(class == MPI_ERR_RANK);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void datatypes(void) {
    MPI_Datatype column, part, wide;
    int matrix[4][6], i, j;
    for (i = 0; i < 4; i++) for (j = 0; j < 6; j++) matrix[i][j] = rank == 0 ? 10 * i + j : -1;
    MPI_Type_vector(4, 1, 6, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &wide);
    MPI_Type_commit(&wide);
    if (rank == 0) {
        MPI_Send(&matrix[0][2], 2, wide, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        int in[8];
        MPI_Recv(in, 8, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < 4; i++) CHECK(in[i] == 10 * i + 2 && in[4 + i] == 10 * i + 3);
    }
    int sizes[2] = {4, 6}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_Bcast(matrix, 1, part, 0, MPI_COMM_WORLD);
    CHECK(matrix[1][2] == 12 && matrix[2][4] == 24);
    CHECK(rank == 0 || matrix[0][0] == -1);
    MPI_Type_free(&column);
    MPI_Type_free(&wide);
    MPI_Type_free(&part);
}

/* Bursts of small messages. Once they repeat, the library joins them between nodes. */
static void bursts(void) {
    enum { BURSTS = 5000, MESSAGES = 3 };
    const int last = size - 1;
    if (rank != 0 && rank != last) return;
    int out[MESSAGES], in[MESSAGES], other = last - rank;
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < BURSTS; i++) {
        for (int k = 0; k < MESSAGES; k++) {
            out[k] = 10 * i + k;
            MPI_Isend(&out[k], 1, MPI_INT, other, k, MPI_COMM_WORLD, &requests[k]);
        }
        for (int k = MESSAGES - 1; k >= 0; k--)
            MPI_Recv(&in[k], 1, MPI_INT, other, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        for (int k = 0; k < MESSAGES; k++) CHECK(in[k] == 10 * i + k);
    }
}

/* A single message after bursts: rank 0 makes no MPI call until it has arrived. The library delays
 * no message for long. */
static void alone(void) {
    const int last = size - 1;
    if (rank != 0 && rank != last) return;
    char name[64];
    int out[1] = {1}, in[1];
    MPI_Request requests[1];
    snprintf(name, sizeof name, "/tmp/prp-mpi-arrived-%d", (int)getpid());
    if (rank == 0) {
        MPI_Send(name, sizeof name, MPI_CHAR, last, 9, MPI_COMM_WORLD);
        MPI_Isend(&out[0], 1, MPI_INT, last, 10, MPI_COMM_WORLD, &requests[0]);
        const struct timespec pause = {.tv_nsec = 1000000};
        int tries = 0;
        while (access(name, F_OK) != 0 && tries++ < 10000) nanosleep(&pause, NULL);
        CHECK(tries < 10000);
        unlink(name);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(name, sizeof name, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&in[0], 1, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        FILE *arrived = fopen(name, "w");
        CHECK(arrived != NULL);
        fclose(arrived);
    }
}

static sem_t may_go_on;

static void stay(int signal) {
    (void)signal;
    while (sem_wait(&may_go_on) != 0) {}
}

/* Keeps the library's own thread asleep, which sends messages that have waited too long. */
static void hold_thread(void) {
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        char path[300], text[64] = "", state = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue;
        if (fgets(text, sizeof text, file) == NULL) text[0] = 0;
        fclose(file);
        if (strcmp(text, "prp-mpi-control\n")) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        while (state != 'S') {
            file = fopen(path, "r");
            CHECK(file != NULL && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
            fclose(file);
        }
        syscall(SYS_tgkill, getpid(), atoi(task->d_name), SIGUSR1);
    }
    closedir(tasks);
}

/* A nonblocking call, while a message waits for another one that is never sent. */
static void nothing_to_wait_for(void) {
    enum { CASES = 6, MESSAGES = 3 };
    const int last = size - 1;
    if (rank != 0 && rank != last) return;
    int out[MESSAGES] = {0}, in[MESSAGES];
    char name[64], buffer[1000], *detached;
    MPI_Request requests[MESSAGES], none = MPI_REQUEST_NULL;
    if (rank == 0) {
        snprintf(name, sizeof name, "/tmp/prp-mpi-waited-%d", (int)getpid());
        MPI_Send(name, sizeof name, MPI_CHAR, last, 9, MPI_COMM_WORLD);
        signal(SIGUSR1, stay);
        sem_init(&may_go_on, 0, 0);
        MPI_Buffer_attach(buffer, sizeof buffer);
    } else {
        MPI_Recv(name, sizeof name, MPI_CHAR, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int which = 0; which < CASES; which++) {
        for (int k = 0; k < MESSAGES; k++) MPI_Isend(&out[k], 1, MPI_INT, last - rank, k, MPI_COMM_WORLD, &requests[k]);
        for (int k = 0; k < MESSAGES; k++) MPI_Recv(&in[k], 1, MPI_INT, last - rank, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        if (rank == 0) {
            hold_thread();
            if (which == 0) MPI_Ibsend(out, 1, MPI_INT, last, 10, MPI_COMM_WORLD, &requests[0]);
            else MPI_Isend(out, 1, MPI_INT, last, 10, MPI_COMM_WORLD, &requests[0]);
            int flag, index, tries = 0;
            if (which == 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            if (which == 1) MPI_Bsend(out, 1, MPI_INT, rank, 11, MPI_COMM_WORLD);
            if (which == 2) MPI_Buffer_detach(&detached, &index);
            if (which == 3) MPI_Wait(&none, MPI_STATUS_IGNORE);
            if (which == 4) MPI_Waitall(1, &none, MPI_STATUSES_IGNORE);
            if (which == 5) MPI_Testany(1, &none, &index, &flag, MPI_STATUS_IGNORE);
            const struct timespec pause = {.tv_nsec = 1000000};
            while (access(name, F_OK) != 0 && tries++ < 10000) nanosleep(&pause, NULL);
            CHECK(tries < 10000);
            sem_post(&may_go_on);
            unlink(name);
            if (which != 0) MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            if (which == 1) MPI_Recv(in, 1, MPI_INT, rank, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, 1, MPI_INT, 0, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            FILE *arrived = fopen(name, "w");
            CHECK(arrived != NULL);
            fclose(arrived);
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > 1);
    order_and_wildcards();
    large();
    probes();
    modes();
    truncation();
    kinds_of_requests();
    truncation_in_a_list();
    datatypes();
    bursts();
    nothing_to_wait_for();
    alone();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) printf("point to point: all well\n");
    return 0;
}
