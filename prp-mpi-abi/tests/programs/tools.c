/* The interface of tools, on two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static int rank;

static void control_variables(void) {
    int count, index, length, bind, scope, verbosity, number;
    char name[64], about[256], text[256];
    unsigned long limit = 0;
    MPI_Datatype datatype;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle;
    CHECK(!MPI_T_cvar_get_num(&count) && count > 2);
    for (int i = 0; i < count; i++) {
        int name_len = sizeof name, about_len = sizeof about;
        CHECK(!MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &datatype, &enumeration, about, &about_len,
                                   &bind, &scope));
        CHECK((int)strlen(name) == name_len - 1 && strlen(about) > 5 && bind == MPI_T_BIND_NO_OBJECT);
        CHECK(!MPI_T_cvar_get_index(name, &index) && index == i);
    }
    CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_index("none", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(!MPI_T_cvar_get_index("PRP_MPI_HANG_SECONDS", &index));
    /* A text that has no room is cut, and its length is that of all of it. */
    length = 4;
    CHECK(!MPI_T_cvar_get_info(index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(!strcmp(name, "PRP") && length == (int)sizeof "PRP_MPI_HANG_SECONDS");
    CHECK(!MPI_T_cvar_handle_alloc(index, NULL, &handle, &number) && number == 256);
    CHECK(!MPI_T_cvar_read(handle, text) && !strcmp(text, getenv("PRP_MPI_HANG_SECONDS")));
    CHECK(MPI_T_cvar_write(handle, text) == MPI_T_ERR_CVAR_SET_NEVER);
    CHECK(!MPI_T_cvar_handle_free(&handle) && handle == MPI_T_CVAR_HANDLE_NULL);
    CHECK(MPI_T_cvar_read(handle, text) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(!MPI_T_cvar_get_index("prp_mpi_unexpected_bytes_limit", &index));
    CHECK(!MPI_T_cvar_handle_alloc(index, NULL, &handle, &number) && number == 1);
    CHECK(!MPI_T_cvar_read(handle, &limit) && limit > 1000);
    MPI_T_cvar_handle_free(&handle);
}

/* What a variable has now. */
static unsigned long value_of(const char *name, int class) {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long value = 12345;
    int index, count;
    CHECK(!MPI_T_pvar_get_index(name, class, &index) && !MPI_T_pvar_session_create(&session));
    CHECK(!MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) && count == 1);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(!MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) && !MPI_T_pvar_read(session, handle, &value));
    CHECK(MPI_T_pvar_write(session, handle, &value) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, handle, &value) == MPI_T_ERR_INVALID_SESSION);
    CHECK(!MPI_T_pvar_handle_free(session, &handle) && handle == MPI_T_PVAR_HANDLE_NULL);
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(!MPI_T_pvar_session_free(&session) && session == MPI_T_PVAR_SESSION_NULL);
    return value;
}

/* Handles go with their session, whatever the next one is called. */
static void sessions(void) {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long value;
    int count;
    CHECK(!MPI_T_pvar_session_create(&session));
    CHECK(!MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count));
    CHECK(!MPI_T_pvar_session_free(&session) && !MPI_T_pvar_session_create(&session));
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(!MPI_T_pvar_session_free(&session));
}

static unsigned long level(const char *name) {
    return value_of(name, MPI_T_PVAR_CLASS_LEVEL);
}

static void performance_variables(void) {
    MPI_Comm world = MPI_COMM_WORLD, copy;
    MPI_Request request;
    int value = 0, other = 1 - rank, count, class, index, continuous;
    CHECK(!MPI_T_pvar_get_num(&count) && count > 5);
    for (int i = 0; i < count; i++) {
        char name[64];
        int length = sizeof name;
        CHECK(!MPI_T_pvar_get_info(i, name, &length, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, &continuous, NULL));
        CHECK(continuous && !MPI_T_pvar_get_index(name, class, &index) && index == i);
    }
    CHECK(MPI_T_pvar_get_index("prp_mpi_requests", MPI_T_PVAR_CLASS_TIMER, &index) == MPI_T_ERR_INVALID_NAME);
    unsigned long before = level("prp_mpi_communicators");
    MPI_Comm_dup(world, &copy);
    CHECK(level("prp_mpi_communicators") == before + 1);
    MPI_Comm_free(&copy);
    CHECK(level("prp_mpi_requests") == 0);
    MPI_Irecv(&value, 1, MPI_INT, other, 1, world, &request);
    CHECK(level("prp_mpi_requests") == 1 && level("prp_mpi_posted_receives") == 1);
    MPI_Barrier(world);
    MPI_Send(&rank, 1, MPI_INT, other, 2, world);
    MPI_Send(&rank, 1, MPI_INT, other, 3, world);
    MPI_Probe(other, 3, world, MPI_STATUS_IGNORE);
    CHECK(level("prp_mpi_unexpected_messages") == 2);
    for (int tag = 2; tag < 4; tag++) MPI_Recv(&value, 1, MPI_INT, other, tag, world, MPI_STATUS_IGNORE);
    CHECK(level("prp_mpi_unexpected_messages") == 0);
    MPI_Send(&rank, 1, MPI_INT, other, 1, world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(value == other && level("prp_mpi_requests") == 0);
    CHECK(value_of("prp_mpi_bytes_held", MPI_T_PVAR_CLASS_AGGREGATE) >= 8);
    MPI_Barrier(world);
}

static void categories(void) {
    int count, index, controls, performances, numbers[2] = {-1, -1}, all = 0;
    MPI_T_category_get_num(&count);
    for (int i = 0; i < count; i++) {
        CHECK(!MPI_T_category_get_info(i, NULL, NULL, NULL, NULL, &controls, &performances, &index) && index == 0);
        all += performances;
    }
    CHECK(!MPI_T_pvar_get_num(&controls) && controls == all);
    CHECK(!MPI_T_category_get_index("prp_mpi_objects", &index));
    CHECK(!MPI_T_category_get_pvars(index, 1, numbers) && numbers[0] > 0 && numbers[1] == -1);
    CHECK(MPI_T_category_get_cvars(count, 1, numbers) == MPI_T_ERR_INVALID_INDEX);
    CHECK(!MPI_T_category_changed(&index) && index == 0);
    /* There are no events. */
    CHECK(!MPI_T_event_get_num(&count) && count == 0 && !MPI_T_source_get_num(&count) && count == 0);
    CHECK(MPI_T_event_get_index("none", &index) == MPI_T_ERR_INVALID_NAME);
}

int main(int argc, char **argv) {
    int count, level_of_threads, size;
    CHECK(MPI_T_cvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(!MPI_T_init_thread(MPI_THREAD_SINGLE, &level_of_threads));
    CHECK(!MPI_T_init_thread(MPI_THREAD_SINGLE, &level_of_threads) && !MPI_T_finalize());
    control_variables();
    CHECK(level("prp_mpi_pending_operations") == 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    control_variables();
    CHECK(size == 2);
    performance_variables();
    sessions();
    categories();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) puts("all well");
    MPI_Finalize();
    categories();
    CHECK(!MPI_T_finalize() && MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    return 0;
}
