#!/bin/sh
# What make_trace writes as CTF comes back through babeltrace2 as the same events, however it was cut into streams,
# packets and chunks.
. "${0%/*}/../lib/tap.sh"

make_trace=$O/tests/reader/make_trace
sample=$root/tests/reader/sample.events
nr_events=$(grep -c "^[0-9]" "$sample")

same() { diff -u "$1" "$2"; }
through() { # what options input: one check
    what=$1 options=$2 input=$3
    rm -rf "$scratch/trace"
    # shellcheck disable=SC2086
    "$make_trace" $options "$scratch/trace" <"$input" && "$TR" events "$scratch/trace" >"$scratch/got"
    ok "$what" same "$input" "$scratch/got"
}

ok "text is read and printed" "$TR" events "$sample"
"$TR" events "$sample" >"$scratch/sample"
"$TR" events "$scratch/sample" >"$scratch/again"
ok "printing what was printed changes nothing" same "$scratch/sample" "$scratch/again"
is "every kind of event is in the sample" "$(grep '^[0-9]' "$scratch/sample" | cut -d' ' -f3 | sort -u)" \
    "$(sed -n 's/^EVENT([A-Z]*, [A-Z]*, \([a-z_]*\),.*/\1/p' "$root/traces/events.def" | grep -vx kernels | sort)" # shown as kernel: kernel-batches.t

through "one CPU" "" "$scratch/sample"
through "four CPUs" "--cpus 4" "$scratch/sample"
through "small packets" "--cpus 2 --packet 512" "$scratch/sample"
through "no index" "--cpus 2 --no-index" "$scratch/sample"
through "a chunk per event" "--cpus 2 --rotate 1" "$scratch/sample"

"$make_trace" --generate 30000 "$scratch/job"
"$TR" events "$scratch/job" | sed 's/^host node-a.*/host node-a boot=boot epoch_ns=7/' \
    >"$scratch/job.events"
is "nothing is lost of many" "$(grep -c '^[0-9]' "$scratch/job.events")" 30000
through "many events" "--cpus 3" "$scratch/job.events"
through "many events in chunks" "--cpus 3 --rotate 7000 --packet 8192" "$scratch/job.events"

is "one channel" "$("$TR" events --channel=state "$scratch/trace" | grep -c '^[0-9]')" 1
is "one kind" "$("$TR" events --kind=wait "$scratch/trace" | grep '^[0-9]' | grep -vc ' wait ')" 0
"$make_trace" --cpus 2 "$scratch/sampled" <"$sample"
is "one rank" "$("$TR" events --rank=1 "$scratch/sampled" | grep '^[0-9]' | cut -d' ' -f2 | sort -u)" node-b
is "one process" "$("$TR" events --pid=20 "$scratch/sampled" | grep -c '^[0-9]')" 4
is "head ends it quietly" "$("$TR" events "$scratch/trace" 2>&1 | head -n 1)" "#! trshim-events 1"
is "two inputs at once" "$("$TR" events "$scratch/sampled" "$scratch/sample" | grep -c '^[0-9]')" $((2 * nr_events))
is "standard input" "$("$TR" events - <"$scratch/sample" | grep -c '^[0-9]')" "$nr_events"
is "a pipe" "$("$TR" events "$scratch/sampled" | "$TR" events - | grep -c '^[0-9]')" "$nr_events"
done_testing
