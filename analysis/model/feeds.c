/* feeds.c - see feeds.h. */
#include "analysis/model/feeds.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/model/job.h"
#include "analysis/pass/thresholds.h"

void feeds_done(struct feeds *feeds)
{
    for (struct feed *feed = feeds->all, *next; feed; feed = next) {
        next = feed->next;
        free(feed->writers);
        free(feed->readers);
        free(feed);
    }
    map_done(&feeds->by_inode);
    map_done(&feeds->by_writer);
    *feeds = (struct feeds){0};
}

static struct map_key inode_key(uint32_t host, uint64_t inode)
{
    return (struct map_key){host, inode};
}

static struct feed *feed_get(struct feeds *feeds, uint32_t host, uint64_t inode)
{
    struct feed *feed = map_find(&feeds->by_inode, inode_key(host, inode));
    if (feed)
        return feed;
    feed = calloc(1, sizeof(*feed));
    if (!feed || map_put(&feeds->by_inode, inode_key(host, inode), feed)) {
        free(feed);
        return NULL;
    }
    *feed = (struct feed){.next = feeds->all, .host = host, .inode = inode};
    return feeds->all = feed;
}

static struct feed_end *end_get(struct feed_end **ends, size_t *nr, struct process *process)
{
    for (size_t i = 0; i < *nr; i++)
        if ((*ends)[i].process == process)
            return &(*ends)[i];
    struct feed_end *more = realloc(*ends, (*nr + 1) * sizeof(*more));
    if (!more)
        return NULL;
    *ends = more;
    more[*nr] = (struct feed_end){.process = process};
    return &more[(*nr)++];
}

static const struct feed_end *end_of(const struct feed_end *ends, size_t nr, const struct process *process)
{
    for (size_t i = 0; i < nr; i++)
        if (ends[i].process == process)
            return &ends[i];
    return NULL;
}

/* Whether what `writer` writes are batches for `trainer`. */
static bool brings(const struct feed_end *writer, const struct process *trainer)
{
    /* A launcher hands its children what to run through a pipe; a fork server tells pids, in messages of 8 bytes. */
    return writer->process != trainer && !process_descends(trainer, writer->process) &&
           writer->process->role != ROLE_trainer && writer->bytes >= (uint64_t)TH_MESSAGE_MIN_BYTES * writer->calls;
}

static struct map_key writer_key(const struct process *writer)
{
    return (struct map_key){0, (uintptr_t)writer};
}

/* Once known to carry batches, both ends are marked. */
static int mark_ends(struct feeds *feeds, struct feed *feed)
{
    for (size_t i = 0; i < feed->nr_readers; i++)
        for (size_t j = 0; j < feed->nr_writers; j++) {
            struct process *writer = feed->writers[j].process;
            if (!brings(&feed->writers[j], feed->readers[i].process))
                continue;
            feed->readers[i].thread->reads_batches = feed->readers[i].process->fed = true;
            if (writer->feeds)
                continue;
            writer->feeds = true;
            if (map_put(&feeds->by_writer, writer_key(writer), feed))
                return -ENOMEM;
        }
    return 0;
}

const struct feed *feeds_of(const struct feeds *feeds, const struct process *writer)
{
    return map_find(&feeds->by_writer, writer_key(writer));
}

int feeds_learn(struct feeds *feeds, uint32_t host, struct process *process, struct thread *thread,
                const struct tr_pipe_io *io)
{
    if (!io->inode)
        return 0;
    struct feed *feed = feed_get(feeds, host, io->inode);
    if (!feed)
        return -ENOMEM;
    struct feed_end *end = io->op == TR_io_op_write ? end_get(&feed->writers, &feed->nr_writers, process)
                                                    : end_get(&feed->readers, &feed->nr_readers, process);
    if (!end)
        return -ENOMEM;
    end->thread = thread;
    thread->writes_pipes |= io->op == TR_io_op_write;
    end->calls += io->count;
    end->bytes += io->size_bytes;
    end->last_ns = io->start_ns + io->dur_ns;
    return mark_ends(feeds, feed);
}

static void end_survey(struct feed_end *ends, size_t nr)
{
    for (size_t i = 0; i < nr; i++) {
        ends[i].survey_calls = ends[i].calls;
        ends[i].survey_bytes = ends[i].bytes;
    }
}

void feeds_end_survey(struct feeds *feeds)
{
    for (struct feed *feed = feeds->all; feed; feed = feed->next) {
        end_survey(feed->writers, feed->nr_writers);
        end_survey(feed->readers, feed->nr_readers);
    }
}

const struct feed *feeds_find(const struct feeds *feeds, uint32_t host, uint64_t inode)
{
    return inode ? map_find(&feeds->by_inode, inode_key(host, inode)) : NULL;
}

bool feed_is_data(const struct feed *feed, const struct process *trainer)
{
    bool found = false;
    for (size_t i = 0; i < feed->nr_writers && !found; i++)
        found = brings(&feed->writers[i], trainer);
    return found && end_of(feed->readers, feed->nr_readers, trainer);
}

const struct feed_end *feed_reader(const struct feed *feed, const struct process *process)
{
    return end_of(feed->readers, feed->nr_readers, process);
}

bool feed_is_index(const struct feed *feed, const struct process *trainer, const struct process *worker)
{
    return end_of(feed->writers, feed->nr_writers, trainer) && end_of(feed->readers, feed->nr_readers, worker);
}
