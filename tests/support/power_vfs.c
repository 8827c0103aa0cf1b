/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/power_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 16, SECTOR = 512 };

struct pending {
    struct pending *next; /* owned */
    sqlite3_int64 at;
    int n; /* < 0: a truncation to `at` */
    char data[];
};

/* What is known of a path: its lasting content and what came after. Guarded by lock. */
struct image {
    char path[512];
    char *lasting; /* owned */
    size_t size;
    struct pending *first, **end; /* owned list */
};

struct shim_file {
    sqlite3_file base;
    struct image *image; /* NULL: not followed (temporary files) */
    sqlite3_file *real;  /* behind this struct */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct image images[FILES];
static sqlite3_vfs *real_vfs;
static unsigned rng;
static long cut_after;
static int is_dead, disk_full, one_in_fails, one_sync_in_fails;

static unsigned
draw(void)
{
    rng = rng * 1103515245U + 12345U;
    return rng >> 8;
}

static void
forget_pending(struct image *im)
{
    while (im->first != NULL) {
        struct pending *p = im->first;
        im->first = p->next;
        free(p);
    }
    im->end = &im->first;
}

/* What a file held before it was followed counts as lasting. */
static void
take_in(struct image *im)
{
    int fd = open(im->path, O_RDONLY);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    if (size > 0) {
        im->lasting = malloc((size_t)size);
        im->size = (size_t)size;
        if (pread(fd, im->lasting, im->size, 0) != size) {
            abort();
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static struct image *
image_of(const char *path)
{
    for (int i = 0; i < FILES; i++) {
        if (strcmp(images[i].path, path) == 0) {
            return &images[i];
        }
    }
    for (int i = 0; i < FILES; i++) {
        if (images[i].path[0] == '\0') {
            (void)snprintf(images[i].path, sizeof(images[i].path), "%s", path);
            images[i].end = &images[i].first;
            take_in(&images[i]);
            return &images[i];
        }
    }
    abort();
}

static void
apply(struct image *im, sqlite3_int64 at, const char *data, size_t n)
{
    size_t end = (size_t)at + n;
    if (end > im->size) {
        im->lasting = realloc(im->lasting, end);
        memset(im->lasting + im->size, 0, end - im->size);
        im->size = end;
    }
    memcpy(im->lasting + at, data, n);
}

static void
apply_pending(struct image *im, const struct pending *p, size_t n)
{
    if (p->n >= 0) {
        apply(im, p->at, p->data, n);
    } else if ((size_t)p->at < im->size) {
        im->size = (size_t)p->at;
    }
}

/* A later sync knows nothing of what one that failed has let go. */
static void
lose_some(struct image *im)
{
    for (const struct pending *p = im->first; p != NULL; p = p->next) {
        if (p->n < 0 || draw() % 2 == 0) {
            apply_pending(im, p, p->n > 0 ? (size_t)p->n : 0);
        }
    }
    forget_pending(im);
}

/* SQLITE_OK, or what this write or sync fails with. */
static int
fault(int is_write)
{
    if (!is_dead && cut_after >= 0 && cut_after-- == 0) {
        is_dead = 1;
    }
    if (is_dead) {
        return SQLITE_IOERR;
    }
    if (is_write && disk_full) {
        return SQLITE_FULL;
    }
    if (one_in_fails > 0 && draw() % (unsigned)one_in_fails == 0) {
        return is_write ? SQLITE_IOERR_WRITE : SQLITE_IOERR_FSYNC;
    }
    if (!is_write && one_sync_in_fails > 0 && draw() % (unsigned)one_sync_in_fails == 0) {
        return SQLITE_IOERR_FSYNC;
    }
    return SQLITE_OK;
}

static void
note(struct image *im, sqlite3_int64 at, const void *data, int n)
{
    size_t len = n > 0 ? (size_t)n : 0;
    struct pending *p = malloc(sizeof(*p) + len);
    p->next = NULL;
    p->at = at;
    p->n = n;
    if (len > 0) {
        memcpy(p->data, data, len);
    }
    *im->end = p;
    im->end = &p->next;
}

static struct shim_file *
shim(sqlite3_file *f)
{
    return (struct shim_file *)(void *)f;
}

static sqlite3_file *
inner(sqlite3_file *f)
{
    return shim(f)->real;
}

static int
f_close(sqlite3_file *f)
{
    return inner(f)->pMethods->xClose(inner(f));
}

static int
f_read(sqlite3_file *f, void *out, int n, sqlite3_int64 at)
{
    return inner(f)->pMethods->xRead(inner(f), out, n, at);
}

static int
f_write(sqlite3_file *f, const void *data, int n, sqlite3_int64 at)
{
    struct image *im = shim(f)->image;
    if (im == NULL) {
        return inner(f)->pMethods->xWrite(inner(f), data, n, at);
    }
    (void)pthread_mutex_lock(&lock);
    int rc = fault(1);
    if (rc == SQLITE_OK) {
        note(im, at, data, n);
        rc = inner(f)->pMethods->xWrite(inner(f), data, n, at);
    }
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

static int
f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    struct image *im = shim(f)->image;
    if (im == NULL) {
        return inner(f)->pMethods->xTruncate(inner(f), size);
    }
    (void)pthread_mutex_lock(&lock);
    int rc = fault(0);
    if (rc == SQLITE_OK) {
        note(im, size, NULL, -1);
        rc = inner(f)->pMethods->xTruncate(inner(f), size);
    }
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

static int
f_sync(sqlite3_file *f, int flags)
{
    struct image *im = shim(f)->image;
    (void)flags;
    if (im == NULL) {
        return SQLITE_OK;
    }
    (void)pthread_mutex_lock(&lock);
    int rc = fault(0);
    if (rc == SQLITE_OK) {
        for (const struct pending *p = im->first; p != NULL; p = p->next) {
            apply_pending(im, p, p->n > 0 ? (size_t)p->n : 0);
        }
        forget_pending(im);
    } else if (rc == SQLITE_IOERR_FSYNC) {
        lose_some(im);
    }
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

static int
f_size(sqlite3_file *f, sqlite3_int64 *out)
{
    return inner(f)->pMethods->xFileSize(inner(f), out);
}

static int
f_lock(sqlite3_file *f, int level)
{
    return inner(f)->pMethods->xLock(inner(f), level);
}

static int
f_unlock(sqlite3_file *f, int level)
{
    return inner(f)->pMethods->xUnlock(inner(f), level);
}

static int
f_check(sqlite3_file *f, int *out)
{
    return inner(f)->pMethods->xCheckReservedLock(inner(f), out);
}

static int
f_control(sqlite3_file *f, int op, void *arg)
{
    return inner(f)->pMethods->xFileControl(inner(f), op, arg);
}

static int
f_sector(sqlite3_file *f)
{
    (void)f;
    return SECTOR;
}

/* NB: no promise of atomic or safe writes. */
static int
f_traits(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static int
f_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **out)
{
    return inner(f)->pMethods->xShmMap(inner(f), region, size, extend, out);
}

static int
f_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return inner(f)->pMethods->xShmLock(inner(f), at, n, flags);
}

static void
f_shm_barrier(sqlite3_file *f)
{
    inner(f)->pMethods->xShmBarrier(inner(f));
}

static int
f_shm_unmap(sqlite3_file *f, int remove_it)
{
    return inner(f)->pMethods->xShmUnmap(inner(f), remove_it);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = f_close,
    .xRead = f_read,
    .xWrite = f_write,
    .xTruncate = f_truncate,
    .xSync = f_sync,
    .xFileSize = f_size,
    .xLock = f_lock,
    .xUnlock = f_unlock,
    .xCheckReservedLock = f_check,
    .xFileControl = f_control,
    .xSectorSize = f_sector,
    .xDeviceCharacteristics = f_traits,
    .xShmMap = f_shm_map,
    .xShmLock = f_shm_lock,
    .xShmBarrier = f_shm_barrier,
    .xShmUnmap = f_shm_unmap,
};

static int
v_open(sqlite3_vfs *v, const char *path, sqlite3_file *f, int flags, int *out_flags)
{
    struct shim_file *s = shim(f);
    (void)v;
    memset(s, 0, sizeof(*s));
    s->real = (sqlite3_file *)(void *)(s + 1);
    int rc = real_vfs->xOpen(real_vfs, path, s->real, flags, out_flags);
    if (s->real->pMethods == NULL) {
        return rc;
    }
    (void)pthread_mutex_lock(&lock);
    if (path != NULL && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0) {
        s->image = image_of(path);
    }
    (void)pthread_mutex_unlock(&lock);
    s->base.pMethods = &methods;
    return rc;
}

static int
v_delete(sqlite3_vfs *v, const char *path, int sync_dir)
{
    (void)v;
    (void)pthread_mutex_lock(&lock);
    int rc = is_dead ? SQLITE_IOERR : SQLITE_OK;
    if (rc == SQLITE_OK) {
        struct image *im = image_of(path);
        forget_pending(im);
        im->size = 0;
    }
    (void)pthread_mutex_unlock(&lock);
    return rc == SQLITE_OK ? real_vfs->xDelete(real_vfs, path, sync_dir) : rc;
}

void
power_vfs_reset(unsigned seed)
{
    static sqlite3_vfs v;
    if (real_vfs == NULL) {
        real_vfs = sqlite3_vfs_find(NULL);
        v = *real_vfs;
        v.zName = POWER_VFS;
        v.pNext = NULL;
        v.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
        v.xOpen = v_open;
        v.xDelete = v_delete;
        (void)sqlite3_vfs_register(&v, 0);
    }
    for (int i = 0; i < FILES; i++) {
        forget_pending(&images[i]);
        free(images[i].lasting);
        memset(&images[i], 0, sizeof(images[i]));
    }
    rng = seed;
    cut_after = -1;
    is_dead = 0;
    disk_full = 0;
    one_in_fails = 0;
    one_sync_in_fails = 0;
}

void
power_vfs_cut_after(long n)
{
    (void)pthread_mutex_lock(&lock);
    cut_after = n;
    (void)pthread_mutex_unlock(&lock);
}

void
power_vfs_disk_full(int on)
{
    (void)pthread_mutex_lock(&lock);
    disk_full = on;
    (void)pthread_mutex_unlock(&lock);
}

void
power_vfs_errors(int one_in)
{
    (void)pthread_mutex_lock(&lock);
    one_in_fails = one_in;
    (void)pthread_mutex_unlock(&lock);
}

void
power_vfs_sync_errors(int one_in)
{
    (void)pthread_mutex_lock(&lock);
    one_sync_in_fails = one_in;
    (void)pthread_mutex_unlock(&lock);
}

static void
lose(struct image *im)
{
    for (const struct pending *p = im->first; p != NULL; p = p->next) {
        size_t n = p->n > 0 ? (size_t)p->n : 0;
        unsigned what = draw() % 4;
        if (what == 0) {
            continue;
        }
        if (what == 1 && p->n > 0) {
            n = draw() % n;
        }
        apply_pending(im, p, n);
    }
    forget_pending(im);
    int fd = open(im->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, im->lasting, im->size) != (ssize_t)im->size) {
        abort();
    }
    (void)close(fd);
}

void
power_vfs_restart(void)
{
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < FILES; i++) {
        if (images[i].path[0] != '\0') {
            lose(&images[i]);
        }
    }
    is_dead = 0;
    cut_after = -1;
    (void)pthread_mutex_unlock(&lock);
}
