/* Counts the flushes of a process and, if told to, makes each of them take the same time.
 *
 * A shared disk drifts by a factor of twenty within an hour. With BENCH_FLUSH_US set, fsync and
 * fdatasync wait that long and do nothing else; without it they do their work. Loaded by LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

typedef int (*flush)(int);

static atomic_long flushes;
static long wait_us = -1;
static flush real_fsync, real_fdatasync;

__attribute__((constructor)) static void begin(void) {
    const char *us = getenv("BENCH_FLUSH_US");
    if (us) wait_us = atol(us);
    real_fsync = (flush)dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = (flush)dlsym(RTLD_NEXT, "fdatasync");
}

static int flush_or_wait(flush real, int fd) {
    static _Thread_local int punctual;
    struct timespec end;
    atomic_fetch_add(&flushes, 1);
    if (wait_us < 0) return real(fd);
    if (!punctual) punctual = prctl(PR_SET_TIMERSLACK, 1) == 0; /* the default is 50 us late */
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += wait_us * 1000;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0) continue;
    return 0;
}

int fsync(int fd) { return flush_or_wait(real_fsync, fd); }
int fdatasync(int fd) { return flush_or_wait(real_fdatasync, fd); }
long bench_flushes(void) { return atomic_load(&flushes); }
