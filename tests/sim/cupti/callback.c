/* callback.c - the callback API: one subscriber per process, called on the thread that makes the call. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/cupti/cupti.h"

#define CBIDS 1024
#define DOMAINS 8

static struct subscriber {
    cupti_callback *fn;
    void *user;
    char name[64];
    bool taken;
    bool enabled[DOMAINS][CBIDS];
} subscriber; /* the handle is its address */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

CUPTI_PUBLIC int cuptiSubscribe(void **handle, cupti_callback *fn, void *user);
CUPTI_PUBLIC int cuptiSubscribe_v2(void **handle, cupti_callback *fn, void *user, void *params);
CUPTI_PUBLIC int cuptiUnsubscribe(void *handle);
CUPTI_PUBLIC int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t cbid);
CUPTI_PUBLIC int cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain);
CUPTI_PUBLIC int cuptiEnableAllDomains(uint32_t enable, void *handle);
CUPTI_PUBLIC int cuptiGetCallbackState(uint32_t *enabled, void *handle, uint32_t domain, uint32_t cbid);

int cuptiSubscribe(void **handle, cupti_callback *fn, void *user)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (!handle)
        return CUPTI_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    error = subscriber.taken || cupti_habits()->taken ? CUPTI_MULTIPLE_SUBSCRIBERS : CUPTI_OK;
    if (!error) {
        memset(&subscriber, 0, sizeof(subscriber));
        subscriber.fn = fn;
        subscriber.user = user;
        subscriber.taken = true;
        *handle = &subscriber;
    }
    pthread_mutex_unlock(&lock);
    if (!error)
        cupti_watch();
    return error;
}

/* Its parameters (size, own name, room for the name of who holds the place) are those of 13.0. */
struct subscribe_params {
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
};

int cuptiSubscribe_v2(void **handle, cupti_callback *fn, void *user, void *params)
{
    struct subscribe_params *p = params;
    int error = cuptiSubscribe(handle, fn, user);
    if (error == CUPTI_MULTIPLE_SUBSCRIBERS && p && p->holder)
        snprintf(p->holder, p->holder_size, "%s", cupti_habits()->taken ? "another tool" : subscriber.name);
    if (!error && p && p->name)
        snprintf(subscriber.name, sizeof(subscriber.name), "%s", p->name);
    return error;
}

void cupti_forget_subscriber(void)
{
    pthread_mutex_lock(&lock);
    memset(&subscriber, 0, sizeof(subscriber));
    pthread_mutex_unlock(&lock);
}

int cuptiUnsubscribe(void *handle)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (handle != &subscriber || !subscriber.taken)
        return CUPTI_INVALID_PARAMETER;
    cupti_forget_subscriber();
    return CUPTI_OK;
}

int cuptiEnableCallback(uint32_t enable, void *handle, uint32_t domain, uint32_t cbid)
{
    int error = cupti_usable();
    if (error)
        return error;
    if (handle != &subscriber || !subscriber.taken || domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_INVALID_PARAMETER;
    subscriber.enabled[domain][cbid] = enable;
    return CUPTI_OK;
}

int cuptiEnableDomain(uint32_t enable, void *handle, uint32_t domain)
{
    int error = CUPTI_OK;
    for (uint32_t cbid = 0; cbid < CBIDS && !error; cbid++)
        error = cuptiEnableCallback(enable, handle, domain, cbid);
    return error;
}

int cuptiEnableAllDomains(uint32_t enable, void *handle)
{
    int error = CUPTI_OK;
    for (uint32_t domain = 1; domain < DOMAINS && !error; domain++)
        error = cuptiEnableDomain(enable, handle, domain);
    return error;
}

int cuptiGetCallbackState(uint32_t *enabled, void *handle, uint32_t domain, uint32_t cbid)
{
    if (handle != &subscriber || domain >= DOMAINS || cbid >= CBIDS)
        return CUPTI_INVALID_PARAMETER;
    *enabled = subscriber.enabled[domain][cbid];
    return CUPTI_OK;
}

void cupti_call_back(struct sim_call *call, bool exit)
{
    if (!subscriber.taken || call->cbid >= CBIDS || !subscriber.enabled[call->domain][call->cbid] || !subscriber.fn)
        return;
    struct cupti_callback_data data = {.site = exit,
                                       .name = call->name,
                                       .params = call->params,
                                       .result = exit ? &call->result : NULL,
                                       .symbol = call->symbol,
                                       .context = sim_device_at(sim_current()),
                                       .context_uid = (uint32_t)sim_current() + 1,
                                       .correlation_data = &call->user,
                                       .correlation = call->correlation};
    subscriber.fn(subscriber.user, call->domain, call->cbid, &data);
}
