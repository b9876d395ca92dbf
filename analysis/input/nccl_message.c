/* nccl_message.c - see nccl_message.h. One function for each family of lines; each looks at the begin of the text, so
 * that the order of the table does not matter but for warnings, which come last. */
#include "analysis/input/nccl_message.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* What follows `word` in the text, or NULL. */
static char *after(char *text, const char *word)
{
    char *at = strstr(text, word);

    return at ? at + strlen(word) : NULL;
}

static bool fact(struct event *ret, enum tr_nccl_fact what, const char *name, const char *text)
{
    ret->kind = EV_nccl_net;
    ret->u.nccl_net = (struct tr_nccl_net){.fact = what, .name = name, .text = text};
    return true;
}

/* ---- versions and variables ----------------------------------------------------------------- */

static bool version(char *text, const char *place, struct event *ret)
{
    (void)place;
    bool driver = begins(text, "cudaDriverVersion ");

    if (!driver && !begins(text, "NCCL version "))
        return false;
    char *value = text + (driver ? strlen("cudaDriverVersion ") : strlen("NCCL version "));
    value[strcspn(value, " ")] = '\0';
    if (!isdigit((unsigned char)*value))
        return false;
    ret->kind = EV_attr;
    ret->u.attr = (struct tr_attr){.key = driver ? "version.cuda_driver" : "version.nccl", .value = value};
    return true;
}

/* "NCCL_X set by environment to V" (a full stop behind it in some versions). */
static bool variable(char *text, const char *place, struct event *ret)
{
    char *value = after(text, " set by environment to ");
    size_t len;

    (void)place;
    if (!value || !begins(text, "NCCL_"))
        return false;
    text[strcspn(text, " ")] = '\0';
    len = strlen(value);
    if (len && value[len - 1] == '.')
        value[len - 1] = '\0';
    ret->kind = EV_nccl_env;
    ret->u.nccl_env = (struct tr_nccl_env){.name = text, .value = value};
    return true;
}

/* ---- communicators -------------------------------------------------------------------------- */

static int32_t number_after(char *text, const char *word, int32_t otherwise)
{
    char *at = after(text, word), *end;
    long value = at ? strtol(at, &end, 10) : otherwise;

    return at && end == at ? otherwise : value < INT32_MIN || value > INT32_MAX ? otherwise : (int32_t)value;
}

/* "ncclCommInitRank comm 0x.. rank r nranks n cudaDev d .. commId 0x.. - Init COMPLETE" in its many spellings. */
static bool communicator(char *text, const char *place, struct event *ret)
{
    char *comm = begins(text, "comm 0x") ? text + 5 : after(text, " comm 0x"), *id = after(text, " commId ");
    char *state = strstr(text, " - ");

    (void)place;
    if (!comm || !state || !strstr(comm, " rank ") || !strstr(comm, " nranks "))
        return false;
    comm = comm[0] == '0' ? comm : comm - 2;
    struct tr_nccl_comm row = {.rank = number_after(comm, " rank ", -1),
                               .nranks = number_after(comm, " nranks ", -1),
                               .device = number_after(comm, " cudaDev ", -1),
                               .comm = strtoull(comm, NULL, 16),
                               .id = id ? strtoull(id, NULL, 16) : 0,
                               .name = ""};
    if (strstr(state, "Init START"))
        row.state = TR_nccl_state_begun;
    else if (strstr(state, "Init COMPLETE"))
        row.state = TR_nccl_state_made;
    else if (strstr(state, "Destroy") || strstr(state, "Abort"))
        row.state = TR_nccl_state_gone;
    else
        return false;
    ret->kind = EV_nccl_comm;
    ret->u.nccl_comm = row;
    return row.rank >= 0 && row.nranks > row.rank;
}

/* ---- channels ------------------------------------------------------------------------------- */

/* "7[c1000]" or "7": the rank, and what follows. */
static char *rank_at(char *at, int32_t *ret)
{
    char *end;
    long rank = strtol(at, &end, 10);

    if (end == at || rank < 0 || rank > INT32_MAX)
        return NULL;
    *ret = (int32_t)rank;
    if (*end == '[') {
        end = strchr(end, ']');
        return end ? end + 1 : NULL;
    }
    return end;
}

