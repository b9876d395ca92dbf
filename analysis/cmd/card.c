/* card.c - see card.h. */
#include "analysis/cmd/card.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/cmd/output.h"
#include "analysis/cmd/own_cost.h"
#include "analysis/cmd/report.h"
#include "analysis/report/units.h"
#include "traces/clock.h"
#include "traces/schema.h"

#define REPORT_TIMEOUT_S 30

static uint64_t now_ms(void)
{
    return now_ns() / 1000000;
}

/* True if somebody wants us to stop: a signal other than SIGCHLD came. */
static bool interrupted(int signal_fd)
{
    struct signalfd_siginfo info;
    bool any = false;
    while (read(signal_fd, &info, sizeof(info)) == sizeof(info))
        any |= info.ssi_signo != SIGCHLD;
    return any;
}

/* What the child found out, in memory that it shares. */
struct found {
    bool known;
    struct own_cost cost;
};

/* The report in a process of its own: the job's exit status must not wait for a long one or fall to a broken one. */
static void print_report(FILE *out, const char *dir, int signal_fd, struct found *found)
{
    fflush(out);
    pid_t pid = fork();
    if (pid < 0)
        return;
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int rc = report_print_card(dir, out);
        fflush(out);
        if (rc == 0 && found)
            found->known = own_cost_read(dir, &found->cost) == 0;
        _exit(rc != 0);
    }
    uint64_t until = now_ms() + REPORT_TIMEOUT_S * 1000;
    const char *given_up = NULL;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        struct pollfd fd = {.fd = signal_fd, .events = POLLIN};
        (void)poll(&fd, 1, 20);
        given_up = interrupted(signal_fd) ? "interrupted" : now_ms() > until ? "it takes long" : NULL;
        if (given_up) {
            kill(pid, SIGKILL);
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
            break;
        }
    }
    if (given_up)
        fprintf(out, "trshim: no verdict here: %s\n", given_up);
    else if (!WIFEXITED(status) || WEXITSTATUS(status))
        fprintf(out, "trshim: no verdict here: the report failed\n");
}

static void print_lost(FILE *out, const struct keeper_summary *summary)
{
    uint64_t lost = 0;
    if (!summary || !summary->complete) {
        fprintf(out, "  lost    not known: %s\n", summary ? summary->why : "the recorder was killed");
        return;
    }
    for (int c = 0; c < CH_MAX; c++)
        lost += summary->lost.events[c] + summary->lost.packets[c];
    if (!lost) {
        fprintf(out, "  lost    nothing\n");
        return;
    }
    const char *separator = "";
    fprintf(out, "  lost    ");
    for (int c = 0; c < CH_MAX; c++) {
        if (summary->lost.events[c]) {
            fprintf(out, "%s%s events of %s", separator, units_count(summary->lost.events[c]).text,
                    schema_channel_names[c]);
            separator = ", ";
        }
    }
    fprintf(out, "; larger --buffers or a lower --level helps\n");
}

static void print_cost(FILE *out, const struct keeper_summary *summary, const struct found *found)
{
    uint64_t ns = summary->began_ns ? summary->ended_ns - summary->began_ns : 0;
    uint64_t cpu_ns = summary->recorder_cpu_ns + (found && found->known ? found->cost.cpu_ns : 0);

    fprintf(out, "  cost    %s CPU", units_time((double)cpu_ns).text);
    if (ns >= 1000000000u) /* of a shorter run the share says nothing: most of it is the daemon's start */
        fprintf(out, ", %s of one core over %s", units_share((double)cpu_ns / (double)ns).text,
                units_time((double)ns).text);
    fprintf(out, ": daemons %s", units_time((double)summary->recorder_cpu_ns).text);
    if (found && found->known && found->cost.processes)
        fprintf(out, ", threads in %u process%s %s; %s calls looked at", found->cost.processes,
                found->cost.processes == 1 ? "" : "es", units_time((double)found->cost.cpu_ns).text,
                units_count(found->cost.calls).text);
    fputc('\n', out);
}

void card_print(FILE *out, const char *dir, const struct keeper_summary *summary, bool with_report, int signal_fd)
{
    struct found *found = NULL;
    bool empty = summary && summary->flight && !summary->nr_snapshots;
    if (empty)
        fprintf(out, "trshim: the job ended well and nobody asked for a snapshot: nothing was written\n");
    with_report &= !empty;
    if (with_report) {
        void *shared = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        found = shared == MAP_FAILED ? NULL : shared;
        print_report(out, dir, signal_fd, found);
    }
    fprintf(out, "  trace   %s (%s)\n", dir, units_bytes((double)output_size(dir)).text);
    if (summary && summary->flight)
        fprintf(out, "  wrote   %u snapshot%s of the last events\n", summary->nr_snapshots,
                summary->nr_snapshots == 1 ? "" : "s");
    else
        print_lost(out, summary);
    if (summary)
        print_cost(out, summary, found);
    if (with_report)
        fprintf(out, "  more    trshim report %s\n", dir);
    fflush(out);
    if (found)
        munmap(found, sizeof(*found));
}
