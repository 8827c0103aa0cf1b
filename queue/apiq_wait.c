/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping and waking. No wakeup is lost because after each change, as it unlocks, apiq_unlock_kick
 * signals one sleeper if there is something for it and nobody is on the way already; and whoever
 * comes up, gets something or not, does the same, so that one signal becomes as many as are needed.
 *
 * What waits but can not be run (its order key is busy, its level has no slot, all workers are
 * stuck) expires without any change. For that, while anything waits, at least one sleeper, best
 * that of the operator lane, looks again every EXPIRY_TICK. */
#include <time.h>

#include "queue/apiq_priv.h"
#include "server/base/assert.h"

#define EXPIRY_TICK (50 * CLOCK_MS)

bool
apiq_level_servable(const struct apiq *q, enum apiq_level level, bool patient)
{
    const struct apiq_lv *lv = &q->lv[level];
    if (lv->runnable == 0 || (patient && lv->late_until != 0 && apiq_is_held(q, lv))) {
        return false;
    }
    if (lv->conf.max_running > 0 && lv->st.running >= lv->conf.max_running) {
        return false;
    }
    if (lv->conf.max_pending > 0 && lv->st.pending >= lv->conf.max_pending) {
        return false;
    }
    return level == APIQ_OPERATOR || q->slots == 0 || q->busy < q->slots;
}

/* Somebody sleeps there who is not on the way: to be signalled. */
static bool
choose(struct apiq *q, enum apiq_lane lane, bool *signals)
{
    if (q->idle[lane] <= q->woken[lane]) {
        return false;
    }
    q->woken[lane]++;
    signals[lane] = true;
    return true;
}

/* Chooses a sleeper for what can be run; false: there is nothing, or nobody for it. */
static bool
choose_server(struct apiq *q, bool *signals)
{
    bool op = apiq_level_servable(q, APIQ_OPERATOR, true) && q->woken[APIQ_LANE_OPERATOR] == 0 &&
              !choose(q, APIQ_LANE_OPERATOR, signals);
    return (op || apiq_level_servable(q, APIQ_NORMAL, true) ||
            apiq_level_servable(q, APIQ_INFO, true)) &&
           (q->woken[APIQ_LANE_ANY] > 0 || choose(q, APIQ_LANE_ANY, signals));
}

/* Whom to wake, as the state asks for. */
static void
choose_sleepers(struct apiq *q, bool *signals)
{
    if (q->idle[APIQ_LANE_ANY] + q->idle[APIQ_LANE_OPERATOR] == 0 || q->depth == 0) {
        return;
    }
    if (q->closed) {
        (void)(choose(q, APIQ_LANE_OPERATOR, signals) || choose(q, APIQ_LANE_ANY, signals));
        return;
    }
    if (!choose_server(q, signals) && q->timed == 0 && q->woken[APIQ_LANE_OPERATOR] == 0 &&
        !choose(q, APIQ_LANE_OPERATOR, signals) && q->woken[APIQ_LANE_ANY] == 0) {
        (void)choose(q, APIQ_LANE_ANY, signals);
    }
}

static void
signal_chosen(struct apiq *q, const bool *signals)
{
    for (int lane = 0; lane < 2; lane++) {
        if (signals[lane]) {
            pthread_cond_signal(&q->wake[lane]);
        }
    }
}

/* NB: after the unlock: who is woken would find the lock taken. */
void
apiq_unlock_kick(struct apiq *q)
{
    bool signals[2] = {false, false};
    choose_sleepers(q, signals);
    pthread_mutex_unlock(&q->lock);
    signal_chosen(q, signals);
}

/* Who found nothing: there may be something for another. NB: what is held can be run from some time
 * on, without any change that would wake one who may run it. */
static void
hand_on(struct apiq *q)
{
    bool signals[2] = {false, false};
    if (q->depth > 0 && !q->closed) {
        (void)choose_server(q, signals);
    }
    signal_chosen(q, signals);
}

static void
sleep_once(struct apiq *q, enum apiq_lane lane)
{
    q->idle[lane]++;
    if (q->depth == 0) {
        pthread_cond_wait(&q->wake[lane], &q->lock);
    } else {
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        int64_t at = (int64_t)ts.tv_sec * CLOCK_S + ts.tv_nsec;
        at += apiq_next_look(q, at, EXPIRY_TICK);
        ts.tv_sec = (time_t)(at / CLOCK_S);
        ts.tv_nsec = (long)(at % CLOCK_S);
        q->timed++;
        pthread_cond_timedwait(&q->wake[lane], &q->lock, &ts);
        q->timed--;
    }
    q->idle[lane]--;
    if (q->woken[lane] > 0) {
        q->woken[lane]--;
    }
}

enum status
apiq_pull_wait(struct apiq *q, enum apiq_lane lane, const atomic_bool *stop, struct apiq_item **out)
{
    enum status st = ST_AGAIN;
    *out = NULL;
    pthread_mutex_lock(&q->lock);
    while (stop == NULL || !atomic_load(stop)) {
        st = apiq_pull_locked(q, lane, true, out);
        if (st != ST_AGAIN) {
            break;
        }
        hand_on(q);
        sleep_once(q, lane);
    }
    apiq_unlock_kick(q);
    return st;
}

void
apiq_wake(struct apiq *q)
{
    pthread_mutex_lock(&q->lock);
    for (int lane = 0; lane < 2; lane++) {
        pthread_cond_broadcast(&q->wake[lane]);
    }
    pthread_mutex_unlock(&q->lock);
}
