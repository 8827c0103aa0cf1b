/* SPDX-License-Identifier: Apache-2.0 */
#include "server/conf/path.h"

#include <stdbool.h>
#include <string.h>

/* Drops the last component of out[root, len), if there is one that can be dropped. */
static bool
drop_last(const char *out, size_t root, size_t *len)
{
    if (*len <= root) {
        return root > 0; /* "/.." is "/" */
    }
    size_t at = *len;
    while (at > root && out[at - 1] != '/') {
        at--;
    }
    if (strncmp(out + at, "..", 2) == 0 && *len - at == 2) {
        return false;
    }
    *len = at > root ? at - 1 : root;
    return true;
}

char *
path_clean(struct arena *a, const char *path)
{
    size_t n = strlen(path);
    char *out = arena_alloc(a, n + 2);
    if (out == NULL) {
        return NULL;
    }
    size_t root = path[0] == '/' ? 1 : 0;
    size_t len = root;
    if (root > 0) {
        out[0] = '/';
    }
    for (const char *p = path; *p != '\0';) {
        size_t part = strcspn(p, "/");
        bool up = part == 2 && p[0] == '.' && p[1] == '.';
        bool skip = part == 0 || (part == 1 && p[0] == '.') || (up && drop_last(out, root, &len));
        if (!skip) {
            if (len > root) {
                out[len++] = '/';
            }
            memcpy(out + len, p, part);
            len += part;
        }
        p += part + (p[part] == '/' ? 1 : 0);
    }
    if (len == 0) {
        out[len++] = '.';
    }
    out[len] = '\0';
    return out;
}

char *
path_dir(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = arena_strndup(a, path, slash != NULL ? (size_t)(slash - path) + 1 : 0);
    return dir != NULL ? path_clean(a, dir) : NULL;
}

char *
path_join(struct arena *a, const char *dir, const char *name)
{
    size_t nd = strlen(dir);
    size_t nn = strlen(name);
    char *both = arena_alloc(a, nd + nn + 2);
    if (both == NULL) {
        return NULL;
    }
    memcpy(both, dir, nd);
    both[nd] = '/';
    memcpy(both + nd + 1, name, nn);
    return path_clean(a, nd > 0 ? both : both + 1);
}
