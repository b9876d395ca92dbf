/* copy_rate.c - see copy_rate.h. */
#include "analysis/model/copy_rate.h"

#include <math.h>
#include <stdio.h>

#include "analysis/model/gpu_peaks.h"
#include "analysis/model/job.h"
#include "analysis/pass/thresholds.h"

double pcie_rate(const char *text)
{
    double speed_gts;
    unsigned lanes;
    if (!text || sscanf(text, "%lf GT/s x%u", &speed_gts, &lanes) != 2 || !(speed_gts > 0 && speed_gts < 1000) ||
        !lanes || lanes > 32)
        return 0;
    /* Of ten bits eight are data up to 5 GT/s, of 130 then 128, of 256 bytes then 242 less error correction. */
    double coding = speed_gts < 6 ? 0.8 : speed_gts < 33 ? 128. / 130 : 242. / 256;
    return speed_gts * 1e9 / 8 * coding * lanes;
}

static double link_of(const struct process *process, const struct gpu_info *gpu)
{
    char key[32];
    (void)snprintf(key, sizeof(key), "gpu.%u.pcie", gpu->device);
    double told = pcie_rate(process_attr(process, key));
    double model = gpu_link(gpu->model);
    /* A GPU that hangs on its host by more than PCIe copies over that. */
    return told > 0 && model <= pcie_rate("64.0 GT/s x16") ? told : model;
}

double copy_rate(const struct job *job, unsigned kind)
{
    bool by_link = kind == TR_copy_kind_HtoD || kind == TR_copy_kind_DtoH;
    double least = INFINITY;
    if (!by_link && kind != TR_copy_kind_DtoD)
        return NAN;
    for (size_t i = 0; i < job->nr_ranks; i++) {
        const struct process *process = job->ranks[i]->process;
        for (const struct gpu_info *gpu = process->gpus; gpu; gpu = gpu->next) {
            double rate =
                by_link ? link_of(process, gpu) * TH_LINK_SHARE : gpu_memory_rate(gpu->model) / 2 * TH_MEMORY_SHARE;
            least = rate < least ? rate : least;
        }
    }
    return least > 0 && isfinite(least) ? least : NAN;
}
