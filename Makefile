# trshim - build, tests, installation. `make help` lists the targets, `make help-knobs` what can be set.

# ---- Knobs ------------------------------------------------------------------------------------------------------
#: V=1                    show the commands
#: DEBUG=1                no optimisation
#: SAN=address,undefined  or SAN=thread: build with sanitizers, into a folder of its own
#: COVERAGE=1             count executed lines (gcov)
#: O=DIR                  where everything is built
#: PREFIX=DIR DESTDIR=DIR where `make install` puts it
#: CC= CPPFLAGS= CFLAGS= LDFLAGS=  as usual, added to our own
#: PYTHON=PATH            the Python that has torch, for the demo and the tests
#: DEPS=no                `make demo` and `make check` install no packages
comma    := ,
V        ?= 0
DEBUG    ?= 0
SAN      ?=
COVERAGE ?= 0
O        ?= build$(if $(SAN),/$(subst $(comma),-,$(SAN)))
PREFIX   ?= /usr/local
DESTDIR  ?=
PYTHON   ?= /usr/bin/python3
DEPS     ?= yes

# ---- Flags ------------------------------------------------------------------------------------------------------
OPT  := $(if $(filter 1,$(DEBUG)),-O0,-O2)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wno-unused-parameter \
        -Wno-missing-field-initializers
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) $(if $(filter 1,$(COVERAGE)),--coverage)

OUR_CPPFLAGS = -I. -D_GNU_SOURCE $(CPPFLAGS)
OUR_CFLAGS   = -std=gnu11 -g $(OPT) $(WARN) -fvisibility=hidden -fno-strict-aliasing $(CFLAGS)
OUR_LDFLAGS  = -Wl,-z,now -Wl,-z,noexecstack $(LDFLAGS)
COMPILE      = $(CC) $(OUR_CPPFLAGS) $(OUR_CFLAGS) -MMD -MP
LINK         = $(CC) $(OUR_CFLAGS) $(OUR_LDFLAGS)

UST_LIBS      := -llttng-ust -ldl
ANALYSIS_LIBS := -llttng-ctl -lbabeltrace2 -lyajl -lz -ldw -lm -lpthread

