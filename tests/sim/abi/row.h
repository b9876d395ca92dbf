/* row.h - one public function is one row: its number for CUPTI, its arguments, and the engine's call it stands for. The
 * observer is told before and after, with the arguments laid out in order as CUPTI's parameter structs are. */
#ifndef SIM_ROW_H
#define SIM_ROW_H

#include "tests/sim/engine/engine.h"

/* The arguments as a struct, in order; in parentheses, because they pass through macros. */
/* clang-format off */
#define P0() NULL
#define P1(a) (&(struct { __typeof__(a) p1; }){a})
#define P2(a, b) (&(struct { __typeof__(a) p1; __typeof__(b) p2; }){a, b})
#define P3(a, b, c) (&(struct { __typeof__(a) p1; __typeof__(b) p2; __typeof__(c) p3; }){a, b, c})
#define P4(a, b, c, d) (&(struct { __typeof__(a) p1; __typeof__(b) p2; __typeof__(c) p3; __typeof__(d) p4; }){a, b, c, d})
#define P5(a, b, c, d, e) (&(struct { __typeof__(a) p1; __typeof__(b) p2; __typeof__(c) p3; __typeof__(d) p4; __typeof__(e) p5; }){a, b, c, d, e})
#define P6(a, b, c, d, e, f) (&(struct { __typeof__(a) p1; __typeof__(b) p2; __typeof__(c) p3; __typeof__(d) p4; __typeof__(e) p5; __typeof__(f) p6; }){a, b, c, d, e, f})
#define P7(a, b, c, d, e, f, g) (&(struct { __typeof__(a) p1; __typeof__(b) p2; __typeof__(c) p3; __typeof__(d) p4; __typeof__(e) p5; __typeof__(f) p6; __typeof__(g) p7; }){a, b, c, d, e, f, g})
/* clang-format on */

/* `ready` is what the library does first in every call: 0, or why it cannot. */
#define SIM_ROW(result_type, domain_, ready, finish, name_, cbid_, arguments, params_, ...)                            \
    SIM_EXPORT result_type name_ arguments;                                                                            \
    result_type name_ arguments                                                                                        \
    {                                                                                                                  \
        struct sim_call call = {.domain = domain_, .cbid = cbid_, .name = #name_, .params = params_};                  \
        int error_ = ready();                                                                                          \
        sim_call_enter(&call);                                                                                         \
        return (result_type)finish(sim_call_exit(&call, error_ ? error_ : (__VA_ARGS__)));                             \
    }

#endif
