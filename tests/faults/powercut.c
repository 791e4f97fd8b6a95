/* Logs what a process does to a record's files, in the order in which it is done, for a test that cuts
 * the power. Each act is one line, `ACT OFFSET LENGTH PATH`, with LENGTH bytes after it:
 *   W a write, T a length that is set, S a flush, C a file that is made, U one that is taken away,
 *   D a flush of the folder, P what was printed (the path is 1 or 2). A flush is answered at once.
 * CUT_LOG is where to; CUT_RECORD is how the paths of the files begin. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS 1024

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static char *paths[FDS];
static int folder[FDS];
static int out = -1;
static const char *record;

/* Whoever is forked while another thread has the turn would wait for it for ever. */
static void take(void) { pthread_mutex_lock(&turn); }
static void give(void) { pthread_mutex_unlock(&turn); }
__attribute__((constructor)) static void fork_with_the_turn(void) { pthread_atfork(take, give, give); }

static void begin(void) {
    if (out >= 0) return;
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
    const char *log = getenv("CUT_LOG");
    record = getenv("CUT_RECORD");
    if (!log || !record) abort();
    int fd = real(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    out = fcntl(fd, F_DUPFD_CLOEXEC, 900);
    if (out < 0) abort();
    /* Not our own: it waits for the turn. */
    syscall(SYS_close, fd);
}

/* The turn is held. */
static void note(char act, long offset, const void *bytes, size_t length, const char *path) {
    char head[PATH_MAX + 64];
    int n = snprintf(head, sizeof head, "%c %ld %zu %s\n", act, offset, length, path);
    struct iovec parts[2] = {{head, (size_t)n}, {(void *)bytes, length}};
    if (writev(out, parts, 2) != (ssize_t)((size_t)n + length)) abort();
}

static int is_ours(const char *path) {
    size_t n = strlen(path);
    if (strncmp(path, record, strlen(record))) return 0;
    return !(n > 4 && !strcmp(path + n - 4, "-shm")) && !(n > 5 && !strcmp(path + n - 5, "-lock"));
}

static int opened(int fd, const char *path, int was_there) {
    if (fd < 0 || fd >= FDS) return fd;
    char full[PATH_MAX], link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, full, sizeof full - 1);
    if (n < 0) return fd;
    full[n] = 0;
    struct stat found;
    folder[fd] = !fstat(fd, &found) && S_ISDIR(found.st_mode) && !strncmp(record, full, (size_t)n);
    free(paths[fd]);
    paths[fd] = is_ours(full) ? strdup(full) : NULL;
    if (paths[fd] && !was_there) note('C', 0, "", 0, full);
    (void)path;
    return fd;
}

static int open_at(const char *name, int at, const char *path, int flags, va_list rest) {
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, name);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    pthread_mutex_lock(&turn);
    begin();
    int was_there = !faccessat(at, path, F_OK, 0);
    int fd = opened(real(at, path, flags, mode), path, was_there);
    int kept = errno;
    pthread_mutex_unlock(&turn);
    errno = kept;
    return fd;
}

#define OPEN(name, real, at, ...)                       \
    int name(__VA_ARGS__, int flags, ...) {             \
        va_list rest;                                   \
        va_start(rest, flags);                          \
        int fd = open_at(real, at, path, flags, rest);  \
        va_end(rest);                                   \
        return fd;                                      \
    }
OPEN(open, "openat", AT_FDCWD, const char *path)
OPEN(open64, "openat64", AT_FDCWD, const char *path)
OPEN(openat, "openat", at, int at, const char *path)
OPEN(openat64, "openat64", at, int at, const char *path)

int close(int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, "close");
    pthread_mutex_lock(&turn);
    if (fd >= 0 && fd < FDS) {
        free(paths[fd]);
        paths[fd] = NULL;
        folder[fd] = 0;
    }
    int result = real(fd);
    pthread_mutex_unlock(&turn);
    return result;
}

static const char *path_of(int fd) { return fd >= 0 && fd < FDS ? paths[fd] : NULL; }

#define PWRITE(name, off)                                                             \
    ssize_t name(int fd, const void *bytes, size_t length, off offset) {              \
        ssize_t (*real)(int, const void *, size_t, off) = dlsym(RTLD_NEXT, #name);    \
        pthread_mutex_lock(&turn);                                                    \
        begin();                                                                      \
        ssize_t n = real(fd, bytes, length, offset);                                  \
        if (n > 0 && path_of(fd)) note('W', offset, bytes, (size_t)n, path_of(fd));   \
        pthread_mutex_unlock(&turn);                                                  \
        return n;                                                                     \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *bytes, size_t length) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    pthread_mutex_lock(&turn);
    begin();
    off_t at = path_of(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t n = real(fd, bytes, length);
    if (n > 0 && path_of(fd)) note('W', at, bytes, (size_t)n, path_of(fd));
    if (n > 0 && (fd == 1 || fd == 2)) note('P', 0, bytes, (size_t)n, fd == 1 ? "1" : "2");
    pthread_mutex_unlock(&turn);
    return n;
}

#define TRUNCATE(name, off)                                          \
    int name(int fd, off length) {                                   \
        int (*real)(int, off) = dlsym(RTLD_NEXT, #name);             \
        pthread_mutex_lock(&turn);                                   \
        begin();                                                     \
        int result = real(fd, length);                               \
        if (!result && path_of(fd)) note('T', length, "", 0, path_of(fd)); \
        pthread_mutex_unlock(&turn);                                 \
        return result;                                               \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

static int flushed(const char *name, int fd) {
    int (*real)(int) = dlsym(RTLD_NEXT, name);
    pthread_mutex_lock(&turn);
    begin();
    int result = 0;
    if (path_of(fd)) note('S', 0, "", 0, path_of(fd));
    else if (fd >= 0 && fd < FDS && folder[fd]) note('D', 0, "", 0, record);
    else result = real(fd);
    pthread_mutex_unlock(&turn);
    return result;
}
int fsync(int fd) { return flushed("fsync", fd); }
int fdatasync(int fd) { return flushed("fdatasync", fd); }

int unlink(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    pthread_mutex_lock(&turn);
    begin();
    char full[PATH_MAX];
    int is_known = realpath(path, full) && is_ours(full);
    int result = real(path);
    int kept = errno;
    if (!result && is_known) note('U', 0, "", 0, full);
    pthread_mutex_unlock(&turn);
    errno = kept;
    return result;
}

/* Nothing of a record is renamed or cut by its path; whoever begins to do so must be logged here. */
int rename(const char *from, const char *to) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    pthread_mutex_lock(&turn);
    begin();
    char full[PATH_MAX];
    if (realpath(from, full) && is_ours(full)) abort();
    pthread_mutex_unlock(&turn);
    return real(from, to);
}
