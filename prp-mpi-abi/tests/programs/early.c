/* Receives that are released early: the accesses to their buffers that a program may make. The
 * first argument is the case, the second a folder for files by which ranks synchronize without
 * messages. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { PAGE = 4096, LARGE = 4 << 20, SMALL = 64 << 10, STACKED = 512 << 10 };

static const char *folder;
static int rank;

static const char *path(const char *name)
{
    static char whole[4096];
    snprintf(whole, sizeof whole, "%s/%s", folder, name);
    return whole;
}

static void tell(const char *name)
{
    close(open(path(name), O_CREAT | O_WRONLY, 0600));
}

static int is_told(const char *name)
{
    return access(path(name), F_OK) == 0;
}

/* Waits at most 20 s: then the job has failed. */
static void await(const char *name)
{
    for (int i = 0; i < 20000 && !is_told(name); i++)
        usleep(1000);
    CHECK(is_told(name));
}

static unsigned char byte_of(long i, int seed)
{
    return (unsigned char)(i * 31 + (i >> 12) * 7 + seed);
}

static void fill(unsigned char *at, long len, int seed)
{
    for (long i = 0; i < len; i++)
        at[i] = byte_of(i, seed);
}

static long wrong(const unsigned char *at, long len, int seed)
{
    for (long i = 0; i < len; i++)
        if (at[i] != byte_of(i, seed))
            return i;
    return -1;
}

