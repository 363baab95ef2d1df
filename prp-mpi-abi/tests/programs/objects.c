/* Objects of one rank: datatypes, operations, attributes, requests, dimensions. The argument
 * selects them. */
#include <complex.h>
#include <limits.h>
#include <malloc.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "check.h"

static void check_extent(MPI_Datatype first, MPI_Datatype second, MPI_Aint at, MPI_Aint extent) {
    MPI_Datatype types[2] = {first, second}, both;
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, at}, lb, found;
    MPI_Type_create_struct(2, lengths, places, types, &both);
    MPI_Type_get_extent(both, &lb, &found);
    CHECK(lb == 0 && found == extent);
    MPI_Type_free(&both);
}

#define CHECK_EXTENT(first_type, first, second_type, second)                                    \
    do {                                                                                        \
        struct pair { first_type a; second_type b; };                                           \
        check_extent(first, second, offsetof(struct pair, b), sizeof(struct pair));             \
    } while (0)

/* Structures whose last part is a structure with a smaller alignment. */
static void padding_of_parts(void) {
    struct inner { int a; char b; };
    struct outer { long double a; struct inner b; };
    struct pair { struct outer a; char b; };
    MPI_Datatype inner, outer;
    MPI_Aint places[2] = {0, offsetof(struct inner, b)}, lb, extent;
    int lengths[2] = {1, 1};
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[2]){MPI_INT, MPI_CHAR}, &inner);
    check_extent(MPI_LONG_DOUBLE, inner, offsetof(struct outer, b), sizeof(struct outer));
    places[1] = offsetof(struct outer, b);
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[2]){MPI_LONG_DOUBLE, inner}, &outer);
    check_extent(outer, MPI_CHAR, offsetof(struct pair, b), sizeof(struct pair));
    check_extent(MPI_LONG_DOUBLE, MPI_DOUBLE_INT, 16, 32);
    /* If the program has set bounds, only those count. */
    MPI_Type_free(&outer);
    MPI_Type_create_resized(inner, 0, 5, &outer);
    check_extent(outer, MPI_LONG_DOUBLE, 16, 5);
    MPI_Type_get_extent(MPI_DOUBLE_INT, &lb, &extent);
    CHECK(lb == 0 && extent == 16);
    MPI_Type_free(&outer);
    MPI_Type_free(&inner);
}

static void padding(void) {
    padding_of_parts();
    CHECK_EXTENT(double complex, MPI_C_DOUBLE_COMPLEX, double, MPI_DOUBLE);
    CHECK_EXTENT(double complex, MPI_C_DOUBLE_COMPLEX, char, MPI_CHAR);
    CHECK_EXTENT(float complex, MPI_C_FLOAT_COMPLEX, float, MPI_FLOAT);
    CHECK_EXTENT(char, MPI_CHAR, float complex, MPI_C_FLOAT_COMPLEX);
    CHECK_EXTENT(long double, MPI_LONG_DOUBLE, char, MPI_CHAR);
    CHECK_EXTENT(long double complex, MPI_C_LONG_DOUBLE_COMPLEX, char, MPI_CHAR);
    CHECK_EXTENT(double, MPI_DOUBLE, char, MPI_CHAR);
    CHECK_EXTENT(short, MPI_SHORT, char, MPI_CHAR);
}

static void locations(void) {
#ifdef __x86_64__
    struct { long double value; int at; } low[2] = {{1.5L, 4}, {2.5L, 9}}, high[2] = {{2.5L, 3}, {2.5L, 5}};
    MPI_Reduce_local(low, high, 2, MPI_LONG_DOUBLE_INT, MPI_MAXLOC);
    CHECK(high[0].value == 2.5L && high[0].at == 3 && high[1].at == 5);
    MPI_Reduce_local(low, high, 2, MPI_LONG_DOUBLE_INT, MPI_MINLOC);
    CHECK(high[0].value == 1.5L && high[0].at == 4 && high[1].at == 5);
#endif
    struct { double value; int at; } other[2] = {{1, 2}, {3, 4}}, best[2] = {{2, 1}, {3, 3}};
    MPI_Reduce_local(other, best, 2, MPI_DOUBLE_INT, MPI_MINLOC);
    CHECK(best[0].value == 1 && best[0].at == 2 && best[1].at == 3);
    /* Invalid arguments are refused. */
    MPI_Datatype longs;
    long a[2] = {1, 1}, b[2] = {2, 2};
    int class;
    MPI_Type_contiguous(2, MPI_LONG, &longs);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Reduce_local(a, b, 1, longs, MPI_MINLOC), &class);
    CHECK(class == MPI_ERR_OP);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Type_free(&longs);
}

