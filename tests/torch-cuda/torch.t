#!/bin/bash
# A stock PyTorch with CUDA, from PyPI, on the simulated node: what of it works, and what a recording of it holds.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/events.sh"

python=$(cat "$O/torch-cuda/python" 2>/dev/null) || skip_all "make check-torch-cuda sets it up"
export SIM_COMPUTE=1e9 LD_LIBRARY_PATH=$O/torch-cuda/lib
names="available copy product allocator events training oom"

results() { grep -E ' (yes|no)$' "$1"; }
wanted=$(for n in $names; do echo "$n yes"; done)

timeout 120 "$python" "$root/tests/torch-cuda/job.py" >"$scratch/alone" 2>"$scratch/alone.err"
is "alone" "$(results "$scratch/alone")" "$wanted"
note "$(tail -n 5 "$scratch/alone.err")"

timeout 240 "$TR" record -o "$scratch/run" -- "$python" "$root/tests/torch-cuda/job.py" >"$scratch/out" 2>"$scratch/err"
is "recorded: the same" "$(results "$scratch/out")" "$wanted"
named "$scratch/run" >"$scratch/events"
for e in oom segment block kernel gemm gpu_copy; do
    ok "recorded: $e" grep -q " $e " "$scratch/events"
done
is "recorded: the flop of a product, exactly" "$(grep -c ' gemm .* m=7 n=33 k=20 .*flop=9240 ' "$scratch/events")" 1
"$TR" report "$scratch/run" >"$scratch/report"
ok "the verdict: memory ran out" grep -q '^VERDICT  GPU memory ran out' "$scratch/report"
done_testing
