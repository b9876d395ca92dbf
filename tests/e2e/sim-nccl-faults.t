#!/bin/bash
# What is wrong with how ranks communicate is found, on the right hosts or ranks, and nothing else of weight that is not
# known to come of it; a healthy job of four ranks on two hosts gives no finding, and a late rank is no slow network but
# late for a reason. What NCCL logs is in the trace. `sim-nccl-faults.t NAME...` runs only those settings; SIM_SEED=N: another job of the kind.
. "${0%/*}/../lib/tap.sh"
. "$root/tests/lib/session.sh"
. "$root/tests/lib/simjob.sh"

# name | fault | finding | ranks or hosts that must be in it | findings that may come of it | other arguments
settings='
healthy      |                                | -                    |      |                                     | --steps 36
disabled     | nccl-socket-fallback:size=1    | nccl-socket-fallback | node-0 node-1 | comm-bound harmful-env     | --steps 12
no-device    | nccl-socket-fallback:size=2    | nccl-socket-fallback | node-0 node-1 | comm-bound                 | --steps 12
no-verbs     | nccl-socket-fallback:size=3    | nccl-socket-fallback | node-0 node-1 | comm-bound                 | --steps 12
no-module    | nccl-socket-fallback:size=4    | nccl-socket-fallback | node-0 node-1 | comm-bound                 | --steps 12
no-plugin    | nccl-socket-fallback:size=5    | nccl-socket-fallback | node-0 node-1 | comm-bound nccl-net-plugin-failed | --steps 12
sockets      | nccl-socket-only               | nccl-socket-only     | node-0 node-1 | comm-bound                 | --steps 12
gdr          | nccl-gdr-off:rank=3            | nccl-gdr-off         | node-1 | comm-bound comm-slow              | --steps 12
hcas         | nccl-hca-mismatch:rank=0       | nccl-hca-mismatch    | node-0 node-1 |                            | --steps 12
docker       | nccl-wrong-ifname              | nccl-wrong-ifname    | node-0 node-1 |                            | --steps 12
plugin       | nccl-net-plugin-failed         | nccl-net-plugin-failed | node-0 node-1 |                          | --steps 12
topology     | nccl-topology:rank=2           | nccl-topology        | node-1 |                                   | --steps 12
ports        | ib-errors:rank=1               | ib-errors            | node-0 |                                   | --steps 12
versions     | version-mismatch:rank=3        | version-mismatch     | node-0 node-1 |                            | --steps 12
blocking     | harmful-env:size=1             | harmful-env          | node-0 node-1 |                            | --steps 12
nvlink       | nvlink-missing:rank=1          | nvlink-missing       | node-0 | comm-bound                        | --steps 12 --ranks 8
p2p          | p2p-disabled                   | p2p-disabled         | node-0 node-1 | comm-bound harmful-env     | --steps 12
bound        | comm-bound                     | comm-bound           | 0 1 2 3 | host-straggler                   | --steps 40
slow         | comm-slow                      | comm-slow            |      | comm-bound host-straggler           | --steps 36
slow-1-host  | comm-slow                      | comm-slow            |      | comm-bound host-straggler           | --steps 36 --hosts 1
overlap      | no-overlap                     | no-overlap           |      | comm-bound host-straggler           | --steps 40
small        | small-messages                 | small-messages       |      | comm-bound no-overlap host-straggler | --steps 36
bubble       | pipeline-bubble                | pipeline-bubble      | 0 1 2 3 | host-straggler                   | --steps 40 --pp 2
stage        | pipeline-imbalance:rank=2      | pipeline-imbalance   | 2 3  | pipeline-bubble host-straggler      | --steps 40 --pp 2
late         | host-straggler:rank=1          | host-straggler       | 1    |                                     | --steps 36
work         | unbalanced-work:rank=2         | unbalanced-work      | 2    | host-straggler                      | --steps 36
slow-gpu     | gpu-throttled:rank=1           | gpu-slow             | 1    | host-straggler                      | --steps 36
late-data    | dataloader-bound:rank=2        | dataloader-bound     | 2    | host-straggler                      | --steps 36
'

# Runs of 12 steps are too short to judge shares of time: there it is the log that tells. From 30 steps on shares count.
column() { printf '%s\n' "$settings" | sed -n "s/^$1  *| *//p" | cut -d '|' -f "$2" | sed 's/^ *//; s/ *$//'; }

# found NAME: the finding is there and about all of those, and no other of weight but those that may be
found() {
    "$PYTHON" -B - "$scratch/$1.json" "$(column "$1" 2)" "$(column "$1" 3)" "$(column "$1" 4)" <<'PY'
import json
import sys

path, wanted, who, allowed = sys.argv[1:]
good = wanted == "-"
for finding in json.load(open(path, encoding="utf-8"))["findings"]:
    right = finding["id"] == wanted and set(who.split()) <= {str(x) for x in finding["ranks"] + finding["hosts"]}
    stray = finding["severity"] != "low" and finding["id"] != wanted and finding["id"] not in allowed.split()
    print(f"{finding['severity']:6} {finding['id']} {finding['ranks']} {finding['hosts']}: {finding['what']} "
          f"{finding['cause']}{'   <-- not expected' if stray else ''}")
    good = (good or right) and not stray
sys.exit(not good)
PY
}

need_node
names=$(printf '%s\n' "$settings" | sed -n 's/ *|.*//p')
names=${*:-$names}

job() {
    local fault options
    fault=$(column "$1" 1)
    read -ra options <<<"$(column "$1" 5)"
    run "$1" --ranks 4 --hosts 2 --seed "${SIM_SEED:-0}" --checkpoint-every 0 ${fault:+--fault "$fault"} "${options[@]}"
}
# Short runs are judged by what NCCL logs, not by their times: two at once, since they mostly sleep.
is_short() { case $(column "$1" 5) in *"--steps 12"*) return 0 ;; *) return 1 ;; esac; }
running=0
for name in $names; do
    is_short "$name" || continue
    { job "$name" >"$scratch/$name.said" 2>&1; echo $? >"$scratch/$name.status"; } &
    running=$(((running + 1) % 2))
    [ "$running" -ne 0 ] || wait
done
wait
ran() { [ "$(cat "$scratch/$1.status")" -eq 0 ] || { cat "$scratch/$1.said"; false; }; }

for name in $names; do
    [ -n "$(column "$name" 2)" ] || { fail "no setting $name"; continue; }
    fault=$(column "$name" 1)
    if is_short "$name"; then
        ok "$name: the job runs and is recorded" ran "$name"
    else
        ok "$name: the job runs and is recorded" job "$name"
    fi
    ok "$name: ${fault:-nothing} is found" found "$name"
done
# The one fault with which the job cannot start.
if [ $# -eq 0 ]; then
    fails "full: the job ends" run full --ranks 4 --hosts 2 --fault shm-limit:rank=0
    "$TR" report --json "$scratch/full" >"$scratch/full.json"
    settings='full | | shm-limit | node-0 | slow-start |'
    ok "full: shm-limit is found" found full
fi
clean "nothing is left"
done_testing
