/* cupti.c - finds CUPTI, turns it on, hands out buffers and takes them back. Never holds a lock while calling CUPTI. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/anchor.h"
#include "shim/core/core.h"
#include "shim/core/cupti_abi.h"
#include "shim/core/gpu.h"
#include "shim/core/gpu_records.h"
#include "shim/core/options.h"
#include "shim/core/pcie.h"

/* Small, though larger ones would be asked for less often: CUPTI gives a buffer back when all of its records are
 * complete, and while a GPU is busy that is only when it is full. 128 KiB are 600 kernels. */
#define BUFFER_BYTES (128u * 1024)
#define NR_BUFFERS 512 /* at most 64 MiB, touched as needed */
#define DISCARD_BYTES (64u * 1024)

static struct {
    int (*get_version)(uint32_t *);
    int (*register_callbacks)(cupti_buffer_requested, cupti_buffer_completed);
    int (*enable)(uint32_t kind);
    int (*flush_all)(uint32_t forced);
    int (*next_record)(uint8_t *buffer, size_t valid, void **record);
    int (*thread_id_type)(uint32_t type);               /* optional */
    int (*enable_runtime_call)(uint32_t cbid, uint8_t); /* 12.5 */
    int (*enable_driver_call)(uint32_t cbid, uint8_t);
} cupti;

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

/* ---- finding it ----------------------------------------------------------------------------------------------- */

struct mapped {
    char cupti[4096], cudart[4096];
};

static int look_at_mapped(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct mapped *m = arg;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (!slash || strlen(info->dlpi_name) >= sizeof(m->cupti))
        return 0;
    if (strncmp(slash + 1, "libcupti.so", 11) == 0 && !m->cupti[0])
        strcpy(m->cupti, info->dlpi_name);
    if (strncmp(slash + 1, "libcudart.so", 12) == 0 && !m->cudart[0])
        strcpy(m->cudart, info->dlpi_name);
    return 0;
}

