/* Checks that end the program with the place and the text of the last error. */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <prp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s; last error %d: %s\n", __FILE__, __LINE__, #condition, prp_last_errno(), \
                    prp_last_error()); \
            exit(1); \
        } \
    } while (0)

/* The call fails with this number, in errno and as the last error. */
#define FAILS(call, number) \
    do { \
        errno = 0; \
        CHECK((call) < 0); \
        CHECK(errno == (number) && prp_last_errno() == (number) && prp_last_error()[0] != 0); \
    } while (0)

#define FAILS_NULL(call, number) \
    do { \
        errno = 0; \
        CHECK((call) == NULL); \
        CHECK(errno == (number) && prp_last_errno() == (number) && prp_last_error()[0] != 0); \
    } while (0)

#define MILLISECOND 1000000LL

#endif
