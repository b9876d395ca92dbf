/* pipeline.c - a step's micro-batches through the stages, in the order of GPipe or of 1F1B, as Megatron launches them:
 * what goes to and comes from a neighbour at one point is one launch, and the stage computes on when it is over.
 * Without stages it is one forward and one backward pass for each micro-batch. The training thread runs this. */
#include "examples/simtrain/job.h"

bool pipeline_last_micro(const struct rank *r)
{
    return r->micro == r->o->micro - 1;
}

static void forward(struct rank *r, int micro)
{
    r->micro = micro;
    for (int i = 0; i < r->layers; i++) {
        model_forward(r, i);
        if (fault_here(r, FAULT_SYNCS))
            rank_look_at_loss(r);
    }
    if (r->pp.rank == r->pp.size - 1)
        model_loss(r);
}

static void backward(struct rank *r, int micro)
{
    r->micro = micro;
    rank_backward(r);
}

static void gpipe(struct rank *r)
{
    for (int i = 0; i < r->o->micro; i++) {
        comms_stages(r, FROM_PREVIOUS);
        forward(r, i);
        comms_stages(r, TO_NEXT);
    }
    for (int i = 0; i < r->o->micro; i++) {
        comms_stages(r, FROM_NEXT);
        backward(r, i);
        comms_stages(r, TO_PREVIOUS);
    }
}

static void one_forward_one_backward(struct rank *r)
{
    int micros = r->o->micro, ahead = r->pp.size - r->pp.rank - 1;
    ahead = ahead < micros ? ahead : micros;
    for (int i = 0; i < ahead; i++) {
        comms_stages(r, FROM_PREVIOUS);
        forward(r, i);
        comms_stages(r, TO_NEXT);
    }
    if (ahead < micros)
        comms_stages(r, FROM_PREVIOUS);
    for (int i = ahead; i < micros; i++) {
        forward(r, i);
        comms_stages(r, TO_NEXT | FROM_NEXT);
        backward(r, i - ahead);
        comms_stages(r, i + 1 < micros ? TO_PREVIOUS | FROM_PREVIOUS : TO_PREVIOUS);
    }
    for (int i = micros - ahead; i < micros; i++) {
        comms_stages(r, FROM_NEXT);
        backward(r, i);
        comms_stages(r, TO_PREVIOUS);
    }
}

void pipeline_step(struct rank *r)
{
    if (r->o->gpipe)
        gpipe(r);
    else
        one_forward_one_backward(r);
}
