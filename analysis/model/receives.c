/* receives.c - see receives.h. */
#include "analysis/model/receives.h"

#include "analysis/pass/thresholds.h"

static bool follows(uint64_t read_start_ns, uint64_t wait_end_ns)
{
    return wait_end_ns && read_start_ns + TH_RECEIVE_NS > wait_end_ns && read_start_ns < wait_end_ns + TH_RECEIVE_NS;
}

static void take_wait(struct receives *receives)
{
    if (!receives->open.name || !follows(receives->open.start_ns, receives->wait_end_ns))
        return;
    receives->open.waited_ns += receives->wait_ns;
    receives->wait_end_ns = 0;
}

bool receives_learn(struct receives *receives, const struct event *event, struct receive *ret)
{
    const struct tr_sock_io *io = &event->u.sock_io;
    const struct tr_wait *wait = &event->u.wait;
    if (event->kind == EV_wait &&
        (wait->kind == TR_wait_kind_poll || wait->kind == TR_wait_kind_select || wait->kind == TR_wait_kind_epoll)) {
        receives->wait_end_ns = wait->start_ns + wait->dur_ns;
        receives->wait_ns = wait->dur_ns;
        take_wait(receives);
        return false;
    }
    if (event->kind != EV_sock_io || io->op != TR_io_op_read || !io->name || io->nccl)
        return false;
    *ret = receives->open;
    receives->open = (struct receive){
        io->name, io->count, io->size_bytes, io->start_ns, io->count > 1 ? io->busy_ns : io->dur_ns, 0};
    take_wait(receives);
    return ret->name != 0;
}