static unsigned char *pages(long len)
{
    unsigned char *at = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

/* Rank 1 sends `len` bytes after the signal `name` of rank 0. */
static void send_after(const char *name, int len, int seed)
{
    unsigned char *out = pages(len + PAGE);
    fill(out, len, seed);
    await(name);
    MPI_Send(out, len, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    munmap(out, (size_t)len + PAGE);
}

/* Receives `len` bytes of rank 1 before they are sent, and then signals rank 1 to send them. */
static unsigned char *receive_before(const char *name, int len)
{
    unsigned char *in = pages(len);
    MPI_Recv(in, len, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell(name);
    return in;
}

/* A receive returns before its message is sent; its bytes are correct in any order of accesses. */
static void before_header(void)
{
    if (rank == 1)
        return send_after("released", LARGE, 1);
    unsigned char *in = receive_before("released", LARGE);
    for (long i = LARGE - 1; i > 0; i -= 100 * PAGE + 17)
        CHECK(in[i] == byte_of(i, 1));
    CHECK(wrong(in, LARGE, 1) < 0);
}

/* A receive with a status returns when the header has arrived: until the signal rank 1 makes no
 * call between the begin and the end of its send. The buffer begins and ends within pages. */
static void after_header(void)
{
    int len = 4 * LARGE - 100;
    if (rank == 1) {
        MPI_Request request;
        unsigned char *out = pages(4 * LARGE);
        fill(out, len, 2);
        MPI_Isend(out, len, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
        await("released");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    unsigned char *whole = pages(4 * LARGE + PAGE), *in = whole + 40;
    memset(whole, 0xee, 4 * LARGE + PAGE);
    MPI_Status status;
    MPI_Recv(in, 4 * LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    int count;
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == len && status.MPI_SOURCE == 1 && status.MPI_TAG == 5);
    /* The first and the last bytes are there, and the bytes outside the buffer are unchanged; both
     * can be written. */
    CHECK(in[len - 1] == byte_of(len - 1, 2) && in[len] == 0xee && in[-1] == 0xee);
    in[len - 1] = 9;
    in[0] = 8;
    tell("released");
    CHECK(in[len / 2] == byte_of(len / 2, 2));
    CHECK(wrong(in + PAGE, 64 * PAGE, 2) != 0 || in[PAGE] == byte_of(PAGE, 2));
    for (long i = 1; i < len - 1; i++)
        CHECK(in[i] == byte_of(i, 2));
    CHECK(in[0] == 8 && in[len - 1] == 9 && in[len] == 0xee);
}

/* No message leaves before all released receives have begun to arrive. */
static void causality(void)
{
    int token = 1;
    if (rank == 0) {
        unsigned char *in = receive_before("released", LARGE);
        MPI_Send(&token, 1, MPI_INT, 2, 6, MPI_COMM_WORLD);
        CHECK(wrong(in, LARGE, 3) < 0);
    } else if (rank == 1) {
        await("released");
        /* A message that was sent too early would have arrived by then. */
        usleep(200000);
        tell("sending");
        send_after("released", LARGE, 3);
    } else if (rank == 2) {
        MPI_Recv(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_told("sending"));
    }
}

/* Calls that pass memory to the kernel, or free it. */
static void system_calls(void)
{
    if (rank == 1) {
        for (int i = 0; i < 6; i++) {
            char name[2] = {(char)('a' + i), 0};
            send_after(name, LARGE, i);
        }
        return;
    }
    int file = open(path("data"), O_CREAT | O_RDWR | O_TRUNC, 0600);
    unsigned char *in = receive_before("a", LARGE), *copy = malloc(LARGE);
    CHECK(write(file, in, LARGE) == LARGE);
    CHECK(pread(file, copy, LARGE, 0) == LARGE && wrong(copy, LARGE, 0) < 0);
    unsigned char *second = receive_before("b", LARGE);
    CHECK(pread(file, second, LARGE, 0) == LARGE && wrong(second, LARGE, 0) < 0);
    FILE *stream = fopen(path("stream"), "w+");
    in = receive_before("c", LARGE);
    CHECK(fwrite(in, 1, LARGE, stream) == LARGE);
    rewind(stream);
    CHECK(fread(copy, 1, LARGE, stream) == LARGE && wrong(copy, LARGE, 2) < 0);
    in = aligned_alloc(PAGE, LARGE);
    MPI_Recv(in, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell("d");
    free(in);
    in = aligned_alloc(PAGE, LARGE);
    memset(in, 0x55, LARGE);
    MPI_Request request;
    unsigned char *mapped = pages(LARGE);
    MPI_Irecv(mapped, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tell("e");
    CHECK(munmap(mapped, LARGE) == 0);
    for (long i = 0; i < LARGE; i++)
        CHECK(in[i] == 0x55);
    in = receive_before("f", LARGE);
    pid_t child = fork();
    if (child == 0)
        _exit(wrong(in, LARGE, 5) < 0 ? 0 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(wrong(in, LARGE, 5) < 0);
}

static sigjmp_buf back;
static volatile int faults;
static volatile char *volatile nowhere = (char *)8;

static void on_fault(int signal)
{
    (void)signal;
    faults++;
    siglongjmp(back, 1);
}

/* The program's own signal handlers for faults: one from before MPI_Init, one that is set while a
 * receive is released. */
static void handlers(void)
{
    if (rank == 1) {
        send_after("a", LARGE, 6);
        return send_after("b", LARGE, 7);
    }
    volatile char *bad = (char *)pages(PAGE);
    mprotect((void *)bad, PAGE, PROT_NONE);
    unsigned char *in = receive_before("a", LARGE);
    if (!sigsetjmp(back, 1))
        *bad = 1;
    CHECK(faults == 1);
    struct sigaction action = {.sa_handler = on_fault};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    CHECK(wrong(in, LARGE, 6) < 0 && faults == 1);
    if (!sigsetjmp(back, 1))
        *bad = 1;
    CHECK(faults == 2);
    in = receive_before("b", LARGE);
    if (!sigsetjmp(back, 1))
        *nowhere = 1;
    CHECK(faults == 3);
    CHECK(wrong(in, LARGE, 7) < 0 && faults == 3);
}

static void *look(void *at)
{
    for (int round = 0; round < 4; round++)
        CHECK(wrong(at, LARGE, 8) < 0);
    return NULL;
}

/* Threads that access the same pages at the same time never see an incomplete page. */
static void threads(void)
{
    if (rank == 1)
        return send_after("released", LARGE, 8);
    pthread_t thread[3];
    unsigned char *in = receive_before("released", LARGE);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, look, in) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

/* As any program does: frame by frame, downwards. */
static __attribute__((noinline)) int deeper(int depth)
{
    volatile char frame[2048];
    frame[0] = (char)depth;
    return depth ? deeper(depth - 1) + frame[0] : 0;
}

/* Receives into an array of a function, which returns without an access to it. */
static __attribute__((noinline)) void skip(const char *name, int by)
{
    _Alignas(PAGE) unsigned char skipped[STACKED + PAGE];
    tell(name);
    MPI_Recv(skipped + by, STACKED, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    __asm__ volatile("" : : "r"(skipped) : "memory");
}

static void skip_and_go_on(const char *name)
{
    char second[9];
    skip(name, 0);
    CHECK(deeper(STACKED / 2048) != 1);
    snprintf(second, sizeof second, "%s2", name);
    skip(second, 40);
    CHECK(deeper(STACKED / 2048) != 1);
}

/* What `skip_and_go_on` receives: a message that is sent after its receive was posted, and one of
 * which a part arrives much later. */
static void send_to_stack(const char *name)
{
    unsigned char *out = pages(STACKED);
    char second[9];
    MPI_Request request;
    await(name);
    usleep(100000);
    MPI_Send(out, STACKED, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    snprintf(second, sizeof second, "%s2", name);
    await(second);
    MPI_Isend(out, STACKED, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
    usleep(100000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static volatile int step;
static unsigned char *volatile shared;

static void *skip_in_thread(void *unused)
{
    skip_and_go_on("b");
    return unused;
}

/* The array is on the stack of a thread, and another thread receives into it. */
static __attribute__((noinline)) void lend_stack(void)
{
    _Alignas(PAGE) unsigned char lent[STACKED];
    __asm__ volatile("" : "=r"(shared) : "0"(lent) : "memory");
    step = 1;
    while (step != 2)
        usleep(1000);
    __asm__ volatile("" : : "r"(lent) : "memory");
}

static void *lend_in_thread(void *unused)
{
    lend_stack();
    CHECK(deeper(STACKED / 2048) != 1);
    step = 3;
    pthread_exit(unused);
}

static void stacks(void)
{
    if (rank == 1) {
        send_to_stack("a");
        send_to_stack("b");
        await("c");
        usleep(100000);
        unsigned char *out = pages(STACKED);
        MPI_Send(out, STACKED, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
        return send_after("released", LARGE, 1);
    }
    pthread_t thread;
    skip_and_go_on("a");
    CHECK(pthread_create(&thread, NULL, skip_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(pthread_create(&thread, NULL, lend_in_thread, NULL) == 0);
    while (step != 1)
        usleep(1000);
    tell("c");
    MPI_Recv(shared, STACKED, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    step = 2;
    pthread_join(thread, NULL);
    CHECK(step == 3);
    /* What is on no stack is still released. */
    unsigned char *in = receive_before("released", LARGE);
    CHECK(wrong(in, LARGE, 1) < 0);
}

static int sum_up(void)
{
    CHECK(wrong(shared, LARGE, step) < 0);
    return 0;
}

static void *access_in_thread(void *unused)
{
    sum_up();
    return unused;
}

static void access_in_handler(int signal)
{
    (void)signal;
    sum_up();
}

/* Accesses by a thread that was made with all signals blocked, by one that blocks them itself, by a
 * handler that blocks them while it runs, and by one that runs while they are blocked in a wait. */
static void masked(void)
{
    if (rank == 1) {
        send_after("a", LARGE, 1);
        send_after("e", LARGE, 5);
        send_after("b", LARGE, 2);
        send_after("c", LARGE, 3);
        return send_after("d", LARGE, 4);
    }
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    step = 1;
    shared = receive_before("a", LARGE);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&thread, NULL, access_in_thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_join(thread, NULL);
    step = 5;
    shared = receive_before("e", LARGE);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setsigmask_np(&attributes, &all) == 0);
    pthread_create(&thread, &attributes, access_in_thread, NULL);
    pthread_join(thread, NULL);
    step = 2;
    shared = receive_before("b", LARGE);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sum_up();
    sigprocmask(SIG_SETMASK, &before, NULL);
    struct sigaction action = {.sa_handler = access_in_handler, .sa_mask = all};
    sigaction(SIGUSR1, &action, NULL);
    step = 3;
    shared = receive_before("c", LARGE);
    raise(SIGUSR1);
    action.sa_mask = before;
    sigaction(SIGUSR1, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    step = 4;
    shared = receive_before("d", LARGE);
    raise(SIGUSR1);
    sigdelset(&all, SIGUSR1);
    sigsuspend(&all);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int in_unknown_thread(void *unused)
{
    (void)unused;
    while (step != 1)
        usleep(1000);
    return 0;
}

/* With a thread whose stack is not known nothing is released: the message is sent before the
 * receive ends. */
static void unknown_thread(void)
{
    if (rank == 1)
        return send_after("begun", LARGE, 4);
    char *stack = (char *)pages(16 * PAGE) + 16 * PAGE;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    CHECK(clone(in_unknown_thread, stack, flags, NULL) > 0);
    unsigned char *in = pages(LARGE);
    tell("begun");
    MPI_Recv(in, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    step = 1;
    CHECK(wrong(in, LARGE, 4) < 0);
}

/* The programs that a rank starts do not load the library. */
static void children(void)
{
    if (rank == 1)
        return send_after("released", LARGE, 1);
    unsigned char *in = receive_before("released", LARGE);
    CHECK(getenv("LD_PRELOAD") == NULL);
    CHECK(wrong(in, LARGE, 1) < 0);
}

/* A buffer that the next call uses: to send, to receive, and in a collective operation. */
static void next_call(void)
{
    if (rank == 1) {
        unsigned char *in = pages(LARGE);
        send_after("a", LARGE, 1);
        MPI_Recv(in, LARGE, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(wrong(in, LARGE, 1) < 0);
        send_after("b", LARGE, 2);
        send_after("b", LARGE, 3);
        MPI_Bcast(in, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD);
        CHECK(wrong(in, LARGE, 3) < 0);
        return;
    }
    unsigned char *in = receive_before("a", LARGE);
    MPI_Send(in, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    MPI_Recv(in, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell("b");
    MPI_Recv(in, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(in, LARGE, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(wrong(in, LARGE, 3) < 0);
}

/* If the process has no mappings left, receives return as without early release. */
static void no_mappings(void)
{
    long most = 70000;
    if (rank == 1)
        return send_after("full", LARGE, 4);
    /* Protecting pages in the middle of a mapping needs new mappings. */
    unsigned char *many = pages(most * 2 * PAGE), *in = pages(LARGE + 2 * PAGE) + PAGE;
    long made = 0;
    while (made < most && mprotect(many + made * 2 * PAGE, PAGE, PROT_NONE) == 0)
        made++;
    CHECK(made < most && errno == ENOMEM);
    tell("full");
    MPI_Recv(in, LARGE, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(wrong(in, LARGE, 4) < 0);
    munmap(many, (size_t)most * 2 * PAGE);
}

/* Only the communicator with the info key releases its receives. */
static void hint(void)
{
    MPI_Info info;
    MPI_Comm early;
    MPI_Info_create(&info);
    MPI_Info_set(info, "prp_mpi_early_release", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &early);
    unsigned char *in = pages(LARGE);
    if (rank == 1) {
        fill(in, LARGE, 5);
        await("released");
        MPI_Send(in, LARGE, MPI_BYTE, 0, 5, early);
    } else {
        MPI_Recv(in, LARGE, MPI_BYTE, 1, 5, early, MPI_STATUS_IGNORE);
        tell("released");
        CHECK(wrong(in, LARGE, 5) < 0);
    }
    MPI_Comm_free(&early);
    MPI_Info_free(&info);
}

/* A message longer than the buffer: the receive has already returned, so that it cannot report the
 * error. */
static void overrun(void)
{
    if (rank == 1)
        return send_after("released", LARGE, 4);
    unsigned char *in = receive_before("released", SMALL);
    CHECK(in[0] == byte_of(0, 4));
    MPI_Barrier(MPI_COMM_SELF);
}

/* A receive whose buffer is not accessed again: the end of the program receives its message. */
static void untouched(void)
{
    if (rank == 1)
        send_after("released", LARGE, 4);
    else
        receive_before("released", LARGE);
}

static const unsigned char *table;

static void add_table(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    CHECK(table == NULL || wrong(table, LARGE, 6) < 0);
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* The function of a reduction that has begun before reads what was received. */
static void reduction(void)
{
    int sum = 0;
    MPI_Op op;
    MPI_Request request;
    MPI_Op_create(add_table, 1, &op);
    /* A function that is called where it cannot wait for the message waits for ever. */
    alarm(20);
    if (rank == 0) {
        MPI_Iallreduce(&(int){1}, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
        table = receive_before("begun", LARGE);
    } else {
        await("begun");
        MPI_Iallreduce(&(int){2}, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
        send_after("begun", LARGE, 6);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == 3);
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"before_header", before_header}, {"after_header", after_header},
                 {"causality", causality},         {"system_calls", system_calls},
                 {"handlers", handlers},           {"threads", threads},
                 {"next_call", next_call},         {"no_mappings", no_mappings},
                 {"stacks", stacks},               {"masked", masked},
                 {"unknown_thread", unknown_thread}, {"children", children},
                 {"reduction", reduction},
                 {"hint", hint},                   {"overrun", overrun},
                 {"untouched", untouched}};
    if (argc < 3)
        return 2;
    folder = argv[2];
    struct sigaction action = {.sa_handler = on_fault};
    if (!strcmp(argv[1], "handlers"))
        sigaction(SIGSEGV, &action, NULL);
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (!strcmp(argv[1], cases[i].name))
            cases[i].run();
    MPI_Finalize();
    if (rank == 0)
        printf("all well\n");
    return 0;
}
