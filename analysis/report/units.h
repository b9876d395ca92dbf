/* units.h - numbers as people read them: "213 ms", "3.1 GiB", "90 MB/s", "38 %", "12,345".
 *
 * Every number a report says in words goes through here, so that emitters and sentences agree. The same in all
 * languages. Used as printf("%s", units_time(ns).text): the text lives to the end of that statement. */
#ifndef TRSHIM_ANALYSIS_UNITS_H
#define TRSHIM_ANALYSIS_UNITS_H

#include <stdint.h>

#define UNITS_MAX 32

struct units {
    char text[UNITS_MAX];
};

struct units units_time(double ns);               /* three digits: 0 ns, 412 us, 1.24 s, 3 min 52 s, 2 h 10 min */
struct units units_bytes(double bytes);           /* 512 B, 64 KiB, 3.1 GiB */
struct units units_rate(double bytes_per_second); /* 90 MB/s: decimal, as storage and networks are sold */
struct units units_flops(double flop_per_second); /* 312 TFLOP/s */
struct units units_share(double share);           /* 38 %, 0.4 %, <0.1 % */
struct units units_count(uint64_t count);         /* 12,345 */

#endif
