/* SPDX-License-Identifier: Apache-2.0 */
#include "server/auth/auth.h"

#include <crypt.h>
#include <sodium.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>

#include "server/auth/perms.h"
#include "server/base/hash.h"
#include "server/base/mem.h"
#include "server/config.h"

struct auth {
    _Atomic uint32_t refs;
    bool required;
    char *token;                  /* owned or NULL */
    struct auth_user *token_user; /* owned: who connects by token */
    struct auth_user **table;     /* owned: by name */
    size_t n_table;
    struct auth_user *nobody;             /* owned: who connects where nothing is required */
    const struct auth_user *no_auth_user; /* borrowed: in the table */
    struct perms *default_perms;          /* owned or NULL */
};

static void
free_user(struct auth_user *u)
{
    if (u == NULL) {
        return;
    }
    mem_free(u->name);
    mem_free(u->password);
    if (!u->perms_shared) {
        perms_free(u->perms);
    }
    mem_free(u);
}

static void
free_all(struct auth *a)
{
    for (size_t i = 0; i < a->n_table; i++) {
        while (a->table[i] != NULL) {
            struct auth_user *u = a->table[i];
            a->table[i] = u->next;
            free_user(u);
        }
    }
    mem_free(a->table);
    free_user(a->token_user);
    free_user(a->nobody);
    perms_free(a->default_perms);
    mem_free(a->token);
    mem_free(a);
}

static struct auth_user *
new_user(struct auth *a, const char *name, const char *password, struct account *account)
{
    struct auth_user *u = mem_alloc(sizeof *u);
    if (u == NULL) {
        return NULL;
    }
    u->name = mem_strdup(name);
    u->password = password != NULL ? mem_strdup(password) : NULL;
    if (u->name == NULL || (password != NULL && u->password == NULL) || account == NULL) {
        free_user(u);
        return NULL;
    }
    u->account = account;
    u->perms = a->default_perms;
    u->perms_shared = true;
    return u;
}

static struct auth_user **
slot_of(const struct auth *a, const char *name)
{
    struct auth_user **link = &a->table[hash_bytes(name, strlen(name)) & (a->n_table - 1)];
    while (*link != NULL && strcmp((*link)->name, name) != 0) {
        link = &(*link)->next;
    }
    return link;
}

static enum status
own_perms(struct auth_user *u, const struct config_perms *cfg)
{
    struct perms *p;
    enum status st = perms_new(&p, cfg);
    if (st == ST_OK) {
        u->perms = p;
        u->perms_shared = false;
    }
    return st;
}

static bool
lacks_standard(const struct config_user *cu)
{
    for (size_t i = 0; i < cu->n_connection_types; i++) {
        if (strcasecmp(cu->connection_types[i], "STANDARD") == 0) {
            return false;
        }
    }
    return cu->n_connection_types > 0;
}

static const struct config_account *
find_account(const struct config *cfg, const char *name)
{
    for (size_t i = 0; i < cfg->n_accounts; i++) {
        if (strcmp(cfg->accounts[i]->name, name) == 0) {
            return cfg->accounts[i];
        }
    }
    return NULL;
}

static enum status
add_user(struct auth *a, const struct config *cfg, const struct config_user *cu,
         struct account *account)
{
    struct auth_user *u = new_user(a, cu->username, cu->password, account);
    if (u == NULL) {
        return ST_NOMEM;
    }
    const struct config_account *ca = find_account(cfg, cu->account);
    const struct config_perms *perms = cu->perms;
    if (perms == NULL && ca != NULL) {
        perms = ca->default_perms;
    }
    if (perms != NULL && own_perms(u, perms) != ST_OK) {
        free_user(u);
        return ST_NOMEM;
    }
    u->no_standard = lacks_standard(cu);
    struct auth_user **slot = slot_of(a, u->name);
    u->next = NULL;
    if (*slot != NULL) {
        u->next = (*slot)->next;
        free_user(*slot);
    }
    *slot = u;
    return ST_OK;
}

static enum status
make_singles(struct auth *a, const struct config *cfg, struct account *global)
{
    a->nobody = new_user(a, "", NULL, global);
    if (a->nobody == NULL) {
        return ST_NOMEM;
    }
    if (cfg->token != NULL) {
        a->token = mem_strdup(cfg->token);
        a->token_user = new_user(a, "", NULL, global);
        if (a->token == NULL || a->token_user == NULL) {
            return ST_NOMEM;
        }
    }
    if (cfg->username != NULL) {
        struct auth_user *u = new_user(a, cfg->username, cfg->password, global);
        if (u == NULL) {
            return ST_NOMEM;
        }
        *slot_of(a, u->name) = u;
    }
    return ST_OK;
}

