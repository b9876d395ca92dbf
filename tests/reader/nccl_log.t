#!/bin/sh
# NCCL logs as input: real reports (shared/cases) get the findings they must have and none they must not, and logs of
# our own show the same for each rule: hosts apart, only channels count, lines cut into each other, damage.
. "${0%/*}/../lib/tap.sh"
logs=$root/tests/reader/nccl

report() { "$TR" report --json "$1" >"$scratch/json"; }
ids() { "$PYTHON" -c 'import json,sys; print(" ".join(sorted({f["id"] for f in json.load(open(sys.argv[1]))["findings"]})))' "$scratch/json"; }
# Rows of the transports, one a line.
transports() {
    "$PYTHON" -c 'import json,sys
for t in json.load(open(sys.argv[1]))["transports"]:
    print(t["host"], t["peer_host"], t["kind"], t["channels"], t["gdr"], t["pxn"])' "$scratch/json"
}

report "$logs/fallback.log"
is "sockets between hosts: found, with the variable" "$(ids)" "harmful-env nccl-socket-fallback"
is "by host and peer" "$(transports)" "gpu1 gpu2 NET/Socket 2 False False
gpu2 gpu1 NET/Socket 1 False False"
report "$logs/one-host.log"
is "sockets within one host are no fall-back" "$(ids)" ""
report "$logs/cut.log"
is "lines cut into each other" "$(transports | sort)" "h1 h1 P2P 1 None None
h1 h1 SHM 1 None None
h2 None NET/My Net 1 True True"
report "$logs/two-groups.log"
is "numbers of two communicators of one size are not compared" "$(ids)" ""
"$TR" report --json - <"$logs/fallback.log" >"$scratch/json"
is "standard input" "$(ids)" "harmful-env nccl-socket-fallback"
cat "$logs/fallback.log" | "$TR" report --json - >"$scratch/json"
is "a pipe" "$(ids)" "harmful-env nccl-socket-fallback"
grep '^gpu1\|^NCCL' "$logs/fallback.log" >"$scratch/a.log"
grep '^gpu2' "$logs/fallback.log" >"$scratch/b.log"
"$TR" report --json "$scratch/a.log" "$scratch/b.log" >"$scratch/json"
is "a file for each rank" "$(transports)" "gpu1 gpu2 NET/Socket 2 False False
gpu2 gpu1 NET/Socket 1 False False"
"$TR" events "$logs/fallback.log" >"$scratch/events"
ok "as events" "$TR" events "$scratch/events"
"$TR" report --json "$scratch/events" >"$scratch/json"
is "and from these" "$(ids)" "harmful-env nccl-socket-fallback"
ok "in Chinese" "$TR" report --lang zh "$logs/fallback.log"
printf 'no NCCL here\n' >"$scratch/other.log"
fails "a log without NCCL is no input" "$TR" report "$scratch/other.log"

# 200 damaged ones: whatever was cut out or overwritten, a report comes, or one line that says why not.
damaged() {
    "$PYTHON" -c '
import random, subprocess, sys
trshim, scratch, *paths = sys.argv[1:]
random.seed(4)
for i in range(200):
    data = bytearray(open(random.choice(paths), "rb").read())
    for _ in range(random.randint(1, 12)):
        at, kind = random.randrange(len(data)), random.randrange(3)
        if kind == 0:
            data[at] = random.randrange(256)
        elif kind == 1:
            del data[at:at + random.randrange(1, 60)]
        else:
            data[at:at] = data[random.randrange(len(data)):][:random.randrange(60)]
        data = data or bytearray(b"\n")
    open(scratch + "/damaged.log", "wb").write(data)
    run = subprocess.run([trshim, "report", "--json", scratch + "/damaged.log"], capture_output=True)
    if run.returncode not in (0, 2) or b"Sanitizer" in run.stderr:
        sys.exit(f"{i}: status {run.returncode}: {run.stderr[-2000:]!r}")' "$TR" "$scratch" "$logs"/*.log
}
ok "200 damaged logs" damaged

cases=$root/../shared/cases
if [ -f "$cases/expect.json" ]; then
    expected() {
        "$PYTHON" -c '
import json, sys
want = json.load(open(sys.argv[1]))[sys.argv[2]]
findings = json.load(open(sys.argv[3]))["findings"]
ids, text = {f["id"] for f in findings}, json.dumps(findings)
wrong = ["none of %s" % want["any"]] if want["any"] and not ids & set(want["any"]) else []
wrong += [f"{i} is raised" for i in ids & set(want["none"])] + [f"{w} is not said" for w in want["say"] if w not in text]
sys.exit(f"{wrong}; raised: {sorted(ids)}" if wrong else 0)' "$cases/expect.json" "$1" "$scratch/json"
    }
    for log in "$cases"/logs/*; do
        report "$log"
        ok "${log##*/}" expected "${log##*/}"
    done
else
    skip "real reports" "no ../shared/cases here"
fi
done_testing
