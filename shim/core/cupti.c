/* cupti.c - finds CUPTI, turns it on, hands out buffers and takes them back. Never holds a lock while calling CUPTI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/anchor.h"
#include "shim/core/callsite.h"
#include "shim/core/core.h"
#include "shim/core/cupti_calls.h"
#include "shim/core/cupti_find.h"
#include "shim/core/gpu.h"
#include "shim/core/gpu_launches.h"
#include "shim/core/gpu_records.h"
#include "shim/core/options.h"

/* Small, though larger ones would be asked for less often: CUPTI gives a buffer back when all of its records are
 * complete, and while a GPU is busy that is only when it is full. 128 KiB are 600 kernels. */
#define BUFFER_BYTES (128u * 1024)
#define NR_BUFFERS 512 /* at most 64 MiB, touched as needed */
#define DISCARD_BYTES (64u * 1024)

/* OFF for good: not there, refused, or a fork child of a process that had it on. ASIDE: another user has it. */
enum { IDLE, STARTING, ON, ASIDE, OFF };
static atomic_int state;
static char *buffers;
static _Atomic uint64_t buffer_asked_ns[NR_BUFFERS]; /* when it was handed out; 0: free */
static uint8_t discard[DISCARD_BYTES] __attribute__((aligned(8)));
static atomic_ullong discarded;
static char status[160] = "not used";

/* ---- buffers -------------------------------------------------------------------------------------------------- */

/* On the job's thread. Without a free one a shared buffer is handed out whose records nobody reads: before 12.9 CUPTI
 * does not survive a refusal. */
static void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
    uint64_t asked_ns = now_ns();
    *max_records = 0;
    for (unsigned i = 0; i < NR_BUFFERS; i++) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&buffer_asked_ns[i], &none, asked_ns))
            continue;
        *buffer = (uint8_t *)buffers + (size_t)i * BUFFER_BYTES;
        *size = BUFFER_BYTES;
        return;
    }
    *buffer = discard;
    *size = sizeof(discard);
}

/* On CUPTI's thread, or on whichever flushes. */
static void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    struct shim_tls *tls = process.preload->tls();
    if (!tls->self)
        tls->dead = 1; /* a thread of CUPTI's: its own calls are none of the job's */
    void *frame = tls->frame, *record = NULL;
    tls->frame = __builtin_frame_address(0);

    while (buffer && valid && cupti.next_record(buffer, valid, &record) == 0) {
        if (buffer == discard)
            atomic_fetch_add(&discarded, 1);
        else
            gpu_record(record);
    }
    if (buffer && buffer != discard)
        atomic_store(&buffer_asked_ns[(size_t)((char *)buffer - buffers) / BUFFER_BYTES], 0);
    tls->frame = frame;
}

/* Everything launched before the oldest buffer that is still out was handed out has been told. */
static uint64_t buffers_complete_ns(uint64_t now_ns)
{
    uint64_t oldest_ns = now_ns;
    for (unsigned i = 0; i < NR_BUFFERS; i++) {
        uint64_t asked_ns = atomic_load_explicit(&buffer_asked_ns[i], memory_order_relaxed);
        if (asked_ns && asked_ns < oldest_ns)
            oldest_ns = asked_ns;
    }
    return oldest_ns;
}

static void send_until(uint64_t until_ns)
{
    EMIT(gpu_until, process.pid, .device = UINT32_MAX, .until_ns = until_ns);
}

/* ---- turning it on -------------------------------------------------------------------------------------------- */

static uint32_t version;

/* Takes CUPTI's one place for a client of its activities. Returns CUPTI's error. */
static int take_over(void)
{
    static const uint32_t kinds[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMSET};
    int err = cupti.register_callbacks(buffer_requested, buffer_completed);
    if (!err)
        cupti_calls_on(version);
    if (!err && options.whole_graphs)
        (void)cupti.enable(CUPTI_GRAPH_TRACE); /* before 11.7 it is refused, and nodes come */
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !err; i++)
        err = cupti.enable(kinds[i]);
    return err;
}

static bool turn_on(void)
{
    if (!cupti_find()) {
        snprintf(status, sizeof(status), "no libcupti found: install the one of the job's CUDA version");
        return false;
    }
    buffers = map_lazily((size_t)NR_BUFFERS * BUFFER_BYTES);
    if (!buffers || gpu_records_init() != 0) {
        snprintf(status, sizeof(status), "no memory for buffers");
        return false;
    }
    int err = cupti.get_version(&version);
    if (!err && cupti.thread_id_type)
        (void)cupti.thread_id_type(1); /* gettid, as everywhere in the trace */
    if (!err)
        err = take_over();
    if (err)
        snprintf(status, sizeof(status), "CUPTI %u: error %d%s", version, err,
                 err == 999  ? " (no driver)"
                 : err == 39 ? " (another profiler has it)"
                 : err == 35 ? " (not permitted)"
                             : "");
    else
        snprintf(status, sizeof(status), "CUPTI %u%s", version, cupti_calls_how());
    return !err;
}

static void send_status(void)
{
    EMIT(attr, process.pid, .key = "gpu.recorder", .value = status);
}

void gpu_start(void)
{
    int idle = IDLE;
    if (atomic_load_explicit(&state, memory_order_relaxed) != IDLE ||
        !atomic_compare_exchange_strong(&state, &idle, STARTING))
        return;
    bool on = !process.excluded && turn_on();
    atomic_store(&state, on ? ON : OFF);
    if (on) {
        atexit(gpu_stop);     /* runs before CUDA's own end: last in, first out */
        send_until(now_ns()); /* so that readers know from the begin that we tell how far it is complete */
    } else {
        EMIT(gap, process.pid, .why = TR_gap_why_gpu, .on = 1);
    }
    send_status();
    if (!process.excluded && options.site_bytes != UINT64_MAX)
        callsite_init();
    say(1, "GPU times: %s", status);
}

