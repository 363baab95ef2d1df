/* Sessions, one after the other. The argument selects the case. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static MPI_Session begin(void) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return session;
}

/* All ranks of the job. */
static MPI_Comm all_of(MPI_Session session) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void add_up(MPI_Comm comm) {
    int rank, size, sum;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < 100; i++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2);
    }
    MPI_Comm_free(&comm);
}

static void session(void) {
    MPI_Session own = begin();
    add_up(all_of(own));
    MPI_Session_finalize(&own);
}

/* Every rank ends its last session and begins another one. */
static void again(void) {
    for (int i = 0; i < 20; i++) session();
}

/* Ranks end sessions while others keep theirs: the end of a session waits for no other rank. */
static void alone(void) {
    MPI_Session kept = begin();
    MPI_Group group;
    int rank;
    MPI_Group_from_session_pset(kept, "mpi://WORLD", &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_free(&group);
    if (rank % 2 == 0) MPI_Session_finalize(&kept);
    for (int i = 0; i < 3; i++) {
        MPI_Session own = rank % 2 ? kept : begin();
        add_up(all_of(own));
        if (rank % 2 == 0) MPI_Session_finalize(&own);
    }
    if (rank % 2) MPI_Session_finalize(&kept);
    if (rank == 0) puts("all well");
}

/* Before MPI_Init and after MPI_Finalize. */
static void around(void) {
    MPI_Comm comm;
    session();
    MPI_Init(NULL, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    add_up(comm);
    session();
    MPI_Finalize();
    session();
}

/* A message that was sent before the end of the session arrives, although its sender has ended. */
static void last_words(int rank) {
    enum { COUNT = 1 << 20 };
    static int words[COUNT];
    MPI_Session own = begin();
    MPI_Comm comm = all_of(own);
    int size;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT; i++) words[i] = rank ? i : -1;
    if (rank) MPI_Send(words, COUNT, MPI_INT, 0, 1, comm);
    for (int from = 1; !rank && from < size; from++) {
        MPI_Recv(words, COUNT, MPI_INT, from, 1, comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++) CHECK(words[i] == i);
    }
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&own);
}

/* The info of a session asks for a level of threads, and says which one there is. */
static void threads(void) {
    MPI_Session own;
    MPI_Info asked, told;
    char level[MPI_MAX_INFO_VAL];
    int room = sizeof level, is_there = 0;
    MPI_Info_create(&asked);
    MPI_Info_set(asked, "thread_level", "MPI_THREAD_FUNNELED");
    CHECK(MPI_Session_init(asked, MPI_ERRORS_RETURN, &own) == MPI_SUCCESS);
    MPI_Session_get_info(own, &told);
    MPI_Info_get_string(told, "thread_level", &room, level, &is_there);
    CHECK(is_there && !strcmp(level, "MPI_THREAD_MULTIPLE"));
    MPI_Info_free(&told);
    MPI_Session_finalize(&own);
    MPI_Info_set(asked, "thread_level", "NO_SUCH_LEVEL");
    CHECK(MPI_Session_init(asked, MPI_ERRORS_RETURN, &own) == MPI_ERR_INFO_VALUE);
    MPI_Info_free(&asked);
    CHECK(MPI_Session_init(asked, MPI_ERRORS_RETURN, &own) == MPI_SUCCESS);
    MPI_Session_finalize(&own);
}

static int errors;

static void count(MPI_Session *session, int *code, ...) {
    (void)session;
    errors += *code == MPI_ERR_ARG;
}

/* Errors of a session go to its own error handler. */
static void wrong(void) {
    MPI_Session own;
    MPI_Errhandler counting;
    MPI_Group group;
    MPI_Info info;
    int length = 0;
    MPI_Session_create_errhandler(count, &counting);
    MPI_Session_init(MPI_INFO_NULL, counting, &own);
    CHECK(MPI_Session_get_nth_pset(own, MPI_INFO_NULL, 99, &length, NULL) == MPI_ERR_ARG && errors == 1);
    CHECK(MPI_Session_get_pset_info(own, "none", &info) == MPI_ERR_ARG && errors == 2);
    CHECK(MPI_Group_from_session_pset(own, "none", &group) == MPI_ERR_ARG && errors == 3);
    CHECK(MPI_Group_from_session_pset(own, "MPI://world", &group) == MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Session_set_errhandler(own, MPI_ERRORS_RETURN);
    CHECK(MPI_Group_from_session_pset(own, "none", &group) == MPI_ERR_ARG && errors == 3);
    MPI_Session_finalize(&own);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int rank = 0;
    if (!strcmp(what, "alone")) return alone(), 0;
    MPI_Session first = begin();
    MPI_Comm comm = all_of(first);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&first);
    if (!strcmp(what, "again")) again();
    else if (!strcmp(what, "around")) around();
    else if (!strcmp(what, "last_words")) last_words(rank);
    else if (!strcmp(what, "leave")) begin();
    else if (!strcmp(what, "wrong")) wrong();
    else if (!strcmp(what, "threads")) threads();
    else return 2;
    if (!rank) puts("all well");
    return 0;
}
