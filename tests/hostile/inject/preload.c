/* Loaded into the tool and all that it starts (LD_PRELOAD): a disk that is full, a slow one, calls that a signal
   interrupts, a clock that jumps. What is injected is said by INJECT_*, see inject.py; INJECT_STATE is a file of three
   numbers that all processes share: operations seen, faults injected, the tool's process.

   Calls between functions of libc do not come here, nor do those of a program that is linked statically (ptxas). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct state { long operations, injected, tool, began; };
static struct state nobody, *state = &nobody;
static enum { NOTHING, SPACE, SLOW, SIGNALS, CLOCK } kind;
static char below[4096];
static size_t below_size;
static long at, count, pause_us, one_in, only_tool;
static struct { long after_ms, by_s; } jumps[16];
static int jump_count;
static __thread unsigned long drawn;
static __thread int interrupted;

static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = next(name)

static long number(const char *name) { const char *text = getenv(name); return text ? atol(text) : 0; }

static long now_ms(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("INJECT_STATE"), *what = getenv("INJECT");
    if (!path || !what) return;
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return; /* behind a fence: as it is without us */
    void *shared = mmap(0, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (shared == MAP_FAILED) return;
    state = shared;
    snprintf(below, sizeof below, "%s", getenv("INJECT_BELOW") ? getenv("INJECT_BELOW") : "/");
    below_size = strlen(below);
    at = number("INJECT_AT"), count = number("INJECT_COUNT"), pause_us = number("INJECT_PAUSE_US");
    one_in = number("INJECT_ONE_IN"), only_tool = number("INJECT_ONLY_TOOL");
    const char *one = getenv("INJECT_JUMPS");
    for (; one && *one && jump_count < 16; jump_count++) {
        sscanf(one, "%ld:%ld", &jumps[jump_count].after_ms, &jumps[jump_count].by_s);
        one = strchr(one, ',');
        if (one) one++;
    }
    long none = 0;
    if (__atomic_compare_exchange_n(&state->tool, &none, getpid(), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        state->began = now_ms();
    drawn = number("INJECT_SEED") * 0x9E3779B97F4A7C15UL + 1;
    kind = !strcmp(what, "space") ? SPACE : !strcmp(what, "slow") ? SLOW : !strcmp(what, "signals") ? SIGNALS
         : !strcmp(what, "clock") ? CLOCK : NOTHING;
}

static int is_ours(void) { return !only_tool || state->tool == getpid(); }

static int path_below(const char *path) {
    char whole[8192];
    if (path[0] != '/') {
        if (!getcwd(whole, 4096)) return 0;
        strcat(whole, "/");
        strncat(whole, path, 4000);
        path = whole;
    }
    return !strncmp(path, below, below_size);
}

static int fd_below(int fd) {
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlink, name, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return path[0] == '/' && !strncmp(path, below, below_size);
}

/* Whether there is no room for this operation. */
static int is_full(void) {
    if (!is_ours()) return 0;
    long n = __atomic_add_fetch(&state->operations, 1, __ATOMIC_SEQ_CST);
    if (kind != SPACE || n < at || n >= at + count) return 0;
    __atomic_add_fetch(&state->injected, 1, __ATOMIC_SEQ_CST);
    errno = ENOSPC;
    return 1;
}

static void dawdle(long times) {
    if (kind != SLOW || !is_ours()) return;
    __atomic_add_fetch(&state->injected, 1, __ATOMIC_SEQ_CST);
    struct timespec t = {times * pause_us / 1000000, times * pause_us % 1000000 * 1000};
    syscall(SYS_nanosleep, &t, 0);
}

/* Whether a signal comes before this call has done anything. Never twice in a row. */
static int is_interrupted(void) {
    if (kind != SIGNALS || interrupted || !is_ours()) return interrupted = 0;
    drawn ^= drawn << 13, drawn ^= drawn >> 7, drawn ^= drawn << 17;
    if (!drawn) drawn = getpid() + 1;
    if (drawn % one_in) return 0;
    __atomic_add_fetch(&state->injected, 1, __ATOMIC_SEQ_CST);
    errno = EINTR;
    return interrupted = 1;
}

#define DISK(there) if (kind == SPACE || kind == SLOW) { if (there) { dawdle(1); if (is_full()) return -1; } }
#define SIGNAL if (is_interrupted()) return -1

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if ((kind == SPACE || kind == SLOW) && fd_below(fd)) {
        dawdle(1);
        if (is_full()) {
            /* As a disk does it: what there is room for is written, and the next call learns that there is no more. */
            if (size > 1 && state->injected % 2) return real(fd, data, size / 2);
            return -1;
        }
    }
    SIGNAL;
    return real(fd, data, size);
}
ssize_t writev(int fd, const struct iovec *data, int n) {
    REAL(ssize_t, "writev", int, const struct iovec *, int);
    DISK(fd_below(fd));
    return real(fd, data, n);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
    DISK(fd_below(fd));
    return real(fd, data, size, offset);
}
static int opened(const char *path, int flags) {
    if ((flags & O_CREAT) && (kind == SPACE || kind == SLOW) && path_below(path)) { dawdle(1); return is_full(); }
    return is_interrupted();
}
#define OPEN(name) int name(const char *path, int flags, ...) { \
    REAL(int, #name, const char *, int, ...); \
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, int); va_end(more); \
    return opened(path, flags) ? -1 : real(path, flags, mode); }
