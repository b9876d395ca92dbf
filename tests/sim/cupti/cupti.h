/* cupti.h - what the files of the simulated CUPTI share. It sees the engine through sim_observe() and keeps the real
 * one's habits: buffers are asked for on the job's threads and handed back by a worker, stamps are CLOCK_REALTIME,
 * nothing works without a driver, and a record's layout is that of the version the library claims to be. */
#ifndef SIM_CUPTI_H
#define SIM_CUPTI_H

#include <stdbool.h>

#include "tests/sim/abi/cupti_abi.h"
#include "tests/sim/engine/engine.h"

#define CUPTI_PUBLIC SIM_EXPORT

extern const uint32_t cupti_default_version; /* v11_8.c, v12.c, v13.c */

/* What a test can switch on, in SIM_CUPTI: "version=18,zero=10,drop=100,late=50,thread,taken" */
struct cupti_habits {
    uint32_t version; /* of a release, or cuptiGetVersion()'s number: 18 is 11.8, 26 is 12.8, 130000 is 13.0 */
    unsigned zero;    /* every n-th kernel has no times */
    unsigned drop;    /* every n-th record is lost and counted */
    unsigned late_ms; /* buffers come that much after they are complete */
    bool thread;      /* a buffer for each thread, as is the default from 13.0 on; "nothread" turns it off */
    bool taken;       /* another tool holds the only subscription */
    bool no_driver;   /* 999, as without libcuda */
};
const struct cupti_habits *cupti_habits(void);

/* 0, or CUPTI_UNKNOWN: no driver, or a child of fork, where nothing of CUPTI may be called. */
int cupti_usable(void);
uint64_t cupti_stamp(uint64_t ns); /* an instant of the engine's in the clock that records have */
void cupti_set_clock(cupti_clock *clock);

/* ---- Which records are wanted (activity.c)
 * --------------------------------------------------------------------------- */
bool cupti_wants(enum cupti_kind kind);
bool cupti_wants_call(enum sim_domain domain, uint32_t cbid);
uint32_t cupti_thread_id(void);

/* ---- Records (record.c)
 * --------------------------------------------------------------------------------------------------- */
#define RECORD_MAX 256
size_t cupti_record_size(uint32_t kind); /* of the version claimed; 0: no such record */
/* Writes op's record; its times are 0 if it has not been decided. */
size_t cupti_record_op(const struct sim_op *op, void *ret);

/* ---- Buffers (buffer.c)
 * --------------------------------------------------------------------------------------------------- */
void cupti_set_buffers(cupti_request *request, cupti_complete *complete);
/* A record that is complete as it is. */
void cupti_put(const void *record, size_t size);
/* The record of an operation, complete when that has ended; `last` may be another operation (a graph's end). */
void cupti_put_op(struct sim_op *op);
void cupti_put_graph(struct sim_exec *exec, struct sim_op *first, struct sim_op *last, uint32_t stream);
void cupti_flush(bool forced);
void cupti_forget_buffers(void);
uint64_t cupti_take_dropped(void);

/* ---- Callbacks (callback.c)
 * -------------------------------------------------------------------------------------------------- */
void cupti_call_back(struct sim_call *call, bool exit);
void cupti_forget_subscriber(void);

/* ---- Observation of the engine (watch.c)
 * -------------------------------------------------------------------------------------- */
void cupti_watch(void);
void cupti_unwatch(void);

#endif
