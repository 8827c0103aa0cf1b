/* SPDX-License-Identifier: Apache-2.0 */
/* replay NAME DIRECTORY: gives a fuzzer each file of a corpus and prints PASS when it has survived
 * all. */
#include <dirent.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        err(2, "%s", path);
    }
    /* Of the right size, so that a sanitizer sees a read behind the end. */
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    uint8_t *data = size >= 0 ? malloc(size > 0 ? (size_t)size : 1) : NULL;
    rewind(f);
    if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size) {
        err(2, "%s", path);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
}

int
main(int argc, char **argv)
{
    DIR *dir = argc == 3 ? opendir(argv[2]) : NULL;
    if (dir == NULL) {
        err(2, "usage: replay NAME DIRECTORY");
    }
    int count = 0;
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        char path[4096];
        if (e->d_name[0] != '.' &&
            snprintf(path, sizeof path, "%s/%s", argv[2], e->d_name) < (int)sizeof path) {
            replay(path);
            count++;
        }
    }
    closedir(dir);
    if (count == 0) {
        errx(2, "%s holds no input", argv[2]);
    }
    printf("PASS %s (%d inputs)\n", argv[1], count);
    return 0;
}