# ---- Sources by folder ------------------------------------------------------------------------------------------
TRACES   := $(wildcard traces/schema*.c traces/session*.c) traces/kernel_batch.c
PROVIDER := traces/tp_trshim.c
PRELOAD  := $(wildcard shim/preload/*.c shim/preload/*.S)
CORE     := $(wildcard shim/core/*.c)
PLUGIN   := $(wildcard plugin/*.c) shim/preload/environment.c
NET      := $(wildcard plugin/net/*.c) plugin/core.c shim/preload/environment.c
ANALYSIS := $(filter-out analysis/main.c,$(wildcard analysis/*.c analysis/*/*.c))
UNIT     := $(wildcard tests/unit/test_*.c)
PLUGIN_TESTS := $(wildcard tests/plugin/test_*.c)
HELPERS  := $(wildcard tests/shim/*.c tests/reader/*.c tests/e2e/*.c tests/bench/*.c tests/plugin/nccl_*.c)

obj = $(patsubst %,$(O)/obj/%.o,$(1))

TRSHIM_OBJS  := $(call obj,analysis/main.c $(ANALYSIS) $(TRACES))
PRELOAD_OBJS := $(call obj,$(PRELOAD))
PLUGIN_OBJS  := $(call obj,$(PLUGIN))
NET_OBJS     := $(call obj,$(NET))
CORE_OBJS    := $(call obj,$(PROVIDER) $(CORE) traces/kernel_batch.c)
ARCHIVE      := $(O)/obj/parts.a
UNIT_BINS    := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(UNIT))
PLUGIN_BINS  := $(patsubst %.c,$(O)/%,$(PLUGIN_TESTS))
HELPER_BINS  := $(patsubst %.c,$(O)/%,$(HELPERS))

# ---- What can be made -------------------------------------------------------------------------------------------
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.PHONY: all programs tests FORCE

all: programs $(O)/man/trshim.1 ## everything that is installed (default)
programs: $(O)/trshim $(O)/libtrshim.so $(O)/libtrshim-core.so $(O)/libnccl-profiler-trshim.so $(O)/net/libnccl-net-trshim.so
tests: programs $(UNIT_BINS) $(PLUGIN_BINS) $(HELPER_BINS) $(O)/tools/events_md ## the test programs, without running them

# ---- Rules ------------------------------------------------------------------------------------------------------
Q   := $(if $(filter 1,$(V)),,@)
say  = $(if $(filter 1,$(V)),@:,@printf '  %-6s %s\n' $(1) $(2))

# Objects depend on their flags: a change of DEBUG, CC or CFLAGS rebuilds, anything else does not.
FLAGS_NOW = $(COMPILE) $(SANFLAGS) $(OUR_LDFLAGS)
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || { \
	    tools/deps.sh --check && printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' >$@; }

# What a job loads: position independent, and thread-locals that need no call to reach.
$(O)/obj/shim/% $(O)/obj/plugin/% $(O)/obj/traces/%: PIC := -fPIC -ftls-model=initial-exec

$(O)/obj/%.c.o: %.c $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(PIC) $(SANFLAGS) -c $< -o $@

$(O)/obj/%.S.o: %.S $(O)/flags
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c $< -o $@

# The preload names libdl.so.2 itself: before glibc 2.34 dlsym lives there, after it the file is a stub.
$(O)/libtrshim.so: $(PRELOAD_OBJS)
	$(call say,LD,$@)
	$(Q)$(LINK) -shared $(SANFLAGS) -Wl,-soname,$(@F) -Wl,--no-undefined -o $@ $^ -Wl,--no-as-needed -l:libdl.so.2

$(O)/libtrshim-core.so: $(CORE_OBJS)
	$(call say,LD,$@)
	$(Q)$(LINK) -shared $(SANFLAGS) -Wl,-soname,$(@F) -o $@ $^ $(UST_LIBS) -lpthread

# NCCL closes it with its last communicator: nothing of it may go then.
$(O)/libnccl-profiler-trshim.so: $(PLUGIN_OBJS)
	$(call say,LD,$@)
	$(Q)$(LINK) -shared $(SANFLAGS) -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,--no-undefined -o $@ $^ -Wl,--no-as-needed -l:libdl.so.2

# In a folder of its own: `record` puts that into the job's LD_LIBRARY_PATH, where nothing else of ours may be found.
$(O)/net/libnccl-net-trshim.so: $(NET_OBJS)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared $(SANFLAGS) -Wl,-soname,$(@F) -Wl,-z,nodelete -Wl,--no-undefined -o $@ $^ -Wl,--no-as-needed -l:libdl.so.2

$(O)/trshim: $(TRSHIM_OBJS)
	$(call say,LD,$@)
	$(Q)$(LINK) $(SANFLAGS) -o $@ $^ $(ANALYSIS_LIBS)

# A unit test takes from the parts what it names: nothing of the core unless it tests the core.
$(ARCHIVE): $(call obj,$(ANALYSIS) $(TRACES) $(CORE) $(PROVIDER))
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(O)/tests/unit/%: $(O)/obj/tests/unit/%.c.o $(ARCHIVE)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SANFLAGS) -o $@ $< $(ARCHIVE) -lcmocka $(ANALYSIS_LIBS) $(UST_LIBS)

# The plugin, with a core that only looks (core_seen.c) in place of the real one.
$(O)/tests/plugin/test_net_table: $(O)/obj/plugin/net/table.c.o
$(PLUGIN_BINS): $(O)/tests/plugin/%: $(O)/obj/tests/plugin/%.c.o $(call obj,tests/plugin/player.c tests/plugin/core_seen.c) \
                          $(filter-out %/plugin/core.c.o,$(PLUGIN_OBJS))
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SANFLAGS) -o $@ $^ -lcmocka -ldl -lpthread

$(O)/tests/plugin/nccl_%: $(O)/obj/tests/plugin/nccl_%.c.o $(call obj,tests/plugin/player.c)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SANFLAGS) -o $@ $^ -ldl -lpthread

$(O)/tests/%: $(O)/obj/tests/%.c.o $(ARCHIVE)
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SANFLAGS) -o $@ $< $(ARCHIVE) $(ANALYSIS_LIBS) $(UST_LIBS)

$(O)/tools/%: $(O)/obj/tools/%.c.o $(call obj,$(TRACES))
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SANFLAGS) -o $@ $< $(call obj,traces/schema.c)

$(O)/man/trshim.1: tools/man.sh traces/environment.def $(O)/trshim
	$(call say,MAN,$@)
	@mkdir -p $(@D)
	$(Q)tools/man.sh $(O)/trshim >$@

docs/EVENTS.md: $(O)/tools/events_md ## the reference of events, from traces/events.def
	$(call say,DOC,$@)
	$(Q)$< >$@

# ---- The simulated node ------------------------------------------------------------------------------------------
include tests/sim/sim.mk

-include $(shell find $(O)/obj -name '*.d' 2>/dev/null)

# ---- Tests: each group runs alone, `check` runs them all in one go of prove -------------------------------------
# What the tests are told: where the build is, which Python has torch, and that cmocka speaks TAP. A test that hangs
# is ended, with what it started, after 15 minutes.
PROVE = O=$(abspath $(O)) TR=$(abspath $(O))/trshim PYTHON=$(PYTHON) CMOCKA_MESSAGE_OUTPUT=tap prove --timer -e 'timeout -k 10 900' $(PROVEFLAGS)

SUITE_build  := $(wildcard tests/check-*.t)
SUITE_unit   := $(UNIT_BINS)
SUITE_golden := $(wildcard tests/golden/*.t)
SUITE_reader := $(wildcard tests/reader/*.t)
SUITE_shim   := $(wildcard tests/shim/*.t)
SUITE_plugin := $(PLUGIN_BINS) $(wildcard tests/plugin/*.t)
SUITE_e2e    := $(wildcard tests/e2e/*.t)
SUITES       := build unit golden reader shim plugin e2e sim

.PHONY: deps check run-check check-san check-tsan $(SUITES:%=check-%)
deps: ## install missing packages (Debian, Ubuntu); nothing to do: says nothing
	@$(if $(filter no,$(DEPS)),:,PYTHON=$(PYTHON) tools/deps.sh)

check: deps ## every test; the last line is the verdict
	$(Q)+$(MAKE) --no-print-directory run-check
run-check: all tests
	$(Q)$(PROVE) $(foreach s,$(SUITES),$(SUITE_$(s)))

# check-GROUP: ## one group: build unit golden reader shim plugin e2e sim
$(SUITES:%=check-%): check-%: all tests
	$(Q)$(PROVE) $(SUITE_$*)

.PHONY: check-torch-cuda
check-torch-cuda: all ## a stock PyTorch with CUDA on the simulated node; once gigabytes from PyPI
	$(Q)O=$(abspath $(O)) CC="$(CC)" PYTHON=$(PYTHON) TORCH_PYTHON=$(TORCH_PYTHON) tests/torch-cuda/setup.sh
	$(Q)$(PROVE) tests/torch-cuda/torch.t

.PHONY: check-seeds
SEEDS  ?= 20
FAULTS ?=
check-seeds: all ## verdicts on SEEDS=20 simulated jobs of each kind, FAULTS="healthy ..." (minutes)
	$(Q)O=$(abspath $(O)) PYTHON=$(PYTHON) tools/seeds $(SEEDS) $(FAULTS)

# Every fault in several strengths, clean jobs and look-alikes; goes on where it was interrupted. A part of it (CASES) or
# of the seeds that thresholds are set on (FIRST below 1000) does not go into the README.
.PHONY: matrix
FIRST ?= 1000
CASES ?=
matrix: all ## precision and recall of every finding on SEEDS=3 simulated jobs of each kind (8 minutes a seed), into the README
	$(Q)$(PYTHON) -B tools/matrix/matrix.py --build $(abspath $(O)) --seeds $(if $(filter file,$(origin SEEDS)),3,$(SEEDS)) \
	    --first $(FIRST) $(if $(CASES)$(filter-out 1000,$(FIRST)),,--write README.md) $(MATRIXFLAGS) $(CASES)

# ---- The same tests under other eyes ----------------------------------------------------------------------------
# Hundreds of damaged traces, each read by processes of its own, are for ASan; TSan would learn nothing from them.
SAN_TESTS  = $(SUITE_unit) $(PLUGIN_BINS) $(SUITE_golden) $(SUITE_reader)
TSAN_TESTS = $(filter-out tests/reader/damage.t tests/reader/cases.t,$(SAN_TESTS))

.PHONY: run-san
check-san: ## unit, plugin, golden and reader tests under AddressSanitizer and UBSan
	$(Q)+$(MAKE) --no-print-directory SAN=address,undefined DEPS=no O=$(O)/address-undefined run-san
check-tsan: ## the same under ThreadSanitizer
	$(Q)+$(MAKE) --no-print-directory SAN=thread DEPS=no O=$(O)/thread run-san
run-san: $(O)/trshim $(UNIT_BINS) $(PLUGIN_BINS) $(filter $(O)/tests/reader/%,$(HELPER_BINS))
	$(Q)ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	    TSAN_OPTIONS=halt_on_error=1:atexit_sleep_ms=0 $(PROVE) -j $(shell nproc) $(if $(filter thread,$(SAN)),$(TSAN_TESTS),$(SAN_TESTS))

# ---- A first look, and measurements -----------------------------------------------------------------------------
.PHONY: demo run-demo demo-torch run-demo-torch bench
demo: deps ## record a simulated job of 8 ranks on 2 hosts, with two faults, and report on it
	$(Q)+$(MAKE) --no-print-directory run-demo
run-demo: all
	$(Q)O=$(abspath $(O)) tools/demo.sh sim

demo-torch: deps ## the same with a real PyTorch job whose dataset is slow
	$(Q)+$(MAKE) --no-print-directory run-demo-torch
run-demo-torch: all
	$(Q)O=$(abspath $(O)) PYTHON=$(PYTHON) tools/demo.sh torch

bench: all tests ## costs and speeds against named baselines; BENCH_RUNS=20, PARTS="hooks job"
	$(Q)O=$(abspath $(O)) PYTHON=$(PYTHON) $(PYTHON) tests/bench/bench.py --json $(O)/bench.json $(PARTS)

# ---- For those who change the code ------------------------------------------------------------------------------
.PHONY: format format-check expand help help-knobs clean
CLANG_FORMAT ?= $(shell command -v clang-format-14 || command -v clang-format)
C_FILES = $(shell git ls-files '*.c' '*.h')

format-check: ## does the C look as .clang-format says? (version 14; others differ in details)
	@CLANG_FORMAT=$(CLANG_FORMAT) tools/format.sh --check $(C_FILES)
format: ## make it so
	@CLANG_FORMAT=$(CLANG_FORMAT) tools/format.sh $(C_FILES)

expand: ## FILE=shim/x.c: the file after the preprocessor, formatted: macros stay debuggable
	$(if $(FILE),,$(error say which: make expand FILE=shim/core/...c))
	@$(CC) $(OUR_CPPFLAGS) -std=gnu11 -E -P $(FILE) | $(or $(CLANG_FORMAT),cat)

help: ## this list
	@awk -F':.*## ' '/^(# )?[a-zA-Z/.-]+:.*## / { sub(/^# /, ""); printf "  %-16s %s\n", $$1, $$2 }' Makefile
help-knobs: ## what can be set on the command line
	@sed -n 's/^#: /  /p' Makefile

clean: ## remove what was built
	$(Q)rm -rf $(O)

# ---- Installation -----------------------------------------------------------------------------------------------
# The libraries must stay side by side; `trshim` looks for them beside itself and in ../lib/trshim.
.PHONY: install uninstall
D           = $(DESTDIR)$(PREFIX)
INSTALLED   = $(D)/bin/trshim $(D)/lib/trshim/libtrshim.so $(D)/lib/trshim/libtrshim-core.so $(D)/include/trshim.h \
              $(D)/lib/trshim/libnccl-profiler-trshim.so $(D)/lib/trshim/net/libnccl-net-trshim.so \
              $(D)/share/man/man1/trshim.1 $(D)/share/bash-completion/completions/trshim

install: all ## into PREFIX (default /usr/local), below DESTDIR if set
	install -D -m 755 $(O)/trshim $(D)/bin/trshim
	install -D -m 644 $(O)/libtrshim.so $(D)/lib/trshim/libtrshim.so
	install -D -m 644 $(O)/libtrshim-core.so $(D)/lib/trshim/libtrshim-core.so
	install -D -m 644 $(O)/libnccl-profiler-trshim.so $(D)/lib/trshim/libnccl-profiler-trshim.so
	install -D -m 644 $(O)/net/libnccl-net-trshim.so $(D)/lib/trshim/net/libnccl-net-trshim.so
	install -D -m 644 include/trshim.h $(D)/include/trshim.h
	install -D -m 644 $(O)/man/trshim.1 $(D)/share/man/man1/trshim.1
	install -D -m 644 tools/trshim.bash-completion $(D)/share/bash-completion/completions/trshim

uninstall: ## what install put there
	rm -f $(INSTALLED)
	rmdir $(D)/lib/trshim/net $(D)/lib/trshim 2>/dev/null || :
