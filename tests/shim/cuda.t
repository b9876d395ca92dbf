#!/bin/bash
# Calls of the CUDA runtime: with one library, with two in one process (each caller gets its own), out of sight, and
# without any. Blocks of PyTorch's allocator across libraries, by their mangled names.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"

cc="${CC:-gcc} -D_GNU_SOURCE -shared -fPIC"
for v in 12 13; do
    $cc -DVERSION=$v -Wl,-soname,libcudart.so.$v -o "$scratch/libcudart.so.$v" "$root/tests/shim/libs/cudart.c" &&
        $cc -DVERSION=$v -o "$scratch/libuses_cuda_$v.so" "$root/tests/shim/libs/uses_cuda.c" "$scratch/libcudart.so.$v" \
            -Wl,-rpath,"$scratch" || skip_all "no compiler"
done
$cc -Wl,-soname,libc10.so -o "$scratch/libc10.so" "$root/tests/shim/libs/c10.c"
$cc -o "$scratch/libc10_cuda.so" "$root/tests/shim/libs/c10_cuda.c" "$scratch/libc10.so" -Wl,-rpath,"$scratch"

cat >"$scratch/job.py" <<END
import ctypes, os, sys
libs = {}
for version, device in ((12, 1), (13, 3), (12, 2)):
    lib = ctypes.CDLL("$scratch/libuses_cuda_%d.so" % version, mode=os.RTLD_LOCAL | os.RTLD_NOW)
    result = lib.use_cuda(device)
    if result:
        sys.exit("version %d: step %d went wrong" % (version, result))
allocator = ctypes.CDLL("$scratch/libc10_cuda.so", mode=os.RTLD_LOCAL | os.RTLD_NOW)
sys.exit(allocator.use_allocator())
END
record "$scratch/run" "$PYTHON" "$scratch/job.py" 2>"$scratch/job.err"
is "two runtimes in one process: each caller reaches its own" "$?" 0
named "$scratch/run" >"$scratch/events"
n() { grep -cE -- "$1" "$scratch/events"; }

is "memory taken, with size, device and owner" \
    "$(n ' segment .*act=alloc kind=device device=1 .*address=12004096 size_bytes=4096 ') $(n ' segment .*act=alloc .*device=3 .*address=13004096 ')" "1 1"
is "given back" "$(n ' segment .*act=free kind=device device=[123] .*address=1[23]004096 ')" 3
is "a request that failed, with what was free" "$(n ' segment .*act=failed .*err=2 .*size_bytes=2147483648 free_bytes=123456789 ')" 3
is "memory that is mapped (expandable segments)" \
    "$(n ' segment .*act=alloc kind=vmm device=3 .*address=117440512 size_bytes=20971520 ') $(n ' segment .*act=free kind=vmm device=3 .*address=117440512 ')" "1 1"
is "a mapping that failed, and no memory to map" "$(n ' segment .*act=failed kind=vmm .*err=1 ') $(n ' segment .*act=failed kind=vmm .*err=2 .*size_bytes=2147483648 ')" "3 3"
is "waking CUDA up with cudaFree(NULL) is no memory" "$(n ' segment .*act=free .*address=0 ')" 0
is "launches in bursts" "$(awk '$3 == "cuda_call" && / act=launch / && match($0, / count=[0-9]+/) {
    n += substr($0, RSTART + 7, RLENGTH - 7); e++ } END { print n, (e < 75) }' "$scratch/events")" "150 1"
is "a synchronisation by itself, as long as it took" "$(n ' cuda_call .*act=sync count=1 .*dur_ns=[0-9]{7,}')" 3
is "the owner is the library that asked" "$(grep -c ' name .*kind=library' <("$TR" events "$scratch/run"))" 2

is "blocks of the allocator" "$(n ' block .*act=alloc device=5 .*size_bytes=512 allocated_bytes=512 reserved_bytes=2097152') $(n ' block .*act=free device=5 .*size_bytes=512 allocated_bytes=0 ')" "1 1"
is "CPU memory is none of it" "$(n ' block .*size_bytes=4096')" 0
is "the allocator gives up" "$(n ' oom .*device=5 size_bytes=1099511627776 allocated_bytes=512 reserved_bytes=2097152 ')" 1

# Matrix products: their shape is their work.
for l in cublas cublasLt; do
    $cc -Wl,-soname,lib$l.so.13 -o "$scratch/lib$l.so.13" "$root/tests/shim/libs/cublas.c"
done
cat >"$scratch/cublas.py" <<END
import ctypes, os, sys
ctypes.CDLL("$scratch/libcublasLt.so.13", mode=os.RTLD_LOCAL | os.RTLD_NOW)
sys.exit(ctypes.CDLL("$scratch/libcublas.so.13", mode=os.RTLD_LOCAL | os.RTLD_NOW).use_cublas())
END
record "$scratch/cublas" "$PYTHON" "$scratch/cublas.py"
is "cuBLAS: all arguments arrive" "$?" 0
named "$scratch/cublas" >"$scratch/events"
is "cuBLAS: one that failed is no work" "$(n ' gemm ')" 3
is "cuBLAS: a plain product" "$(n ' gemm .*type=f32 count=1 m=10 n=20 k=30 batch=1 flop=12000 ')" 1
is "cuBLAS: a batch" "$(n ' gemm .*type=f16 count=1 m=64 n=64 k=128 batch=8 flop=8388608 ')" 1
is "cublasLt: shape asked of itself, A transposed" "$(n ' gemm .*type=bf16 count=1 m=1024 n=512 k=4096 batch=2 flop=8589934592 ')" 1

