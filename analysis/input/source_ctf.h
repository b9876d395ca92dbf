/* source_ctf.h - an LTTng trace as a source: what opening it (source_ctf_open.c) leaves for scans (source_ctf.c). */
#ifndef TRSHIM_ANALYSIS_SOURCE_CTF_H
#define TRSHIM_ANALYSIS_SOURCE_CTF_H

#include "analysis/input/ctf_lane.h"
#include "analysis/input/ctf_repair.h"
#include "analysis/input/notes.h"
#include "analysis/input/source.h"

struct source_ctf {
    struct source base;
    struct ctf_lane *lanes;
    size_t nr_lanes;
    struct ctf_repaired *repaired; /* directories that lanes refer to */
    size_t nr_repaired;
    struct notes notes; /* from opening */
    size_t nr_siblings; /* sources of the same path, this included: they share the cores */

    /* The scan. */
    struct notes scan_notes;
    unsigned channels;
    void *memory; /* shared: ring groups, outboxes, rings */
    size_t memory_size;
    struct lane_stream *streams;
    size_t nr_streams;
    struct reader *readers;
    size_t nr_readers;
};

extern const struct source_ops source_ctf_ops;

#endif