OPEN(open)
OPEN(open64)
#define OPENAT(name) int name(int folder, const char *path, int flags, ...) { \
    REAL(int, #name, int, const char *, int, ...); \
    va_list more; va_start(more, flags); mode_t mode = va_arg(more, int); va_end(more); \
    return opened(path, flags) ? -1 : real(folder, path, flags, mode); }
OPENAT(openat)
OPENAT(openat64)
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    DISK(path_below(path));
    return real(path, mode);
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    DISK(path_below(to));
    return real(from, to);
}
int link(const char *from, const char *to) {
    REAL(int, "link", const char *, const char *);
    DISK(path_below(to));
    return real(from, to);
}
int symlink(const char *from, const char *to) {
    REAL(int, "symlink", const char *, const char *);
    DISK(path_below(to));
    return real(from, to);
}
int fsync(int fd) {
    REAL(int, "fsync", int);
    if ((kind == SPACE || kind == SLOW) && fd_below(fd)) { dawdle(50); if (is_full()) return -1; }
    return real(fd);
}

#define CALL(type, name, parameters, ...) type name parameters { \
    static type (*real) parameters; if (!real) real = next(#name); \
    SIGNAL; return real(__VA_ARGS__); }
CALL(ssize_t, read, (int fd, void *to, size_t size), fd, to, size)
CALL(ssize_t, recv, (int fd, void *to, size_t size, int flags), fd, to, size, flags)
CALL(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), fd, m, flags)
CALL(ssize_t, send, (int fd, const void *data, size_t size, int flags), fd, data, size, flags)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), fd, m, flags)
CALL(int, poll, (struct pollfd *fds, nfds_t n, int ms), fds, n, ms)
CALL(int, select, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t), n, r, w, e, t)
CALL(int, epoll_wait, (int fd, struct epoll_event *e, int n, int ms), fd, e, n, ms)
CALL(pid_t, waitpid, (pid_t pid, int *status, int options), pid, status, options)

static long jumped(void) {
    if (kind != CLOCK || !is_ours()) return 0;
    long since = now_ms() - state->began, by = 0;
    for (int i = 0; i < jump_count && jumps[i].after_ms <= since; i++) by = jumps[i].by_s;
    if (by) __atomic_add_fetch(&state->injected, 1, __ATOMIC_SEQ_CST);
    return by;
}
int clock_gettime(clockid_t id, struct timespec *t) {
    int done = syscall(SYS_clock_gettime, id, t);
    if (!done && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += jumped();
    return done;
}
int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}
