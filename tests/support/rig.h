/* SPDX-License-Identifier: Apache-2.0 */
/* An API plane without threads for the tests of its dispatcher: they move the clock and do the
 * worker's steps; after every step the books must add up. One at a time. */
#ifndef TESTS_SUPPORT_RIG_H
#define TESTS_SUPPORT_RIG_H

#include "api/dispatch.h"
#include "api/endpoint.h"
#include "tests/support/books.h"
#include "tests/support/fakehost.h"

struct rig {
    struct fakehost host;
    struct clock_fake now;
    struct api *api;
    char ran[4096]; /* payloads in the order of their runs */
};
extern struct rig rig;

/* Endpoints that note their payload in rig.ran and answer with it. */
extern const struct api_endpoint rig_note;     /* $JS.API.NOTE, level normal, with a type */
extern const struct api_endpoint rig_sys_note; /* $SYS.REQ.NOTE, level info, operator if system */
enum status rig_run_note(struct api *a, struct api_request *r, struct reply *out);

/* For cmocka. */
int rig_set_up(void **state);
int rig_tear_down(void **state);

/* The settings of a release, changed. */
void rig_update(void (*change)(struct api_opts *o));
void rig_limit_0(struct api_opts *o);
void rig_limit_2(struct api_opts *o);
void rig_lifo(struct api_opts *o);

/* A request of connection cid; hdr NULL: without headers. */
void rig_send_hdr(const struct api_endpoint *ep, unsigned acc, uint64_t cid, const char *reply,
                  const char *data, const char *hdr);
void rig_send(const struct api_endpoint *ep, unsigned acc, uint64_t cid, const char *data);
void rig_step_all(void);

/* The next thing published must be an error with that in its text; its retry hint in ns, or 0, is
 * returned. Or that data; or there must be nothing. */
int64_t rig_expect_error(int code, int err_code, const char *in_text);
void rig_expect_data(const char *data);
void rig_expect_silence(void);

#endif
