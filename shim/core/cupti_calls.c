/* cupti_calls.c - see cupti_calls.h. Turned on and off by whoever starts or meets another user of CUPTI; callbacks run
 * on the job's threads, inside their calls: a clock read and a store into a table. */
#include "shim/core/cupti_calls.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/core/core.h"
#include "shim/core/cupti_find.h"
#include "shim/core/thread.h"

struct launching {
    uint16_t cbid;
    uint8_t kind;
};

#define CALL(name, cbid, leaves) {cbid, CALL_##leaves},
static const struct launching runtime[] = {CUPTI_RUNTIME_LAUNCHES(CALL) CUPTI_RUNTIME_LAUNCHES_13(CALL)
                                               CUPTI_RUNTIME_COPIES(CALL) CUPTI_RUNTIME_COPIES_13(CALL)};
static const struct launching driver[] = {CUPTI_DRIVER_LAUNCHES(CALL) CUPTI_DRIVER_COPIES(CALL)};
#undef CALL
#define NR(table) (sizeof(table) / sizeof(*(table)))
#define NR_CBIDS 1024 /* more than any version has */

enum how { NOT, SINGLE, CALLBACK, ALL };
static atomic_int how; /* in force */
static void *subscriber;
static uint32_t cupti_version;

enum gpu_call_kind cupti_call_kind(bool is_runtime, uint32_t cbid)
{
    static atomic_bool ready;
    static uint8_t kinds[2][NR_CBIDS];
    if (!atomic_load_explicit(&ready, memory_order_acquire)) { /* twice by two threads is the same */
        for (size_t i = 0; i < NR(runtime); i++)
            kinds[1][runtime[i].cbid] = runtime[i].kind;
        for (size_t i = 0; i < NR(driver); i++)
            kinds[0][driver[i].cbid] = driver[i].kind;
        atomic_store_explicit(&ready, true, memory_order_release);
    }
    return cbid < NR_CBIDS ? kinds[is_runtime][cbid] : CALL_NONE;
}

/* ---- single ---------------------------------------------------------------------------------------------------- */

/* One that this version does not have is refused, and does not matter. */
static bool ask_for_single(bool on)
{
    if (cupti_version < CUPTI_HAS_SINGLE_CALLS || !cupti.enable_runtime_call || !cupti.enable_driver_call)
        return false;
    unsigned taken = 0;
    for (size_t i = 0; i < NR(runtime); i++)
        taken += cupti.enable_runtime_call(runtime[i].cbid, on) == 0;
    for (size_t i = 0; i < NR(driver); i++)
        taken += cupti.enable_driver_call(driver[i].cbid, on) == 0;
    return taken > 0;
}

/* ---- callback -------------------------------------------------------------------------------------------------- */

static uint32_t own_tid(void)
{
    const struct shim_tls *tls = process.preload->tls();
    return tls->self ? tls->self->tid : (uint32_t)gettid();
}

/* On the thread that makes the call. */
static void called(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
    const struct cupti_callback *call = data;
    if (call->site == CUPTI_AT_END) {
        if (call->result && *(const int *)call->result)
            gpu_launch_failed(call->correlation);
        return;
    }
    enum gpu_call_kind kind = cupti_call_kind(domain == CUPTI_DOMAIN_RUNTIME, cbid);
    if (kind != CALL_NONE)
        gpu_launch_began(call->correlation, own_tid(), now_ns(), kind);
}

static int look_for_unseen(struct dl_phdr_info *info, size_t size, void *unused)
{
    /* They find CUPTI's functions by dlsym(). */
    static const char *const users[] = {"xla_extension", "libjax_common", "libtensorflow_cc",
                                        "libtensorflow_framework"};
    for (size_t i = 0; i < NR(users); i++)
        if (strstr(info->dlpi_name, users[i]))
            return 1;
    return 0;
}

/* Whether somebody may want the place whose asking we would not see. */
static bool others_are_out_of_sight(void)
{
    const char *nvtx = getenv("NVTX_INJECTION64_PATH");
    return (nvtx && strstr(nvtx, "libcupti")) || dl_iterate_phdr(look_for_unseen, NULL);
}

static bool subscribe(void)
{
    void *handle = NULL;
    if (!cupti.subscribe || !cupti.unsubscribe || !cupti.enable_callback || others_are_out_of_sight() ||
        cupti.subscribe(&handle, called, NULL) != 0)
        return false;
    for (size_t i = 0; i < NR(runtime); i++)
        (void)cupti.enable_callback(1, handle, CUPTI_DOMAIN_RUNTIME, runtime[i].cbid);
    for (size_t i = 0; i < NR(driver); i++)
        (void)cupti.enable_callback(1, handle, CUPTI_DOMAIN_DRIVER, driver[i].cbid);
    subscriber = handle;
    return true;
}

/* ---- all ------------------------------------------------------------------------------------------------------- */

static bool ask_for_all(void)
{
    bool got = cupti.enable(CUPTI_RUNTIME) == 0;
    return cupti.enable(CUPTI_DRIVER) == 0 || got;
}

static void end_all(void)
{
    if (!cupti.disable)
        return;
    (void)cupti.disable(CUPTI_RUNTIME);
    (void)cupti.disable(CUPTI_DRIVER);
}

/* ---------------------------------------------------------------------------------------------------------------- */

void cupti_calls_on(uint32_t version)
{
    cupti_version = version;
    atomic_store(&how, ask_for_single(true) ? SINGLE : subscribe() ? CALLBACK : ask_for_all() ? ALL : NOT);
}

void cupti_calls_off(void)
{
    switch (atomic_exchange(&how, NOT)) {
    case CALLBACK:
        (void)cupti.unsubscribe(subscriber);
        break;
    case ALL:
        end_all();
        break;
    }
}

void cupti_calls_yield(bool to_other)
{
    int was = to_other ? CALLBACK : ALL;
    if (!atomic_compare_exchange_strong(&how, &was, NOT))
        return;
    if (to_other)
        (void)cupti.unsubscribe(subscriber);
    else
        end_all();
    atomic_store(&how, !to_other && subscribe() ? CALLBACK : ask_for_all() ? ALL : NOT);
}

const char *cupti_calls_how(void)
{
    static const char *const texts[] = {[NOT] = ", without launch times",
                                        [SINGLE] = "",
                                        [CALLBACK] = ", launches by callbacks",
                                        [ALL] = ", launches from records of all calls"};
    return texts[atomic_load(&how)];
}