/* ---- another user --------------------------------------------------------------------------------------------- */

#define COME_BACK_NS 1000000000u /* after the other has turned everything off */

static _Atomic uint64_t other_kinds;    /* that it has on, a bit each */
static _Atomic uint64_t other_ended_ns; /* 0: it is still there */

static void step_aside(void)
{
    int on = ON;
    if (!atomic_compare_exchange_strong(&state, &on, ASIDE))
        return;
    cupti_calls_off();
    (void)cupti.flush_all(1); /* our buffers come back to us now, not to the other later */
    send_until(gpu_records_settle(now_ns(), true));
    EMIT(gap, process.pid, .why = TR_gap_why_gpu, .on = 1);
    say(1, "GPU times: stepping aside for another user of CUPTI");
}

void gpu_other(enum cupti_other does, unsigned kind, uint64_t now_ns)
{
    uint64_t bit = kind < 64 ? 1ull << kind : 0;
    switch (does) {
    case CUPTI_OTHER_REGISTERS:
        step_aside();
        atomic_store(&other_ended_ns, 0);
        break;
    case CUPTI_OTHER_ENABLES:
        atomic_fetch_or(&other_kinds, bit);
        break;
    case CUPTI_OTHER_DISABLES:
        if ((atomic_fetch_and(&other_kinds, ~bit) & ~bit) == 0)
            atomic_store(&other_ended_ns, now_ns);
        break;
    case CUPTI_OTHER_FINALIZES:
        step_aside();
        break;
    case CUPTI_OTHER_SUBSCRIBES:
        cupti_calls_yield(true);
        break;
    case CUPTI_OTHER_UNSUBSCRIBED:
        cupti_calls_yield(false);
        break;
    case CUPTI_OTHER_FINALIZED:
        atomic_store(&other_kinds, 0);
        atomic_store(&other_ended_ns, now_ns);
        break;
    }
}

static void come_back(void)
{
    uint64_t ended = atomic_load(&other_ended_ns);
    int aside = ASIDE;
    if (!ended || now_ns() - ended < COME_BACK_NS || !atomic_compare_exchange_strong(&state, &aside, STARTING))
        return;
    gpu_launches_forget(); /* what came of them was told to the other */
    bool on = take_over() == 0;
    atomic_store(&state, on ? ON : OFF);
    if (on)
        EMIT(gap, process.pid, .why = TR_gap_why_gpu, .on = 0);
}

/* ---- while it runs -------------------------------------------------------------------------------------------- */

/* What CUPTI could not keep, and what we had no room for. By the tender, and at the end. */
static void send_lost(bool again)
{
    static _Atomic uint64_t dropped, sent;
    size_t more = 0;
    if (cupti.dropped && cupti.dropped(NULL, 0, &more) == 0)
        atomic_fetch_add(&dropped, more);
    struct tr_gpu_lost lost = {
        .dropped = atomic_load(&dropped), .discarded = atomic_load(&discarded), .untimed = gpu_records_untimed()};
    uint64_t all = lost.dropped + lost.discarded + lost.untimed;
    if (all && (again || all != atomic_load(&sent)))
        EMIT(gpu_lost, process.pid, .dropped = lost.dropped, .discarded = lost.discarded, .untimed = lost.untimed,
             .told = gpu_records_told());
    if (all != atomic_load(&sent)) /* the reader leaves out the steps around it */
        EMIT(gap, process.pid, .why = TR_gap_why_gpu, .on = 1);
    atomic_store(&sent, all);
}

void gpu_tend(bool resend)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == ASIDE)
        come_back();
    if (atomic_load_explicit(&state, memory_order_acquire) != ON) {
        if (resend && atomic_load(&state) == OFF)
            send_status();
        return;
    }
    uint64_t begun_ns = now_ns();
    (void)cupti.flush_all(0);
    send_until(gpu_records_settle(buffers_complete_ns(begun_ns), false));
    gpu_devices_send(resend);
    if (resend)
        send_status();
    send_lost(resend);
}

static atomic_bool told_to_the_end;

bool gpu_is_told(void)
{
    return atomic_load(&state) == ON || atomic_load(&told_to_the_end);
}

uint64_t gpu_told(void)
{
    return gpu_records_told();
}

void gpu_stop(void)
{
    int on = ON;
    if (!atomic_compare_exchange_strong(&state, &on, OFF))
        return;
    struct shim_tls *tls = process.preload->tls();
    void *frame = tls->frame;
    tls->frame = __builtin_frame_address(0);
    (void)cupti.flush_all(1);
    uint64_t end_ns = now_ns();
    (void)gpu_records_settle(end_ns, true);
    gpu_devices_send(false);
    send_lost(true);
    send_until(end_ns);
    atomic_store(&told_to_the_end, true);
    tls->frame = frame;
}

void gpu_after_fork(void)
{
    callsite_after_fork();
    if (atomic_load(&state) != IDLE)
        atomic_store(&state, OFF);
}

/* libcuda loads the file named by CUDA_INJECTION64_PATH when it starts, and calls this. */
__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
    struct shim_call call;
    if (process.preload && core_begin(&call)) {
        gpu_start();
        core_end(&call);
    }
    return 1;
}