enum { ELEMENTS = 1000 };

static void add_backwards(void *in, void *inout, int *n, MPI_Datatype *type) {
    char *a = in, *b = inout;
    MPI_Aint lb, extent;
    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *n; i++) *(int *)(b + i * extent) += *(int *)(a + i * extent);
}

static void backwards(void) {
    static int a[2 * ELEMENTS], b[2 * ELEMENTS];
    MPI_Datatype back;
    MPI_Op op;
    MPI_Type_create_resized(MPI_INT, 0, -8, &back);
    MPI_Type_commit(&back);
    MPI_Op_create(add_backwards, 1, &op);
    for (int i = 0; i < 2 * ELEMENTS; i++) a[i] = i, b[i] = 10000 * i;
    MPI_Reduce_local(&a[2 * ELEMENTS - 2], &b[2 * ELEMENTS - 2], ELEMENTS, back, op);
    for (int i = 0; i < 2 * ELEMENTS; i++) CHECK(b[i] == (i % 2 ? 10000 : 10001) * i);
    MPI_Op_free(&op);
    MPI_Type_free(&back);
}

static int deleted[8], deletions, refuses, missing;

static int delete_of_comm(MPI_Comm comm, int key, void *value, void *extra) {
    int flag;
    void *found;
    (void)extra;
    if (refuses) return MPI_ERR_OTHER;
    MPI_Comm_get_attr(comm, key, &found, &flag);
    missing += !flag || found != value;
    deleted[deletions++] = *(int *)value;
    return MPI_SUCCESS;
}

static int delete_of_type(MPI_Datatype type, int key, void *value, void *extra) {
    int flag;
    void *found;
    (void)extra;
    if (refuses) return MPI_ERR_OTHER;
    MPI_Type_get_attr(type, key, &found, &flag);
    missing += !flag || found != value;
    deleted[deletions++] = *(int *)value;
    return MPI_SUCCESS;
}

static void attributes_of_communicators(void) {
    int keys[3], values[3] = {1, 2, 3}, flag, *found;
    MPI_Comm comm;
    for (int i = 0; i < 3; i++) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_of_comm, &keys[i], NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(comm, keys[1], &values[1]);
    MPI_Comm_set_attr(comm, keys[2], &values[2]);
    MPI_Comm_set_attr(comm, keys[0], &values[0]);
    refuses = 1;
    CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS && comm != MPI_COMM_NULL);
    refuses = 0;
    MPI_Comm_get_attr(comm, keys[0], &found, &flag);
    CHECK(flag && found == &values[0]);
    deletions = 0;
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    CHECK(deletions == 3 && deleted[0] == 1 && deleted[1] == 3 && deleted[2] == 2);
    CHECK(missing == 0);
}

static void attributes_of_types(void) {
    int keys[2], values[3] = {1, 2, 3}, flag, *found;
    MPI_Datatype type;
    for (int i = 0; i < 2; i++) MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_of_type, &keys[i], NULL);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_set_attr(type, keys[1], &values[1]);
    MPI_Type_set_attr(type, keys[0], &values[0]);
    /* The old value is deleted before the new one is set. If the deletion fails, the new one is not
     * set. */
    refuses = 1;
    CHECK(MPI_Type_set_attr(type, keys[0], &values[2]) != MPI_SUCCESS);
    CHECK(MPI_Type_free(&type) != MPI_SUCCESS && type != MPI_DATATYPE_NULL);
    refuses = 0;
    MPI_Type_get_attr(type, keys[0], &found, &flag);
    CHECK(flag && found == &values[0]);
    deletions = 0;
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS && type == MPI_DATATYPE_NULL);
    CHECK(deletions == 2 && deleted[0] == 1 && deleted[1] == 2);
    CHECK(missing == 0);
}

