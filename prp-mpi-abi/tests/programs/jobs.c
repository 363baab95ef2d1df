/* Jobs that meet: `accept NAME` and `connect NAME` are two jobs, `within` is one of two ranks or
 * more, `errors` one of one rank, `join` two processes without a launcher. `leave NAME` is killed
 * while `wait NAME` waits for it. */
#include <mpi.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

/* What ranks of both groups do together. The group that connects has the high ranks. */
static void talk(MPI_Comm both, int connects) {
    int remote, own, others, all, out[2], in[2], x = 0;
    MPI_Comm merged, part, again;
    MPI_Win window;
    MPI_Status status;
    MPI_Comm_remote_size(both, &remote), MPI_Comm_size(both, &own);
    MPI_Comm_rank(both, &x);
    CHECK(x == rank && own == size);

    /* Each rank with each of the other group. */
    for (int other = 0; other < remote; other++) {
        MPI_Request requests[2];
        out[0] = connects, out[1] = 1000 * rank + other;
        MPI_Irecv(in, 2, MPI_INT, other, 7, both, &requests[0]);
        MPI_Isend(out, 2, MPI_INT, other, 7, both, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in[0] == !connects && in[1] == 1000 * other + rank);
    }
    if (rank == 0) {
        static char large[2][1 << 20];
        memset(large[0], 'a' + connects, sizeof large[0]);
        MPI_Sendrecv(large[0], sizeof large[0], MPI_CHAR, 0, 8, large[1], sizeof large[1], MPI_CHAR,
                     MPI_ANY_SOURCE, MPI_ANY_TAG, both, &status);
        CHECK(large[1][0] == 'a' + !connects && large[1][sizeof large[1] - 1] == 'a' + !connects);
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 8);
        if (connects)
            MPI_Ssend(&x, 1, MPI_INT, 0, 9, both);
        MPI_Recv(&x, 1, MPI_INT, 0, 9, both, &status);
        if (!connects)
            MPI_Ssend(&x, 1, MPI_INT, 0, 9, both);
    }
    others = rank + 1;
    MPI_Allreduce(&others, &all, 1, MPI_INT, MPI_SUM, both);
    CHECK(all == remote * (remote + 1) / 2);

    /* One group of both, of which parts and duplicates are made. */
    MPI_Intercomm_merge(both, connects, &merged);
    MPI_Comm_rank(merged, &x), MPI_Comm_size(merged, &all);
    CHECK(all == own + remote && x == (connects ? remote + rank : rank));
    MPI_Comm_split(merged, x % 2, -x, &part);
    others = 1;
    MPI_Allreduce(&others, &all, 1, MPI_INT, MPI_SUM, part);
    CHECK(all == (own + remote + !(x % 2)) / 2);
    MPI_Comm_free(&part);
    MPI_Comm_dup(merged, &again);
    MPI_Allreduce(&x, &all, 1, MPI_INT, MPI_MAX, again);
    CHECK(all == own + remote - 1);
    MPI_Comm_free(&again);
    MPI_Intercomm_create(MPI_COMM_WORLD, 0, merged, connects ? 0 : own, 3, &again);
    MPI_Comm_remote_size(again, &all);
    CHECK(all == remote);
    MPI_Barrier(again);
    MPI_Comm_free(&again);

    /* A window of both, whose ranks each write to the next one. */
    in[0] = -1;
    MPI_Win_create(in, sizeof(int), sizeof(int), MPI_INFO_NULL, merged, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&x, 1, MPI_INT, (x + 1) % (own + remote), 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    CHECK(in[0] == (x + own + remote - 1) % (own + remote));
    MPI_Win_free(&window);
    MPI_Comm_disconnect(&merged);
    CHECK(merged == MPI_COMM_NULL);
}

static void find(const char *name, char *port) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* Twice, since processes may meet again. */
static void with_another_job(int connects, const char *name) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm both;
    int root = size - 1;
    if (rank == root && connects) find(name, port);
    if (rank == root && !connects) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    for (int round = 0; round < 2; round++) {
        if (connects) {
            MPI_Comm_connect(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &both);
        } else {
            MPI_Comm_accept(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &both);
        }
        talk(both, connects);
        MPI_Comm_disconnect(&both);
    }
    if (rank == root && !connects) {
        MPI_Unpublish_name(name, MPI_INFO_NULL, port);
        MPI_Close_port(port);
    }
}

