# tests/sim - the simulated node: look-alikes of NVIDIA's libraries, all on one engine, in $(O)/sim. See tests/sim/README.md.
# A process that is to run on it gets LD_LIBRARY_PATH=$(O)/sim; examples/simtrain finds it by itself.
SIM_OUT  := $(O)/sim
SIM_LIBS := libsimnode.so libcuda.so.1 libcudart.so.12 libcudart.so.13 libcupti.so.11.8 libcupti.so.12 libcupti.so.13 \
            libnvidia-ml.so.1 libcublas.so.12 libcublas.so.13 libcublasLt.so.12 libcublasLt.so.13 libnccl.so.2 libc10.so libc10_cuda.so
SIMTRAIN := $(O)/examples/simtrain

.PHONY: sim
sim: $(SIM_LIBS:%=$(SIM_OUT)/%) $(SIMTRAIN) $(SIMTRAIN)-cuda12 ## the simulated node and examples/simtrain
all: sim
tests: sim

$(O)/obj/tests/sim/% $(O)/obj/examples/simtrain/%: PIC := -fPIC

sim_objs = $(call obj,$(wildcard $(1)))

# Names of a library carry its own name as their version, as NVIDIA's do; what is not its API stays inside.
define sim_link
$(call say,LD,$@)
@mkdir -p $(@D)
$(Q)$(LINK) -shared $(SANFLAGS) -Wl,-Bsymbolic-functions -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' $(1) -o $@ $(filter %.o,$^) $(filter $(SIM_OUT)/%,$^) -lpthread -ldl -lm
endef

$(O)/obj/sim/%.map:
	@mkdir -p $(@D)
	@printf '%s { global: cuda*; __cuda*; cupti*; cublas*; InitializeInjection*; local: *; };\n' $* >$@

sim_version = -Wl,--version-script=$(filter %.map,$^)

