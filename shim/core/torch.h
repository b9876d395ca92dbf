/* torch.h - PyTorch's own ranges: DataLoader.__next__, Optimizer.step, and what the job names with record_function. */
#ifndef TRSHIM_CORE_TORCH_H
#define TRSHIM_CORE_TORCH_H

#include "shim/shim.h"

/* Looks whether PyTorch has been loaded, and if so asks it for its ranges. Called at the first open after a dlopen;
 * acts only when `path` is a Python source or byte code: then the interpreter runs, so no constructor of a library
 * can be under way, and no other thread uses PyTorch yet. */
void torch_look(struct shim_tls *tls, const char *path);

#endif
