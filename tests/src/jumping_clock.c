/* For LD_PRELOAD: the real-time clock jumps at every reading, by turns a day back and an hour
 * forward. Other clocks are unchanged. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic unsigned looks;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += looks++ % 2 ? 3600 : -86400;
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &t);
    now->tv_sec = t.tv_sec;
    now->tv_usec = t.tv_nsec / 1000;
    return result;
}

time_t time(time_t *now)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (now)
        *now = t.tv_sec;
    return t.tv_sec;
}