$(SIM_OUT)/libsimnode.so: $(call sim_objs,tests/sim/engine/*.c)
	$(call sim_link,)

$(SIM_OUT)/libcuda.so.1: $(call sim_objs,tests/sim/cuda/*.c) $(SIM_OUT)/libsimnode.so
	$(call sim_link,)

SIM_CUDART := $(filter-out %_12.c %/v12.c %/v13.c,$(wildcard tests/sim/cudart/*.c))
$(SIM_OUT)/libcudart.so.13: $(call obj,$(SIM_CUDART) tests/sim/cudart/v13.c)
$(SIM_OUT)/libcudart.so.12: $(call obj,$(SIM_CUDART) tests/sim/cudart/v12.c tests/sim/cudart/missing_12.c)

SIM_CUPTI := $(filter-out tests/sim/cupti/v1%.c,$(wildcard tests/sim/cupti/*.c))
$(SIM_OUT)/libcupti.so.11.8: $(call obj,$(SIM_CUPTI) tests/sim/cupti/v11_8.c)
$(SIM_OUT)/libcupti.so.12: $(call obj,$(SIM_CUPTI) tests/sim/cupti/v12.c)
$(SIM_OUT)/libcupti.so.13: $(call obj,$(SIM_CUPTI) tests/sim/cupti/v13.c)

SIM_GEMM := tests/sim/cublas/gemm.c tests/sim/cublas/product.c
$(SIM_OUT)/libcublas.so.12 $(SIM_OUT)/libcublas.so.13: $(call obj,$(SIM_GEMM) $(wildcard tests/sim/cublas/*_cublas.c) tests/sim/cublas/libcublas.c)
$(SIM_OUT)/libcublasLt.so.12 $(SIM_OUT)/libcublasLt.so.13: $(call obj,$(SIM_GEMM) $(wildcard tests/sim/cublas/*cublaslt.c))

$(SIM_OUT)/libnvidia-ml.so.1: $(call sim_objs,tests/sim/nvml/*.c) $(SIM_OUT)/libsimnode.so
	$(call sim_link,)

$(SIM_OUT)/libc10.so: $(call obj,tests/sim/c10/libc10.c)
	$(call sim_link,)
$(SIM_OUT)/libc10_cuda.so: $(call obj,tests/sim/c10/libc10_cuda.c) $(SIM_OUT)/libc10.so $(SIM_OUT)/libcudart.so.13
	$(call sim_link,)

# Its own calls of public functions can be interposed, as those of the real one: no -Bsymbolic-functions.
$(SIM_OUT)/libnccl.so.2: $(call sim_objs,tests/sim/nccl/*.c) $(SIM_OUT)/libsimnode.so
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared $(SANFLAGS) -Wl,-soname,$(@F) -Wl,-rpath,'$$ORIGIN' -o $@ $(filter %.o,$^) $(filter $(SIM_OUT)/%,$^) -lpthread -ldl

SIM_VERSIONED := $(filter libcudart.% libcupti.% libcublas%,$(SIM_LIBS))
$(SIM_VERSIONED:%=$(SIM_OUT)/%): $(SIM_OUT)/%: $(O)/obj/sim/%.map $(SIM_OUT)/libsimnode.so
	$(call sim_link,$(sim_version))

# The same job on CUDA 12's libraries; PyTorch's allocator is built for one CUDA, so it is there twice.
$(SIM_OUT)/libc10_cuda-12.so: $(call obj,tests/sim/c10/libc10_cuda.c) $(SIM_OUT)/libc10.so $(SIM_OUT)/libcudart.so.12
	$(call sim_link,)

SIMTRAIN_OBJS := $(call sim_objs,examples/simtrain/*.c)
$(SIMTRAIN): $(SIMTRAIN_OBJS) $(SIM_OUT)/libcudart.so.13 $(SIM_OUT)/libcublas.so.13 $(SIM_OUT)/libc10_cuda.so
$(SIMTRAIN)-cuda12: $(SIMTRAIN_OBJS) $(SIM_OUT)/libcudart.so.12 $(SIM_OUT)/libcublas.so.12 $(SIM_OUT)/libc10_cuda-12.so
$(SIMTRAIN) $(SIMTRAIN)-cuda12: $(SIM_OUT)/libnccl.so.2 $(SIM_OUT)/libsimnode.so
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SANFLAGS) -Wl,-rpath,'$$ORIGIN/../sim' -o $@ $(filter %.o,$^) $(filter $(SIM_OUT)/%,$^) -lpthread -ldl

# Plugins that write what NCCL calls in them.
SIM_PLUGINS := $(O)/tests/sim/lib/libnccl-profiler-log.so $(O)/tests/sim/lib/libnccl-net-log.so
sim: $(SIM_PLUGINS)
$(SIM_PLUGINS): PIC := -fPIC
$(O)/tests/sim/lib/libnccl-profiler-log.so: $(O)/obj/tests/sim/log_profiler.c.o
$(O)/tests/sim/lib/libnccl-net-log.so: $(O)/obj/tests/sim/log_net.c.o
$(SIM_PLUGINS):
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared $(SANFLAGS) -o $@ $< -lpthread

# A test may stand in for what a library exports, so its own names are seen by the libraries (-rdynamic).
SIM_TESTS := $(O)/tests/sim/test_engine $(O)/tests/sim/test_libraries $(O)/tests/sim/cupti_job $(O)/tests/sim/test_nccl \
              $(O)/tests/sim/nccl_job $(O)/tests/sim/gpu_job
sim: $(SIM_TESTS)
$(O)/tests/sim/test_libraries: $(SIM_OUT)/libc10_cuda.so $(SIM_OUT)/libcublas.so.13 $(SIM_OUT)/libnvidia-ml.so.1
$(O)/tests/sim/test_nccl $(O)/tests/sim/nccl_job: $(SIM_OUT)/libnccl.so.2
$(O)/tests/sim/gpu_job: $(SIM_OUT)/libcublas.so.13 $(SIM_OUT)/libcupti.so.13
$(SIM_TESTS): $(O)/tests/sim/%: $(O)/obj/tests/sim/%.c.o $(SIM_OUT)/libsimnode.so $(SIM_OUT)/libcuda.so.1 $(SIM_OUT)/libcudart.so.13
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(SANFLAGS) -rdynamic -Wl,-rpath,'$$ORIGIN/../../sim' -o $@ $< $(filter $(SIM_OUT)/%,$^) -lcmocka -lpthread -ldl
SUITE_sim := $(filter %/test_engine %/test_libraries %/test_nccl,$(SIM_TESTS)) $(wildcard tests/sim/*.t)
