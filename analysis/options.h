/* options.h - what the user of `trshim report` asked for, as passes and the engine see it. */
#ifndef TRSHIM_ANALYSIS_OPTIONS_H
#define TRSHIM_ANALYSIS_OPTIONS_H

/* --steps. STEPS(id, help): the name is the id; nvtx may be followed by ":REGEX". */
#define STEP_METHODS(STEPS)                                                                                            \
    STEPS(auto, "the best that the trace has")                                                                         \
    STEPS(mark, "trshim_step() and NVTX marks")                                                                        \
    STEPS(nvtx, "NVTX ranges whose name matches REGEX")                                                                \
    STEPS(optimizer, "Optimizer.step ranges of PyTorch")                                                               \
    STEPS(dataloader, "the hand-over of batches by the DataLoader")

enum step_method {
#define STEPS(id, help) STEP_METHOD_##id,
    STEP_METHODS(STEPS)
#undef STEPS
        STEP_METHOD_MAX
};

/* All zero is the default. */
struct options {
    enum step_method steps;
    const char *steps_regex; /* extended regular expression for STEP_METHOD_nvtx, NULL all; borrowed */

    /* What is known about the work from elsewhere; 0 for nothing. */
    double peak_flops;      /* of one GPU, FLOP/s, instead of the table's */
    double flops_per_step;  /* of one rank, instead of what BLAS was asked for */
    double tokens_per_step; /* of all ranks together */

    /* Called by the engine now and then with how much of the work is done, 0..1, not falling. NULL for nobody. */
    void (*progress)(void *arg, double done);
    void *progress_arg;
};

#endif
