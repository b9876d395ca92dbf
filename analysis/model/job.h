/* job.h - the job as the trace tells it: processes, threads, ranks, and what names in events mean.
 *
 * The engine fills it twice. The survey (small channels) learns who is there and which thread passes which anchors;
 * job_settle() (ranks.c) then decides what the steps are, who trains, and numbers the ranks. The full scan follows:
 * before each event is given to the passes, job->process and job->thread are those it is about, and every rank's
 * points between steps are up to date. Everything is owned by the job and lives as long as it; pointers stay valid. */
#ifndef TRSHIM_ANALYSIS_MODEL_JOB_H
#define TRSHIM_ANALYSIS_MODEL_JOB_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/event.h"
#include "analysis/model/communicators.h"
#include "analysis/model/feeds.h"
#include "analysis/model/groups.h"
#include "analysis/model/map.h"
#include "analysis/model/microbatches.h"
#include "analysis/model/mounts.h"
#include "analysis/model/names.h"
#include "analysis/model/receives.h"
#include "analysis/model/saves.h"
#include "analysis/model/stepper.h"

struct options;
struct facts;

enum role {
    ROLE_other,
    ROLE_launcher, /* has trainers below it: torchrun's agent, mp.spawn's parent */
    ROLE_trainer,
    ROLE_worker, /* feeds a trainer with batches */
};

struct attr {
    struct attr *next;
    char *key, *value; /* owned */
};

/* A GPU that a process uses, as it announced it. */
struct gpu_info {
    struct gpu_info *next;
    uint32_t device; /* ordinal in the process */
    uint64_t memory_bytes;
    char *model; /* owned */
};

/* How often a kind of step ranges with one name pattern passed a thread. */
struct range_pattern {
    struct map_key key; /* of the name with its numbers blanked out */
    uint64_t total_ns;
    struct stepper stepper;
    struct step_stats stats;
};
#define RANGE_PATTERNS_MAX 8

/* What the survey keeps of a thread that passed anchors. */
struct anchors {
    struct stepper steppers[ANCHORS_MAX];
    struct step_stats stats[ANCHORS_MAX];
    struct range_pattern *patterns; /* owned; NVTX ranges */
    size_t nr_patterns;
    uint64_t last_end_ns;   /* of any anchor */
    uint64_t data_end_ns;   /* of the last DataLoader range, 0 none */
    uint64_t first_data_ns; /* length of the first DataLoader range */
    uint64_t first_data_start_ns;
};

struct thread {
    struct thread *next; /* of its process */
    struct process *process;
    uint32_t tid;
    char comm[16];
    uint64_t start_ns, last_ns; /* first and last heard of */
    uint64_t nr_anchors;        /* marks and optimizer ranges passed so far */
    bool reads_batches;         /* reads a pipe that brings batches: the training or the pin-memory thread */
    bool writes_pipes;          /* e.g. a queue's feeder thread, which tells workers what to load */
    struct anchors *anchors;    /* owned; NULL if it passed none in the survey */
    struct receives receives;   /* full scan */
};

struct process {
    struct process *next;  /* in order of appearance */
    struct process *older; /* an earlier one with this pid */
    uint32_t host, pid, ppid;
    struct process *parent; /* NULL unknown or not recorded; set by job_settle() */
    uint64_t start_ns, last_ns;
    uint64_t exit_ns; /* 0: it did not say that it ended */
    bool logged;      /* known only from what it wrote to a log */
    bool cut;         /* what is told of it ended by intention, before it did */
    int32_t rank_env, world, local_rank, attempt;
    char *comm, *cmd, *host_name;  /* owned */
    struct thread *threads;        /* owned, newest first */
    struct callsite *callsites;    /* owned; newest first */
    struct gpu_info *gpus;         /* owned; in the order of their ordinals' first mention */
    struct attr *attrs;            /* owned */
    struct tr_self cost;           /* the recorder's latest account of itself */
    uint64_t gap_ns, gap_since_ns; /* without detail that nobody had asked for; 0 not now */
    struct tr_gpu_lost gpu_lost;   /* its latest */
    enum role role;
    struct rank *rank;          /* that it trains, or works for; NULL */
    bool announced;             /* it said who it is */
    bool fed;                   /* other processes bring it batches */
    bool feeds;                 /* it brings batches to a trainer */
    struct microbatches *micro; /* owned; survey of hand-overs; NULL while there are none */
    uint32_t phase;             /* which of job->per_step hand-overs begins a step */
    struct handoff *handoff;    /* owned; see handoff.h; NULL while no batch was handed over */
};

/* A checkpoint: one or more files written together. */
struct checkpoint {
    const struct rank *rank;
    const char *path;            /* of the file, or of the directory of several; owned by the job */
    const struct thread *thread; /* that wrote it */
    const struct save *last;     /* its latest file */
    uint64_t start_ns, end_ns, bytes, nr_files;
    uint64_t stall_ns;   /* of the training thread; filled by pass_breakdown */
    uint64_t copy_ns;    /* of that before it began, copying the state for its writer; likewise */
    uint64_t write_ns;   /* of that inside write, fsync, rename; likewise */
    int64_t step;        /* window it began in, TR_UNKNOWN; filled by pass_breakdown */
    bool own;            /* written by the training thread itself */
    uint64_t removed_ns; /* a file of it unlinked, or replaced by a later one; 0 never */
    bool fsynced, renamed, in_place;
    bool removed; /* before training was over: tidying up afterwards is no retention */
};