/* A job whose ranks meet each other: the even and the odd ones. */
static void within_a_job(void) {
    char port[MPI_MAX_PORT_NAME] = "";
    int sum, world = rank, connects = rank % 2;
    MPI_Comm part, both;
    MPI_Comm_split(MPI_COMM_WORLD, connects, 0, &part);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (connects) {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, part, &both);
    } else {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, part, &both);
    }
    MPI_Allreduce(&world, &sum, 1, MPI_INT, MPI_SUM, both);
    int odd = size / 2, even = size - odd;
    CHECK(sum == (connects ? even * (even - 1) : odd * odd));
    MPI_Comm_disconnect(&both), MPI_Comm_free(&part);
    if (rank == 0) MPI_Close_port(port);
}

static void errors(void) {
    char port[MPI_MAX_PORT_NAME], text[MPI_MAX_PORT_NAME];
    MPI_Comm made;
    int class;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define CLASS(call, wanted) (MPI_Error_class(call, &class), class == wanted)
    CHECK(CLASS(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), MPI_ERR_PORT));
    CHECK(CLASS(MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), MPI_ERR_PORT));
    CHECK(CLASS(MPI_Close_port("no port"), MPI_ERR_PORT));
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(CLASS(MPI_Comm_accept(port, MPI_INFO_NULL, 1, MPI_COMM_SELF, &made), MPI_ERR_ROOT));
    CHECK(CLASS(MPI_Lookup_name("prp-mpi nobody", MPI_INFO_NULL, text), MPI_ERR_NAME));
    CHECK(CLASS(MPI_Unpublish_name("prp-mpi nobody", MPI_INFO_NULL, port), MPI_ERR_SERVICE));
    CHECK(MPI_Publish_name("prp-mpi errors", MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(CLASS(MPI_Publish_name("prp-mpi errors", MPI_INFO_NULL, "x"), MPI_ERR_SERVICE));
    CHECK(MPI_Lookup_name("prp-mpi errors", MPI_INFO_NULL, text) == MPI_SUCCESS);
    CHECK(strcmp(port, text) == 0);
    CHECK(MPI_Unpublish_name("prp-mpi errors", MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    CHECK(CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), MPI_ERR_PORT));
    CHECK(CLASS(MPI_Close_port(port), MPI_ERR_PORT));
    CHECK(CLASS(MPI_Comm_join(-1, &made), MPI_ERR_OTHER));
}

/* Two jobs of one process each that have a socket. */
static void join_by_socket(int descriptor) {
    MPI_Comm both;
    int x = 0, own = getpid();
    MPI_Comm_join(descriptor, &both);
    MPI_Comm_remote_size(both, &x);
    CHECK(x == 1);
    MPI_Sendrecv(&own, 1, MPI_INT, 0, 0, &x, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE);
    CHECK(x > 0 && x != own);
    MPI_Comm_disconnect(&both);
}

/* Waits for a job that ends without leaving. */
static void wait_for_ever(const char *name) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm both;
    int x;
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(name, MPI_INFO_NULL, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both);
    MPI_Recv(&x, 1, MPI_INT, 0, 0, both, MPI_STATUS_IGNORE);
}

static void leave_without_a_word(const char *name) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm both;
    find(name, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &both);
    raise(SIGKILL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *name = argc > 2 ? argv[2] : "";
    int sockets[2], other = -1, status = 0;
    if (!strcmp(what, "join")) {
        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
        other = fork();
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(what, "accept")) with_another_job(0, name);
    if (!strcmp(what, "connect")) with_another_job(1, name);
    if (!strcmp(what, "within")) within_a_job();
    if (!strcmp(what, "errors")) errors();
    if (!strcmp(what, "join")) join_by_socket(sockets[other == 0]);
    if (!strcmp(what, "wait")) wait_for_ever(name);
    if (!strcmp(what, "leave")) leave_without_a_word(name);
    if (rank == 0) puts("all well");
    MPI_Finalize();
    if (other > 0) waitpid(other, &status, 0);
    return status != 0;
}
