# trshim - build, tests, installation. `make help` lists the targets.

# ---- Knobs: make V=1 (show commands)  DEBUG=1  SAN=address,undefined|thread  O=build  PREFIX=/usr/local
O       ?= build
PREFIX  ?= /usr/local
CC      ?= gcc
PYTHON  ?= /usr/bin/python3
V       ?= 0
DEBUG   ?= 0
SAN     ?=

# ---- Flags
OPT      := $(if $(filter 1,$(DEBUG)),-O0,-O2)
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter \
            -Wno-missing-field-initializers
CPPFLAGS += -I. -D_GNU_SOURCE
CFLAGS   += -std=gnu11 -g $(OPT) $(WARN) -fvisibility=hidden -fno-strict-aliasing
LDFLAGS  += -Wl,-z,now
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)

PKG      = $(shell pkg-config --$(1) $(2) 2>/dev/null)
UST_LIBS = -llttng-ust
CTL_LIBS = -llttng-ctl
BT_LIBS  = -lbabeltrace2
JSON_LIBS = -lyajl

# ---- Sources by folder
TRACES   := traces/schema.c $(wildcard traces/session*.c)
PROVIDER := traces/tp_trshim.c
PRELOAD  := $(wildcard shim/preload/*.c) $(wildcard shim/preload/*.S)
CORE     := $(wildcard shim/core/*.c)
ANALYSIS := $(filter-out analysis/main.c,$(wildcard analysis/*.c analysis/*/*.c))
UNIT     := $(wildcard tests/unit/test_*.c)

obj = $(patsubst %,$(O)/obj/%.o,$(1))
ALL_SRC := $(TRACES) $(PROVIDER) $(PRELOAD) $(CORE) $(ANALYSIS) analysis/main.c $(UNIT)

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),@:,@printf '  %-6s %s\n' $(1) $(2))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all help
all: $(O)/trshim $(O)/libtrshim.so $(O)/libtrshim-core.so

# ---- Rules
$(O)/obj/shim/%.c.o: CFLAGS += -fPIC -ftls-model=initial-exec
$(O)/obj/traces/%.c.o: CFLAGS += -fPIC

$(O)/obj/%.c.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) -MMD -MP -c $< -o $@

$(O)/obj/%.S.o: %.S
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -MMD -MP -c $< -o $@

# The preload names libdl.so.2 itself: before glibc 2.34 dlsym lives there, after it the file is a stub.
$(O)/libtrshim.so: $(call obj,$(PRELOAD))
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-soname,libtrshim.so -Wl,--no-undefined -o $@ $^ -Wl,--no-as-needed -l:libdl.so.2

$(O)/libtrshim-core.so: $(call obj,$(PROVIDER) $(CORE))
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,-soname,libtrshim-core.so -o $@ $^ $(UST_LIBS) -ldl -lpthread

$(O)/trshim: $(call obj,analysis/main.c $(ANALYSIS) $(TRACES))
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) $(SANFLAGS) -o $@ $^ $(CTL_LIBS) $(BT_LIBS) $(JSON_LIBS) -lz -lm -lpthread

$(O)/tests/%: $(O)/obj/tests/unit/%.c.o $(call obj,$(ANALYSIS) $(TRACES))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LDFLAGS) $(SANFLAGS) -o $@ $^ $(CTL_LIBS) $(BT_LIBS) $(JSON_LIBS) -lcmocka -lz -lm -lpthread

-include $(patsubst %,$(O)/obj/%.d,$(basename $(ALL_SRC)))
-include $(patsubst %.o,%.d,$(call obj,$(ALL_SRC)))