static void attributes_of_predefined_types(void) {
    int key, values[2] = {1, 2}, flag, *found;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, delete_of_type, &key, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Type_set_attr(MPI_INT, key, &values[0]) == MPI_SUCCESS);
    MPI_Type_get_attr(MPI_INT, key, &found, &flag);
    CHECK(flag && found == &values[0]);
    MPI_Datatype copy;
    MPI_Type_dup(MPI_INT, &copy);
    MPI_Type_get_attr(copy, key, &found, &flag);
    CHECK(flag && found == &values[0]);
    MPI_Type_free(&copy);
    deletions = 0;
    CHECK(MPI_Type_set_attr(MPI_INT, key, &values[1]) == MPI_SUCCESS);
    CHECK(MPI_Type_delete_attr(MPI_INT, key) == MPI_SUCCESS);
    CHECK(deletions == 2 && deleted[0] == 1 && deleted[1] == 2 && missing == 0);
    MPI_Type_get_attr(MPI_INT, key, &found, &flag);
    CHECK(!flag);
    MPI_Datatype predefined = MPI_INT;
    CHECK(MPI_Type_free(&predefined) != MPI_SUCCESS);
}

static int frees;

static int query(void *extra, MPI_Status *status) {
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int count_free(void *extra) {
    (void)extra;
    frees++;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void generalized(void) {
    MPI_Request request, kept;
    MPI_Grequest_start(query, count_free, cancel, NULL, &request);
    kept = request;
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL && frees == 0);
    MPI_Grequest_complete(kept);
    CHECK(frees == 1);
    MPI_Grequest_start(query, count_free, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    CHECK(frees == 1);
    MPI_Request_free(&request);
    CHECK(frees == 2);
    MPI_Grequest_start(query, count_free, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(frees == 3);
}

static void elements(void) {
    MPI_Status status;
    int count;
    for (int n = 0; n < 8; n++) {
        MPI_Status_set_elements(&status, MPI_DOUBLE_INT, n);
        MPI_Get_elements(&status, MPI_DOUBLE_INT, &count);
        CHECK(count == n);
        MPI_Get_count(&status, MPI_DOUBLE_INT, &count);
        CHECK(count == (n % 2 ? MPI_UNDEFINED : n / 2));
        MPI_Status_set_elements(&status, MPI_INT, n);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == n);
    }
}

static void check_dims(int ranks, int count, const int *expected) {
    int dims[4] = {0};
    MPI_Dims_create(ranks, count, dims);
    for (int i = 0; i < count; i++) CHECK(dims[i] == expected[i]);
}

static void dimensions(void) {
    check_dims(72, 2, (int[]){9, 8});
    check_dims(1, 3, (int[]){1, 1, 1});
    check_dims(7, 2, (int[]){7, 1});
    check_dims(12, 3, (int[]){3, 2, 2});
    check_dims(64, 3, (int[]){4, 4, 4});
    check_dims(360, 3, (int[]){9, 8, 5});
    check_dims(2 * 3 * 5 * 7 * 11 * 13, 2, (int[]){182, 165});
    check_dims(INT_MAX, 3, (int[]){INT_MAX, 1, 1});
    check_dims(1 << 30, 4, (int[]){256, 256, 128, 128});
    int dims[3] = {0, 4, 0};
    MPI_Dims_create(4 * 72, 3, dims);
    CHECK(dims[0] == 9 && dims[1] == 4 && dims[2] == 8);
}

static int errors_of_self, errors_of_world;

static void count_for_self(MPI_Comm *comm, int *code, ...) {
    (void)code;
    errors_of_self += *comm == MPI_COMM_SELF;
}

static void count_for_world(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    errors_of_world++;
}

/* Errors that concern no communicator go to the handler of MPI_COMM_SELF. */
static void errors(void) {
    MPI_Errhandler of_self, of_world;
    MPI_Datatype type;
    MPI_Request stale = (MPI_Request)0x7fffff;
    MPI_Comm_create_errhandler(count_for_self, &of_self);
    MPI_Comm_create_errhandler(count_for_world, &of_world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
    int size, flag;
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) == MPI_ERR_COUNT && errors_of_self == 1);
    CHECK(MPI_Group_size(MPI_GROUP_NULL, &size) == MPI_ERR_GROUP && errors_of_self == 2);
    CHECK(MPI_Comm_size(MPI_COMM_NULL, &size) == MPI_ERR_COMM && errors_of_self == 3);
    CHECK(MPI_Test(&stale, &flag, MPI_STATUS_IGNORE) == MPI_ERR_REQUEST && errors_of_self == 4);
    CHECK(errors_of_world == 0);
    CHECK(MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT);
    CHECK(errors_of_self == 4 && errors_of_world == 1);
}

static MPI_Comm failed;
static int failures;

static void note_failure(MPI_Comm *comm, int *code, ...) {
    failures += *code == MPI_ERR_TRUNCATE;
    failed = *comm;
}

/* An error of a receive on a communicator that is freed meanwhile goes to the handler of that. */
static void errors_of_freed(void) {
    MPI_Comm first, kept, second;
    MPI_Errhandler of_first;
    MPI_Request request;
    int in = 0, out[2] = {1, 2};
    MPI_Comm_create_errhandler(note_failure, &of_first);
    MPI_Comm_dup(MPI_COMM_SELF, &first);
    MPI_Comm_set_errhandler(first, of_first);
    MPI_Irecv(&in, 1, MPI_INT, 0, 1, first, &request);
    MPI_Send(out, 2, MPI_INT, 0, 1, first);
    kept = first;
    MPI_Comm_free(&first);
    MPI_Comm_dup(MPI_COMM_SELF, &second);
    MPI_Comm_set_errhandler(second, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    CHECK(failures == 1 && failed == kept && failed != second);
    MPI_Comm_free(&second);
}

static void empty_datatypes(void) {
    MPI_Datatype empty;
    MPI_Status status;
    int count;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    for (int n = 0; n < 2; n++) {
        MPI_Status_set_elements(&status, MPI_INT, n);
        MPI_Get_count(&status, empty, &count);
        CHECK(count == (n ? MPI_UNDEFINED : 0));
        MPI_Get_elements(&status, empty, &count);
        CHECK(count == (n ? MPI_UNDEFINED : 0));
    }
    MPI_Type_free(&empty);
}

static void negative_counts(void) {
    int counts[1] = {-1}, a = 1, b = 2, class;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Reduce_scatter(&a, &b, counts, MPI_INT, MPI_SUM, MPI_COMM_SELF), &class);
    CHECK(class == MPI_ERR_COUNT && b == 2);
}

static void ranges_without_ranks(void) {
    int ranges[3][3] = {{1, 0, 1}, {1, 0, 2}, {0, 1, -2}}, size;
    MPI_Group own, made;
    MPI_Comm_group(MPI_COMM_SELF, &own);
    MPI_Group_range_incl(own, 3, ranges, &made);
    MPI_Group_size(made, &size);
    CHECK(size == 0 && made == MPI_GROUP_EMPTY);
    MPI_Group_range_incl(own, 1, (int[][3]){{0, 0, -1}}, &made);
    MPI_Group_size(made, &size);
    CHECK(size == 1);
    MPI_Group_free(&made);
    MPI_Group_free(&own);
}

static void nothing(void) {
    empty_datatypes();
    negative_counts();
    ranges_without_ranks();
}

static void check_external_size(MPI_Datatype type, MPI_Aint expected) {
    MPI_Aint size;
    MPI_Pack_external_size("external32", 3, type, &size);
    CHECK(size == 3 * expected);
}

static void external_sizes(void) {
    check_external_size(MPI_LONG, 4);
    check_external_size(MPI_UNSIGNED_LONG, 4);
    check_external_size(MPI_WCHAR, 2);
    check_external_size(MPI_LONG_INT, 8);
    check_external_size(MPI_LONG_LONG, 8);
    check_external_size(MPI_INT64_T, 8);
    check_external_size(MPI_AINT, 8);
    check_external_size(MPI_COUNT, 8);
    check_external_size(MPI_LONG_DOUBLE, 16);
    check_external_size(MPI_C_LONG_DOUBLE_COMPLEX, 32);
    check_external_size(MPI_LONG_DOUBLE_INT, 20);
    check_external_size(MPI_C_BOOL, 1);
    check_external_size(MPI_SHORT_INT, 6);
}

static void external_values(void) {
    struct all { char c; long l; unsigned long u; wchar_t w; double complex z; short s; };
    static const struct all in[2] = {{'a', -2, 0xfedcba98, 0x20ac, 1 + 2 * I, -3}, {'b', INT_MIN, 1, L'x', -1, 4}};
    static const unsigned char begin[] = {'a', 0xff, 0xff, 0xff, 0xfe, 0xfe, 0xdc, 0xba, 0x98, 0x20, 0xac, 0x3f, 0xf0};
    struct all out[2] = {{0}, {0}};
    char packed[70];
    MPI_Aint size, at = 0;
    int lengths[6] = {1, 1, 1, 1, 1, 1};
    MPI_Datatype types[6] = {MPI_CHAR, MPI_LONG, MPI_UNSIGNED_LONG, MPI_WCHAR, MPI_C_DOUBLE_COMPLEX, MPI_SHORT}, type;
    MPI_Aint places[6] = {offsetof(struct all, c), offsetof(struct all, l), offsetof(struct all, u),
                          offsetof(struct all, w), offsetof(struct all, z), offsetof(struct all, s)};
    MPI_Type_create_struct(6, lengths, places, types, &type);
    MPI_Pack_external_size("external32", 2, type, &size);
    CHECK(size == 2 * (1 + 4 + 4 + 2 + 16 + 2));
    MPI_Pack_external("external32", in, 2, type, packed, sizeof packed, &at);
    CHECK(at == size && !memcmp(packed, begin, sizeof begin));
    at = 0;
    MPI_Unpack_external("external32", packed, size, &at, out, 2, type);
    CHECK(at == size);
    for (int i = 0; i < 2; i++) {
        CHECK(in[i].c == out[i].c && in[i].l == out[i].l && in[i].u == out[i].u);
        CHECK(in[i].w == out[i].w && in[i].z == out[i].z && in[i].s == out[i].s);
    }
    MPI_Type_free(&type);
}

/* Data that do not fit are refused, and nothing is packed. */
static void external_overflows(void) {
    long longs[4] = {INT_MAX + 1L, INT_MIN - 1L, LONG_MAX, LONG_MIN};
    unsigned long high = UINT_MAX + 1UL;
    wchar_t wide = 0x10000;
    char packed[8];
    MPI_Aint at = 2;
    int class;
    for (int i = 0; i < 6; i++) {
        const void *from = i < 4 ? &longs[i] : i == 4 ? (void *)&high : (void *)&wide;
        MPI_Datatype type = i < 4 ? MPI_LONG : i == 4 ? MPI_UNSIGNED_LONG : MPI_WCHAR;
        MPI_Error_class(MPI_Pack_external("external32", from, 1, type, packed, sizeof packed, &at), &class);
        CHECK(class == MPI_ERR_CONVERSION && at == 2);
    }
}

static void external(void) {
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    external_sizes();
    external_values();
    external_overflows();
}

/* Freed communicators leave no memory behind. */
static void freed(void) {
    enum { TIMES = 2000, MOST = 50 };
    size_t before = 0;
    for (int i = 0; i < 2 * TIMES; i++) {
        MPI_Comm comm;
        int x = 0, sum;
        if (i == TIMES) before = mallinfo2().uordblks;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Comm_set_name(comm, "for a moment");
        MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Sendrecv(&x, 1, MPI_INT, 0, 1, &sum, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    CHECK(mallinfo2().uordblks <= before + MOST * TIMES);
}

static void check_name(MPI_Datatype type, const char *expected) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(type, name, &length);
    CHECK(!strcmp(name, expected) && length == (int)strlen(expected));
}

/* Predefined datatypes have names, and may be given others. */
static void names(void) {
    MPI_Datatype type;
    check_name(MPI_C_COMPLEX, "MPI_C_COMPLEX");
    check_name(MPI_INT, "MPI_INT");
    MPI_Type_set_name(MPI_INT, "int");
    check_name(MPI_INT, "int");
    check_name(MPI_LONG, "MPI_LONG");
    MPI_Type_contiguous(2, MPI_INT, &type);
    check_name(type, "");
    MPI_Type_set_name(type, "two");
    check_name(type, "two");
    MPI_Type_free(&type);
}

/* A place for a result that is none, and the results of calls that fail. */
static void results(void) {
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Datatype type = MPI_INT;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_contiguous(2, MPI_INT, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Type_size_c(MPI_INT, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Abi_get_version(NULL, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Ibarrier(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_free(NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_get_name(MPI_COMM_WORLD, NULL, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, (int[]){99}, (int[]){0}, 0, &comm) != MPI_SUCCESS);
    CHECK(comm == MPI_COMM_NULL);
    CHECK(MPI_Type_contiguous(-1, MPI_INT, &type) == MPI_ERR_COUNT && type == MPI_DATATYPE_NULL);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    CHECK(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* A datatype of a few numbers takes no memory for its blocks; what cannot be had is an error. */
static void strides(void) {
    enum { MANY = 1 << 30, BYTES = 10000, ROWS = 50, COLUMNS = 70 };
    MPI_Datatype column, whole, part;
    MPI_Count size;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    /* The first one takes memory for all later ones. */
    MPI_Type_contiguous(2, MPI_DOUBLE, &whole);
    MPI_Type_free(&whole);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    CHECK(MPI_Type_vector(MANY, 1, 3, MPI_DOUBLE, &column) == MPI_SUCCESS);
    CHECK(MPI_Type_contiguous(5, column, &whole) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&whole) == MPI_SUCCESS);
    CHECK(mallinfo2().uordblks + mallinfo2().hblkhd < before + BYTES);
    MPI_Type_size_c(whole, &size);
    CHECK(size == 5ll * MANY * 8);
    MPI_Type_free(&whole);
    MPI_Type_free(&column);
    CHECK(MPI_Type_contiguous_c(1ll << 62, MPI_DOUBLE, &whole) == MPI_ERR_NO_MEM);
    CHECK(whole == MPI_DATATYPE_NULL);
    /* A part of a matrix and a column of it, by messages. */
    static int matrix[ROWS][COLUMNS], found[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) matrix[0][i] = i;
    MPI_Type_create_subarray(2, (int[]){ROWS, COLUMNS}, (int[]){20, 30}, (int[]){5, 7}, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_commit(&part);
    MPI_Type_commit(&column);
    MPI_Sendrecv(matrix, 1, part, 0, 1, found, 600, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (int i = 0; i < 600; i++) CHECK(found[i] == matrix[5 + i / 30][7 + i % 30]);
    MPI_Sendrecv(&matrix[0][3], 1, column, 0, 1, found, 1, column, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (int i = 0; i < ROWS; i++) CHECK(found[COLUMNS * i] == matrix[i][3]);
    MPI_Type_free(&part);
    MPI_Type_free(&column);
}

static int in_vain(MPI_Comm comm, int key, void *value, void *extra) {
    return (void)comm, (void)key, (void)value, (void)extra, MPI_SUCCESS;
}

/* Keys that no attribute can be set by: the error is the communicator's. */
static void keys(void) {
    int key, freed, flag;
    void *value = &key;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, value) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB) == MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag) == MPI_ERR_KEYVAL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, in_vain, &key, NULL);
    freed = key;
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, value) == MPI_SUCCESS);
    CHECK(MPI_Comm_free_keyval(&freed) == MPI_SUCCESS && freed == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, value) == MPI_ERR_KEYVAL);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*check)(void); } all[] = {
        {"padding", padding}, {"locations", locations}, {"backwards", backwards},
        {"attributes_of_communicators", attributes_of_communicators},
        {"attributes_of_types", attributes_of_types},
        {"attributes_of_predefined_types", attributes_of_predefined_types},
        {"generalized", generalized}, {"elements", elements}, {"dimensions", dimensions},
        {"errors", errors}, {"errors_of_freed", errors_of_freed}, {"external", external}, {"freed", freed}, {"nothing", nothing},
        {"names", names}, {"strides", strides}, {"results", results}, {"keys", keys},
    };
    int found = 0, provided, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Query_thread(&level);
    CHECK(provided == MPI_THREAD_FUNNELED && level == MPI_THREAD_FUNNELED);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc < 2 || strcmp(argv[1], all[i].name)) continue;
        all[i].check();
        found = 1;
    }
    CHECK(found);
    puts("all well");
    MPI_Finalize();
    return 0;
}