# CUPTI's records, with a CUPTI of our own that has the real one's habits.
mkdir "$scratch/cupti"
$cc -Wl,-soname,libcupti.so.13 -o "$scratch/cupti/libcupti.so.13" "$root/tests/shim/libs/cupti.c" -lpthread
cat >"$scratch/cupti.py" <<END
import ctypes, os, time
cupti = ctypes.CDLL("$scratch/cupti/libcupti.so.13")
cuda = ctypes.CDLL("$scratch/libuses_cuda_13.so", mode=os.RTLD_LOCAL | os.RTLD_NOW)
assert cuda.use_cuda(0) == 0
if not os.environ.get("FAKE_CUPTI_ERROR"):
    cupti.fake_cupti_run(1000)
    time.sleep(1.5)
    pid = os.fork()
    if pid == 0:
        assert cuda.use_cuda(0) == 0
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    cupti.fake_cupti_run(10)
print(os.getpid())
END
record "$scratch/gpu" "$PYTHON" "$scratch/cupti.py" >/dev/null
is "with CUPTI: the job runs" "$?" 0
named "$scratch/gpu" >"$scratch/events"
is "kernels, those left at the end too" "$(n ' kernel .*name="void gemm<float>\(int\)"')" 1010
is "with device, stream, grid and length" "$(n ' kernel .*device=1 stream=7 .*blocks=120 .*dur_ns=1000$')" 1010
is "joined with the call that launched them, 50 us before, though that came later" \
    "$(awk '$3 == "kernel" { match($0, /queued_ns=[0-9]+/); q = substr($0, RSTART + 10, RLENGTH - 10); match($0, /start_ns=[0-9]+/)
        s = substr($0, RSTART + 9, RLENGTH - 9); match($0, /correlation=[0-9]+/); c = substr($0, RSTART + 12, RLENGTH - 12)
        d = s - q - 50000 - (c - 1) * 2000; if (d >= -1 && d <= 1 && / tid=[1-9]/) ok++ } END { print ok + 0 }' "$scratch/events")" 1010
is "GPU times are on the trace's clock" \
    "$(awk '$3 == "kernel" { match($0, /start_ns=[0-9]+/); s = substr($0, RSTART + 9, RLENGTH - 9) + 0; if (s > $1 + 5e6 || s < $1 - 3e9) bad++ }
        END { print bad + 0 }' "$scratch/events")" 0
is "a pageable copy" "$(n ' gpu_copy .*kind=HtoD src=pageable dst=device size_bytes=1048576 .*dur_ns=80000$')" 2
is "a memset" "$(n ' gpu_set .*size_bytes=4096 .*dur_ns=500$')" 2
is "records without times are told" "$(n ' gpu_lost .*untimed=[1-9]' | awk '{ print ($1 >= 1) }')" 1
is "how it records is told" "$(n ' attr .*key=gpu.recorder value="?CUPTI 130001"?$' | awk '{ print ($1 >= 1) }')" 1
ok "how far it is complete: not beyond a call whose kernel has not come" \
    awk '$3 == "gpu_until" { match($0, /until_ns=[0-9]+/); u = substr($0, RSTART + 9, RLENGTH - 9) + 0; if (u < $1 - 1e6) behind++ } END { exit !behind }' "$scratch/events"
# torch.profiler in the same process: it gets its own buffers and none of ours, and we come back after it.
$cc -o "$scratch/libkineto.so" "$root/tests/shim/libs/kineto.c" "$scratch/cupti/libcupti.so.13" -Wl,-rpath,"$scratch/cupti"
cat >"$scratch/kineto.py" <<END
import ctypes, os, time
kineto = ctypes.CDLL("$scratch/libkineto.so")
cupti = ctypes.CDLL("$scratch/cupti/libcupti.so.13")
cuda = ctypes.CDLL("$scratch/libuses_cuda_13.so", mode=os.RTLD_LOCAL | os.RTLD_NOW)
assert cuda.use_cuda(0) == 0
cupti.fake_cupti_run(100)
result = kineto.profile(50)
assert result == 0, result
time.sleep(3)
cupti.fake_cupti_run(7)
END
record "$scratch/kineto" "$PYTHON" "$scratch/kineto.py"
is "a second user of CUPTI gets its buffers, and none of ours" "$?" 0
named "$scratch/kineto" >"$scratch/events"
is "ours before and after it" "$(n ' kernel ')" 107
# two for records without times, one for the other user; one for its end
is "the time between is told" "$(n ' gap .*why=gpu on=1') $(n ' gap .*why=gpu on=0')" "3 1"

for e in 999 39; do
    FAKE_CUPTI_ERROR=$e record "$scratch/error.$e" "$PYTHON" "$scratch/cupti.py" >/dev/null
    is "CUPTI says $e: the job runs" "$?" 0
    named "$scratch/error.$e" >"$scratch/events"
    is "CUPTI says $e: so does the trace" "$(n " attr .*key=gpu.recorder value=.*error $e")$(n ' kernel ')" 10
done

# A program that finds our name and no CUDA behind it.
cat >"$scratch/none.py" <<END
import ctypes
f = ctypes.CDLL(None).cudaDeviceSynchronize
assert f() == 35, "insufficient driver"
END
record "$scratch/none" "$PYTHON" "$scratch/none.py"
is "no CUDA at all: the runtime's own error" "$?" 0
done_testing