static void *open_beside(const char *cudart)
{
    /* The runtime's directory; the layouts of PyPI's wheels; the toolkit's. */
    static const char *const places[] = {"%.*s/libcupti.so.%s", "%.*s/../../cuda_cupti/lib/libcupti.so.%s",
                                         "%.*s/../extras/CUPTI/lib64/libcupti.so.%s"};
    const char *slash = strrchr(cudart, '/'), *version = strstr(cudart, ".so.");
    char path[4200], major[16];
    void *lib = NULL;
    if (!slash || !version)
        return NULL;
    /* From 12 on the name holds the major version alone; before, the minor one too. */
    const char *v = version + 4;
    size_t n = strcspn(v, ".");
    if (strncmp(v, "11", 2) == 0 && v[n] == '.')
        n += 1 + strcspn(v + n + 1, ".");
    snprintf(major, sizeof(major), "%.*s", (int)n, v);
    for (size_t i = 0; i < sizeof(places) / sizeof(*places) && !lib; i++) {
        snprintf(path, sizeof(path), places[i], (int)(slash - cudart), cudart, major);
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!lib) {
        snprintf(path, sizeof(path), "libcupti.so.%s", major);
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return lib;
}

/* The copy the job has mapped, else the one that belongs to its CUDA runtime, else any. A second copy of another
 * version would be satisfied by ours later, so none is loaded without need. */
static void *open_cupti(void)
{
    static struct mapped m;
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
    dl_iterate_phdr(look_at_mapped, &m);
    void *lib = m.cupti[0] ? dlopen(m.cupti, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (!lib && m.cudart[0])
        lib = open_beside(m.cudart);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !lib && !m.cudart[0]; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    (void)dlerror();
    return lib;
}

static bool find_functions(void *lib)
{
    *(void **)&cupti.get_version = dlsym(lib, "cuptiGetVersion");
    *(void **)&cupti.register_callbacks = dlsym(lib, "cuptiActivityRegisterCallbacks");
    *(void **)&cupti.enable = dlsym(lib, "cuptiActivityEnable");
    *(void **)&cupti.flush_all = dlsym(lib, "cuptiActivityFlushAll");
    *(void **)&cupti.next_record = dlsym(lib, "cuptiActivityGetNextRecord");
    *(void **)&cupti.thread_id_type = dlsym(lib, "cuptiSetThreadIdType");
    *(void **)&cupti.enable_runtime_call = dlsym(lib, "cuptiActivityEnableRuntimeApi");
    *(void **)&cupti.enable_driver_call = dlsym(lib, "cuptiActivityEnableDriverApi");
    (void)dlerror();
    return cupti.get_version && cupti.register_callbacks && cupti.enable && cupti.flush_all && cupti.next_record;
}

/* ---- turning it on -------------------------------------------------------------------------------------------- */

/* The calls that launch kernels, one by one where CUPTI can: a record for each call of the API would be most of all
 * records. Without them kernels have no launch time. */
static bool enable_launch_calls(uint32_t version)
{
#define CALL(name, cbid) cbid,
    static const uint32_t runtime[] = {CUPTI_RUNTIME_LAUNCHES(CALL) CUPTI_RUNTIME_LAUNCHES_13(CALL)};
    static const uint32_t driver[] = {CUPTI_DRIVER_LAUNCHES(CALL)};
#undef CALL
    if (version < CUPTI_HAS_SINGLE_CALLS || !cupti.enable_runtime_call || !cupti.enable_driver_call)
        return false;
    for (size_t i = 0; i < sizeof(runtime) / sizeof(*runtime); i++) /* one that this version does not have is refused */
        (void)cupti.enable_runtime_call(runtime[i], 1);
    for (size_t i = 0; i < sizeof(driver) / sizeof(*driver); i++)
        (void)cupti.enable_driver_call(driver[i], 1);
    return true;
}

/* Takes CUPTI's one place for a client. Returns CUPTI's error. */
static int take_over(uint32_t version, bool *ret_calls)
{
    static const uint32_t kinds[] = {CUPTI_CONCURRENT_KERNEL, CUPTI_MEMCPY, CUPTI_MEMSET};
    int err = cupti.register_callbacks(buffer_requested, buffer_completed);
    *ret_calls = !err && enable_launch_calls(version);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !err; i++)
        err = cupti.enable(kinds[i]);
    return err;
}

static uint32_t version;

static bool turn_on(void)
{
    bool calls = false;
    void *lib = open_cupti();
    if (!lib || !find_functions(lib)) {
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
        err = take_over(version, &calls);
    if (err)
        snprintf(status, sizeof(status), "CUPTI %u: error %d%s", version, err,
                 err == 999  ? " (no driver)"
                 : err == 39 ? " (another profiler has it)"
                 : err == 35 ? " (not permitted)"
                             : "");
    else
        snprintf(status, sizeof(status), "CUPTI %u%s", version, calls ? "" : ", without launch times");
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
    bool calls;
    if (!ended || now_ns() - ended < COME_BACK_NS || !atomic_compare_exchange_strong(&state, &aside, STARTING))
        return;
    bool on = take_over(version, &calls) == 0;
    atomic_store(&state, on ? ON : OFF);
    if (on)
        EMIT(gap, process.pid, .why = TR_gap_why_gpu, .on = 0);
}

/* ---- while it runs -------------------------------------------------------------------------------------------- */

/* What the driver says of a device; called from the tender, by then CUDA is up. */
static void send_device(unsigned device)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    int (*get)(int *, int) = lib ? (int (*)(int *, int))dlsym(lib, "cuDeviceGet") : NULL;
    int (*name)(char *, int, int) = lib ? (int (*)(char *, int, int))dlsym(lib, "cuDeviceGetName") : NULL;
    int (*total)(size_t *, int) = lib ? (int (*)(size_t *, int))dlsym(lib, "cuDeviceTotalMem_v2") : NULL;
    int (*attribute)(int *, int, int) = lib ? (int (*)(int *, int, int))dlsym(lib, "cuDeviceGetAttribute") : NULL;
    int (*bus)(char *, int, int) = lib ? (int (*)(char *, int, int))dlsym(lib, "cuDeviceGetPCIBusId") : NULL;
    int (*uuid)(unsigned char *, int) = lib ? (int (*)(unsigned char *, int))dlsym(lib, "cuDeviceGetUuid") : NULL;
    (void)dlerror();
    char model[128] = "", address[32] = "", id[48] = "", key[32], link[32];
    unsigned char raw[16];
    size_t bytes = 0;
    int handle, multiprocessors = 0;
    enum { MULTIPROCESSOR_COUNT = 16 };

    if (!get || get(&handle, (int)device) != 0)
        return;
    if (name)
        (void)name(model, sizeof(model), handle);
    if (total)
        (void)total(&bytes, handle);
    if (attribute)
        (void)attribute(&multiprocessors, MULTIPROCESSOR_COUNT, handle);
    if (bus)
        (void)bus(address, sizeof(address), handle);
    if (uuid && uuid(raw, handle) == 0)
        snprintf(id, sizeof(id), "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", raw[0],
                 raw[1], raw[2], raw[3], raw[4], raw[5], raw[6], raw[7], raw[8], raw[9], raw[10], raw[11], raw[12],
                 raw[13], raw[14], raw[15]);
    if (pcie_link("/sys/bus/pci/devices", address, link, sizeof(link))) {
        snprintf(key, sizeof(key), "gpu.%u.pcie", device);
        EMIT(attr, process.pid, .key = key, .value = link);
    }
    EMIT(gpu, process.pid, .device = device, .multiprocessors = (uint32_t)multiprocessors, .memory_bytes = bytes,
         .model = model, .uuid = id, .bus = address);
}

static void send_devices(bool again)
{
    static _Atomic uint64_t sent;
    uint64_t seen = gpu_records_devices(), now = again ? seen : seen & ~atomic_load(&sent);
    for (unsigned device = 0; now >> device && device < 64; device++)
        if (now >> device & 1)
            send_device(device);
    atomic_store(&sent, seen);
}

void gpu_tend(bool resend)
{
    static uint64_t told_untimed;
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
    send_devices(resend);
    if (resend)
        send_status();
    uint64_t bad = gpu_records_untimed() + atomic_load(&discarded);
    if (bad != told_untimed)
        EMIT(gap, process.pid, .why = TR_gap_why_gpu, .on = 1);
    told_untimed = bad;
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
    send_devices(false);
    send_until(end_ns);
    tls->frame = frame;
}

void gpu_after_fork(void)
{
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
