/* log.h - NCCL's log as NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE ask for it. */
#ifndef SIM_NCCL_LOG_H
#define SIM_NCCL_LOG_H

enum log_subsystem {
    LOG_INIT = 1,
    LOG_COLL = 2,
    LOG_P2P = 4,
    LOG_SHM = 8,
    LOG_NET = 16,
    LOG_GRAPH = 32,
    LOG_TUNING = 64,
    LOG_ENV = 128,
    LOG_ALLOC = 256,
    LOG_CALL = 512,
    LOG_PROXY = 1024,
    LOG_NVLS = 2048,
    LOG_BOOTSTRAP = 4096,
    LOG_REG = 8192,
    LOG_PROFILE = 16384,
};

void log_info(unsigned subsystems, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_warn_at(const char *place, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_warn(...) log_warn_at("misc/argcheck.cc:39", __VA_ARGS__)
void log_version(int rank); /* who says it and how differs between versions */
/* What plugins are given to write with. */
void log_for_plugins(int level, unsigned long flags, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