static enum status
fill(struct auth *a, const struct config *cfg, auth_account_fn *account, void *arg)
{
    a->n_table = 16;
    while (a->n_table < cfg->n_users * 2) {
        a->n_table *= 2;
    }
    a->table = mem_alloc_array(a->n_table, sizeof *a->table);
    if (a->table == NULL) {
        a->n_table = 0;
        return ST_NOMEM;
    }
    if (cfg->default_perms != NULL && perms_new(&a->default_perms, cfg->default_perms) != ST_OK) {
        return ST_NOMEM;
    }
    if (make_singles(a, cfg, account(arg, "$G")) != ST_OK) {
        return ST_NOMEM;
    }
    for (size_t i = 0; i < cfg->n_users; i++) {
        struct account *of_user = account(arg, cfg->users[i]->account);
        if (add_user(a, cfg, cfg->users[i], of_user) != ST_OK) {
            return ST_NOMEM;
        }
    }
    if (cfg->no_auth_user != NULL) {
        a->no_auth_user = *slot_of(a, cfg->no_auth_user);
    }
    return ST_OK;
}

enum status
auth_new(struct auth **out, const struct config *cfg, auth_account_fn *account, void *arg)
{
    struct auth *a = mem_alloc(sizeof *a);
    if (a == NULL) {
        return ST_NOMEM;
    }
    atomic_init(&a->refs, 1);
    a->required = cfg->username != NULL || cfg->token != NULL || cfg->n_users > 0;
    enum status st = fill(a, cfg, account, arg);
    if (st != ST_OK) {
        free_all(a);
        return st;
    }
    *out = a;
    return ST_OK;
}

struct auth *
auth_ref(struct auth *a)
{
    atomic_fetch_add(&a->refs, 1);
    return a;
}

void
auth_unref(struct auth *a)
{
    if (a != NULL && atomic_fetch_sub(&a->refs, 1) == 1) {
        free_all(a);
    }
}

bool
auth_is_required(const struct auth *a)
{
    return a->required;
}

const struct auth_user *
auth_anonymous(const struct auth *a)
{
    return a->required ? a->no_auth_user : a->nobody;
}

const char *
auth_token(const struct auth *a)
{
    return a->token;
}

bool
auth_find(const struct auth *a, const struct auth_creds *c, const struct auth_user **user,
          const char **stored, const char **given)
{
    *stored = NULL;
    *given = "";
    bool named = c->user != NULL && c->user[0] != '\0';
    if (!named && a->token != NULL) {
        *user = a->token_user;
        *stored = a->token;
        *given = c->token != NULL ? c->token : "";
        return true;
    }
    if (!named) {
        bool empty = c->token == NULL || c->token[0] == '\0';
        *user = empty || !a->required ? auth_anonymous(a) : NULL;
        return *user != NULL;
    }
    if (!a->required) {
        *user = a->nobody;
        return true;
    }
    *user = *slot_of(a, c->user);
    if (*user == NULL) {
        return false;
    }
    *stored = (*user)->password != NULL ? (*user)->password : "";
    *given = c->password != NULL ? c->password : "";
    return true;
}

bool
auth_is_bcrypt(const char *stored)
{
    return stored[0] == '$' && stored[1] == '2' && stored[2] >= 'a' && stored[2] <= 'y' &&
           stored[3] == '$' && strlen(stored) == 60;
}

static bool
equal_secrets(const char *a, const char *b)
{
    size_t n = strlen(a);
    return n == strlen(b) && sodium_memcmp(a, b, n) == 0;
}

bool
auth_secret_matches(const char *stored, const char *given)
{
    if (!auth_is_bcrypt(stored)) {
        return equal_secrets(stored, given);
    }
    struct crypt_data *data = mem_alloc(sizeof *data);
    if (data == NULL) {
        return false;
    }
    const char *hashed = crypt_r(given, stored, data);
    bool ok = hashed != NULL && equal_secrets(hashed, stored);
    sodium_memzero(data, sizeof *data);
    mem_free(data);
    return ok;
}
