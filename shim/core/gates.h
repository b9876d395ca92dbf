/* gates.h - which hooks are on: what the session wants, as far as the recorder's own cost allows. */
#ifndef TRSHIM_CORE_GATES_H
#define TRSHIM_CORE_GATES_H

#include "shim/shim.h"

/* The int that opens and closes a gate: the tracepoint's own switch, or one that never opens. */
const int *gate_wanted(enum shim_gate gate);

/* By the tender, from time to time: estimates what the last seconds' calls and events cost, and lowers the detail when
 * that was more than TRSHIM_BUDGET per cent of a core, or raises it again after a while. Says so by `gap` events. */
void gates_keep_budget(uint64_t now_ns, uint64_t tender_cpu_ns);

/* In a fork child: full detail, a budget of its own. */
void gates_after_fork(void);

#endif