/* "NET/AWS Libfabric/1(3)/GDRDMA/Shared": the name ends at the '/' before a digit. */
static bool network_path(char *via, struct tr_nccl_channel *row)
{
    char *end = via + strlen("NET/");

    while (*end && !(end[0] == '/' && isdigit((unsigned char)end[1])))
        end++;
    if (!*end)
        return false;
    char *rest;
    row->device = strtoul(end + 1, &rest, 10);
    if (*rest == '(' && isdigit((unsigned char)rest[1]))
        row->proxy = (int32_t)strtol(rest + 1, NULL, 10);
    row->gdr = strstr(rest, "/GDRDMA") != NULL;
    *end = '\0';
    row->kind = via;
    row->via = end + 1;
    return true;
}

static bool carrier(char *via, struct tr_nccl_channel *row)
{
    via[strcspn(via, "\t")] = '\0';
    row->via = via;
    if (begins(via, "NET/"))
        return network_path(via, row);
    if (begins(via, "P2P"))
        row->kind = "P2P";
    else if (begins(via, "SHM") || begins(via, "direct shared memory"))
        row->kind = "SHM";
    else
        return false;
    return true;
}

/* "Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA", "Ring 00 : 15 -> 0 [send] via NET/IB/0". */
static bool channel(char *text, const char *place, struct event *ret)
{
    struct tr_nccl_channel row = {.proxy = -1};
    char *at, *via = after(text, " via "), *colon = strstr(text, " : ");

    (void)place;
    if (!via || !colon || !(begins(text, "Channel ") || begins(text, "Ring ")))
        return false;
    row.channel = strtoul(strchr(text, ' ') + 1, NULL, 10);
    if (!(at = rank_at(colon + 3, &row.from)) || !begins(at, " -> ") || !(at = rank_at(at + 4, &row.to)))
        return false;
    row.way = begins(at, " [send]")      ? TR_nccl_way_send
              : begins(at, " [receive]") ? TR_nccl_way_receive
                                         : TR_nccl_way_both;
    if (!carrier(via, &row))
        return false;
    ret->kind = EV_nccl_channel;
    ret->u.nccl_channel = row;
    return true;
}

/* "AllReduce: opCount 12c7 sendbuff .. count 1 datatype 7 op 0 root 0 comm 0x.. [nranks=8] stream 0x..". */
static bool call(char *text, const char *place, struct event *ret)
{
    char *ordinal = after(text, ": opCount "), *count = after(text, " count "), *comm = after(text, " comm 0x");

    (void)place;
    if (!ordinal || !count || !comm)
        return false;
    struct tr_nccl_call row = {.op = text,
                               .ordinal = strtoull(ordinal, NULL, 16),
                               .count = strtoull(count, NULL, 10),
                               .datatype = (uint32_t)number_after(count, " datatype ", 0),
                               .root = number_after(count, " root ", -1),
                               .nranks = number_after(comm, "[nranks=", -1),
                               .comm = strtoull(comm, NULL, 16)};
    text[strcspn(text, ":")] = '\0';
    ret->kind = EV_nccl_call;
    ret->u.nccl_call = row;
    return true;
}

/* ---- the network ---------------------------------------------------------------------------- */

/* "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:..": only the devices. */
static char *list_of(char *text)
{
    char *end = strchr(text, ';');

    if (end)
        *end = '\0';
    if ((end = strstr(text, " [RO]")))
        *end = '\0';
    while (*text == ' ')
        text++;
    for (size_t len = strlen(text); len && text[len - 1] == ' ';)
        text[--len] = '\0';
    return text;
}

static bool plugin(char *text, struct event *ret)
{
    char *name = after(text, "Loaded net plugin "), *reason = NULL;

    if (name) {
        name[strcspn(name, " ")] = '\0';
        return fact(ret, TR_nccl_fact_plugin_loaded, name, "");
    }
    if ((reason = after(text, "Plugin load")) || (reason = after(text, "dlerror=")))
        return fact(ret, strstr(reason, "No such file") ? TR_nccl_fact_plugin_missing : TR_nccl_fact_plugin_failed, "",
                    text);
    if (strstr(text, "Failed to find ncclNetPlugin symbol"))
        return fact(ret, TR_nccl_fact_plugin_failed, "", text);
    if (strstr(text, "No plugin found") || strstr(text, "Could not find"))
        return fact(ret, TR_nccl_fact_plugin_missing, "", text);
    return false;
}

