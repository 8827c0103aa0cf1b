/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/conffile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmk.h"

static char folder[64];
static int came_from = -1;

int
conffile_setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/sluice-test-XXXXXX");
    came_from = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return came_from >= 0 && mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

int
conffile_teardown(void **state)
{
    (void)state;
    char command[128];
    int st = fchdir(came_from);
    close(came_from);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return st == 0 ? system(command) : -1; /* NOLINT(cert-env33-c) */
}

void
conffile_write(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

/* Points descriptor `fd` to a new file; the old one is returned. */
static int
catch_fd(int fd, FILE *into)
{
    int old = dup(fd);
    assert_true(old >= 0);
    assert_true(dup2(fileno(into), fd) >= 0);
    return old;
}

enum status
conffile_args(const char *const *args, struct config **out, enum config_action *action,
              char told[CONFFILE_TEXT])
{
    /* Copies: the program writes over the secrets among its arguments. */
    static char words[16][256];
    char *argv[17] = {words[0]};
    int argc = 1;
    strcpy(words[0], "./sluice");
    for (; args[argc - 1] != NULL; argc++) {
        assert_true(argc < 16);
        snprintf(words[argc], sizeof(words[argc]), "%s", args[argc - 1]);
        argv[argc] = words[argc];
    }
    FILE *caught = tmpfile();
    assert_non_null(caught);
    fflush(stderr);
    int old = catch_fd(STDERR_FILENO, caught);
    enum status st = config_load(argc, argv, out, action);
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    close(old);
    if (told != NULL) {
        rewind(caught);
        told[fread(told, 1, CONFFILE_TEXT - 1, caught)] = '\0';
    }
    fclose(caught);
    return st;
}

enum status
conffile_load(const char *text, struct config **out, char told[CONFFILE_TEXT])
{
    enum config_action action;
    conffile_write("a.conf", text);
    enum status st = conffile_args((const char *const[]){"-c", "a.conf", NULL}, out, &action, told);
    assert_true(st != ST_OK || action == CONFIG_RUN);
    return st;
}

struct config *
conffile_good(const char *text)
{
    char told[CONFFILE_TEXT];
    struct config *c = NULL;
    enum status st = conffile_load(text, &c, told);
    if (st != ST_OK) {
        fail_msg("%s\n%s", text, told);
    }
    return c;
}

void
conffile_bad(const char *text, const char *told)
{
    char got[CONFFILE_TEXT];
    char want[CONFFILE_TEXT];
    struct config *c = NULL;
    enum config_action action;
    conffile_write("a.conf", text);
    enum status st =
        conffile_args((const char *const[]){"-t", "-c", "a.conf", NULL}, &c, &action, got);
    snprintf(want, sizeof(want), "sluice: %s\n", told);
    if (st == ST_OK || strcmp(got, want) != 0) {
        fail_msg("%s\ntold: %swanted: %s", text, got, want);
    }
    assert_null(c);
}
