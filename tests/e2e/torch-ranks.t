#!/bin/bash
# Several ranks on one node: under torchrun, spawned by the job itself, and started one by one, each under a `trshim
# record` of its own with the same -o. All ranks and all their workers are in one report.

. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/torchjob.sh"

ranks=4 workers=1
job=("${data_options[@]}" --hidden 8 --batch 16 --workers $workers --data packed --checkpoint-every 0 --delay 2ms)
# torchrun of PyTorch 1.13 under Python 3.11 (Debian 12) fails on its own defaults of --redirects and --tee.
torchrun=("$PYTHON" -m torch.distributed.run --redirects 1 --tee 1 --log_dir "$scratch/torchrun" --nproc_per_node $ranks --monitor_interval 0.5)

free_port() { "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

torchrun_works() { "${torchrun[@]}" --master_port "$(free_port)" --no_python /bin/true >/dev/null 2>&1; }

under_torchrun() {
    record "$scratch/torchrun-run" --no-report -- "${torchrun[@]}" --master_port "$(free_port)" "${train[@]:1}" \
        "${job[@]}" --steps 40 --truth "$scratch/torchrun-run.truth"
}

spawned() {
    record "$scratch/spawned" --no-report -- "${train[@]}" "${job[@]}" --ranks $ranks --steps 40 \
        --truth "$scratch/spawned.truth"
}

one_by_one() {
    local rank pids=() port status=0
    port=$(free_port)
    for ((rank = 0; rank < ranks; rank++)); do
        RANK=$rank WORLD_SIZE=$ranks LOCAL_RANK=$rank MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
            "$TR" record -o "$scratch/one-by-one" --no-report -- "${train[@]}" "${job[@]}" --steps 40 \
            --truth "$scratch/one-by-one.truth" >"$scratch/one-by-one.log.$rank" 2>&1 &
        pids+=($!)
    done
    for rank in "${!pids[@]}"; do
        wait "${pids[rank]}" || { status=$?; tail -n 5 "$scratch/one-by-one.log.$rank"; }
    done
    return $status
}

# The ranks and their workers in DIR.json: "0 1 2 3" and "4x1" for one worker on each of four ranks.
ranks_of() {
    "$PYTHON" - "$1.json" <<'PY'
import collections, json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
workers = collections.Counter(worker["rank"] for worker in report["workers"])
print(*sorted(rank["rank"] for rank in report["ranks"]), "workers", *(workers[rank] for rank in sorted(workers)))
PY
}

check_ranks() {
    local what=$1 dir=$2
    if ! report "$dir"; then
        fail "$what: a report"
        return
    fi
    is "$what: ranks and workers" "$(ranks_of "$dir")" "0 1 2 3 workers $workers $workers $workers $workers"
    for check in steps sums totals; do
        ok "$what: $check" judge --check $check "$dir.json" "$dir.truth" "$dir.truth".[1-9]
    done
}

need_recorder
ok "data set" "${train[@]}" --prepare "${data_options[@]}" --data packed
if torchrun_works; then
    ok "torchrun: the job runs and is recorded" under_torchrun
    check_ranks torchrun "$scratch/torchrun-run"
else
    skip "torchrun: ranks" "torchrun of this PyTorch cannot even start /bin/true"
fi
ok "spawned: the job runs and is recorded" spawned
check_ranks spawned "$scratch/spawned"
ok "one by one: the jobs run and are recorded" one_by_one
check_ranks "one by one" "$scratch/one-by-one"
done_testing
