/* table.c - see table.h. */
#include "plugin/net/table.h"

#define WINDOW 16u
#define BEING_WRITTEN 1u
#define SMALLEST_ADDRESS 4096u

static struct table_entry *place(const struct table *table, uintptr_t key, uint32_t i)
{
    uint64_t hash = (uint64_t)key * 0x9e3779b97f4a7c15u;
    return &table->entries[((uint32_t)(hash >> 32) + i) & (table->nr - 1)];
}

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define STORE(field, value) atomic_store_explicit(&(field), value, memory_order_relaxed)

static struct table_found values_of(const struct table_entry *entry)
{
    return (struct table_found){LOAD(entry->at_ns), LOAD(entry->what), LOAD(entry->amount)};
}

bool table_put(const struct table *table, const void *key, struct table_found value)
{
    uintptr_t address = (uintptr_t)key;
    for (uint32_t i = 0; i < WINDOW && address >= SMALLEST_ADDRESS; i++) {
        struct table_entry *entry = place(table, address, i);
        uintptr_t none = 0;
        if (LOAD(entry->key) || !atomic_compare_exchange_strong(&entry->key, &none, BEING_WRITTEN))
            continue;
        STORE(entry->at_ns, value.at_ns);
        STORE(entry->what, value.what);
        STORE(entry->amount, value.amount);
        atomic_store_explicit(&entry->key, address, memory_order_release);
        return true;
    }
    return false;
}

static struct table_entry *find(const struct table *table, uintptr_t address)
{
    struct table_entry *oldest = NULL;
    for (uint32_t i = 0; i < WINDOW && address >= SMALLEST_ADDRESS; i++) {
        struct table_entry *entry = place(table, address, i);
        if (atomic_load_explicit(&entry->key, memory_order_acquire) == address &&
            (!oldest || LOAD(entry->at_ns) < LOAD(oldest->at_ns)))
            oldest = entry;
    }
    return oldest;
}

bool table_get(const struct table *table, const void *key, struct table_found *ret)
{
    const struct table_entry *entry = find(table, (uintptr_t)key);
    if (!entry)
        return false;
    *ret = values_of(entry);
    return atomic_load_explicit(&entry->key, memory_order_acquire) == (uintptr_t)key;
}

bool table_take(const struct table *table, const void *key, struct table_found *ret)
{
    struct table_entry *entry = find(table, (uintptr_t)key);
    uintptr_t expected = (uintptr_t)key;
    if (!entry || !atomic_compare_exchange_strong(&entry->key, &expected, BEING_WRITTEN))
        return false;
    *ret = values_of(entry);
    atomic_store_explicit(&entry->key, 0, memory_order_release);
    return true;
}

void table_forget(const struct table *table, uint64_t mask, uint64_t what)
{
    for (uint32_t i = 0; i < table->nr; i++) {
        struct table_entry *entry = &table->entries[i];
        uintptr_t key = atomic_load_explicit(&entry->key, memory_order_acquire);
        if (key > BEING_WRITTEN && (LOAD(entry->what) & mask) == what &&
            atomic_compare_exchange_strong(&entry->key, &key, BEING_WRITTEN))
            atomic_store_explicit(&entry->key, 0, memory_order_release);
    }
}