/* "NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 speed=400000 context=.." */
static bool device_speed(char *text, struct event *ret)
{
    char *at = after(text, "NET/IB: ["), *speed = after(text, " speed=");
    char *device = at ? after(at, "] ") : NULL, *port = device ? strchr(device, '/') : NULL;

    if (!port || !speed || port > speed)
        return false;
    char *verbs = memchr(device, ':', (size_t)(port - device)), *number = port;
    if (!verbs)
        return false;
    while (number[-1] != ':')
        number--;
    /* "mlx5_0:" stays, the port's number and the speed move up to it. */
    memmove(verbs + 1, number, (size_t)(port - number));
    char *end = verbs + 1 + (port - number);
    size_t digits = strspn(speed, "0123456789");
    *end++ = ' ';
    memmove(end, speed, digits);
    end[digits] = '\0';
    return fact(ret, TR_nccl_fact_speed, "IB", device);
}

static bool built_in(char *text, struct event *ret)
{
    char *list = after(text, ": Using "), *off = after(text, "GPU Direct RDMA Disabled for HCA ");

    if (off)
        return fact(ret, TR_nccl_fact_gdr_off, "IB", off);
    if (device_speed(text, ret))
        return true;
    if (begins(text, "NET/IB") && strstr(text, "No device found"))
        return fact(ret, TR_nccl_fact_no_device, "IB", "");
    if (!list || *list != '[')
        return false;
    if (begins(text, "NET/IB"))
        return fact(ret, TR_nccl_fact_devices, "IB", list_of(list));
    return begins(text, "NET/Socket") && fact(ret, TR_nccl_fact_interfaces, "Socket", list_of(list));
}

static bool network(char *text, const char *place, struct event *ret)
{
    char *at;

    if (place)
        return false;
    if (begins(text, "NET/Plugin"))
        return plugin(text, ret);
    if ((at = after(text, "NET : Using interface ")) == text + strlen("NET : Using interface "))
        return fact(ret, TR_nccl_fact_interfaces, "Socket", at);
    if (begins(text, "NET/"))
        return built_in(text, ret);
    if (begins(text, "Bootstrap") && (at = after(text, ": Using ")))
        return fact(ret, TR_nccl_fact_bootstrap, "", *at == '[' && strchr(at, ']') ? strchr(at, ']') + 1 : at);
    if (begins(text, "Using network "))
        return fact(ret, TR_nccl_fact_chosen, text + strlen("Using network "), "");
    if (begins(text, "Failed to initialize NET plugin "))
        return fact(ret, TR_nccl_fact_plugin_failed, text + strlen("Failed to initialize NET plugin "), text);
    if (begins(text, "NVLS multicast support is "))
        return fact(ret, strstr(text, "is not available") ? TR_nccl_fact_nvls_off : TR_nccl_fact_nvls_on, "", "");
    return false;
}

/* ---- warnings ------------------------------------------------------------------------------- */

/* Some of them became INFO lines in later versions. */
static bool warning(char *text, const char *place, struct event *ret)
{
    static const char *const later[] = {"Could not find a path for pattern", "Got non-fatal async event",
                                        "Failed to open libibverbs"};
    bool known = place != NULL;

    for (size_t i = 0; i < sizeof(later) / sizeof(*later); i++)
        known |= strstr(text, later[i]) != NULL;
    if (!known)
        return false;
    ret->kind = EV_nccl_warn;
    ret->u.nccl_warn = (struct tr_nccl_warn){.place = place ? place : "", .text = text};
    return true;
}

bool nccl_message_parse(char *text, const char *place, struct event *ret)
{
    static bool (*const families[])(char *, const char *, struct event *) = {version, variable, channel, communicator,
                                                                             call,    network,  warning};

    *ret = (struct event){0};
    for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
        if (families[i](text, place, ret))
            return true;
    return false;
}