/* A rank: one training process of one attempt. */
struct rank {
    size_t index; /* in job->ranks */
    int number;   /* global rank */
    int attempt;
    const char *source; /* "env", "order", "single" */
    struct process *process;
    struct thread *trainer;  /* the training thread */
    struct step_stats stats; /* of its points, from the survey */
    struct map_key pattern;  /* of the NVTX ranges that are its steps */
    uint32_t warmup;         /* windows at the begin that are warm-up */
    uint64_t step_base;      /* number of its first window */
    uint64_t begin_ns;       /* first point; start of the process when the run is one window */
    uint64_t end_ns;         /* end of the loop */
    uint64_t steady_ns;      /* end of warm-up */
    bool waits_only;         /* its thread has no DataLoader ranges: judged by what it waits for */

    struct checkpoint *checkpoints; /* owned; in order of start */
    size_t nr_checkpoints;
    const struct save *cut_off; /* a checkpoint that was being written when its process was killed; NULL */

    /* Full scan: points that have passed, oldest first; consumed by pass_breakdown. */
    struct stepper stepper;
    uint64_t *points; /* owned ring, capacity a power of two */
    size_t points_head, nr_points, points_capacity;
    bool finished; /* no more points will come */
    bool failed;   /* out of memory while a point came */
};

struct job {
    const struct options *options;
    struct names names;
    struct mounts mounts;
    struct groups groups;
    struct feeds feeds;
    struct saves saves;
    struct communicators communicators; /* complete when the ranks are settled */

    struct process *first, *last; /* owned */
    struct map by_pid, by_tid;
    struct rank **ranks; /* owned; ascending by number, attempt. Set by job_settle() */
    size_t nr_ranks;
    int world_size; /* -1 unknown */

    enum anchor_method method;
    double confidence;        /* of what was found, even when it is not used */
    enum anchor_method found; /* best method seen; ANCHORS_run if none */
    bool needs_hand_offs;
    uint32_t per_step; /* hand-overs of one step */

    uint64_t nr_events, nr_gaps;
    uint64_t gap_ns;    /* time without detail that nobody had asked for, of the process with most of it */
    uint64_t unmatched; /* events whose process never said who it is */
    struct extent {
        uint64_t first_ns, last_ns; /* of the events of one host */
    } * extents;                    /* owned; by host */
    size_t nr_extents;

    /* The event the passes look at. */
    struct process *process;
    struct thread *thread;
    struct name *name;             /* what its `name` field stands for; NULL if it has none or that is not known */
    const struct receive *receive; /* a receive of this thread that is complete with it, NULL if none is */
    struct receive received;

    struct facts *facts; /* what passes found, for those after them; owned by the engine */
    regex_t regex;       /* of options, if has_regex */
    bool has_regex;
    bool surveying;
};

int job_new(const struct options *options, struct job **ret); /* 0, -ENOMEM, -EINVAL for a bad regular expression */
void job_free(struct job *job);                               /* accepts NULL */

/* Learns an event of the small channels. 0 or -errno. */
int job_survey(struct job *job, const struct event *event);

/* The small channels are through: groups of names, and what the anchors say (ranks.c). */
int job_settle(struct job *job);

/* Whether they told too little to know the steps, so that all channels must be surveyed for hand-overs of batches. If
 * so, give it every event: it learns them from waits and pipes (handoff.c), unless ranges told them, and what follows
 * them (microbatches.c). If then steps turn out to be of several micro-batches, it must see all of it once more. */
bool job_needs_hand_offs(const struct job *job);
int job_survey_hand_offs(struct job *job, const struct event *event);
bool job_regroups(struct job *job);

/* Decides who trains, numbers the ranks, and tells checkpoints from other files (ranks.c, checkpoints.c). */
int job_settle_ranks(struct job *job);

/* Follows the full scan: sets job->process and job->thread. */
int job_follow(struct job *job, const struct event *event);

/* The full scan is over: the last points come out. */
int job_end(struct job *job);

/* What an id means in a process: its own names, else its parents'. NULL if nothing. */
struct name *job_name(const struct job *job, const struct process *process, uint32_t id);

/* From the first to the last event of the host that was recorded longest; {0, 0} without events. */
struct extent job_extent(const struct job *job);

struct process *job_process(const struct job *job, uint32_t host, uint32_t pid, uint64_t at_ns);
struct thread *process_thread(const struct job *job, const struct process *process, uint32_t tid); /* NULL unknown */
bool process_descends(const struct process *process, const struct process *ancestor);
const struct gpu_info *process_gpu(const struct process *process, uint32_t device); /* NULL unknown */
const char *process_attr(const struct process *process, const char *key);           /* its own or its parents'; NULL */

/* Only NCCL's profiler plugin was in it: what it did besides is not known. */
bool process_is_unseen(const struct process *process);

/* Point i of those not consumed yet. */
uint64_t rank_point(const struct rank *rank, size_t i);
void rank_points_drop(struct rank *rank, size_t nr);
void rank_point_add(void *rank, uint64_t point_ns); /* a step_point_fn */

/* Whether training stood still for it: the training thread wrote it, or waited for most of it. */
static inline bool checkpoint_is_sync(const struct checkpoint *checkpoint)
{
    return checkpoint->own || checkpoint->stall_ns * 2 > checkpoint->end_ns - checkpoint->start_ns;
}

/* The rank whose training thread this is, NULL if it is none. */
static inline struct rank *thread_rank(const struct thread *thread)
{
    struct rank *rank = thread && thread->process->role == ROLE_trainer ? thread->process->rank : NULL;
    return rank && rank->trainer == thread ? rank : NULL;
}

#endif
