#!/bin/bash
# The profiler plugin with the real core: under the preload, and alone, as in a process whose NCCL is static. What it
# tells of 2 ranks with 25 all-reduces each is in the trace, in every version of NCCL's interface.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
export LTTNG_UST_REGISTER_TIMEOUT=10000 # on a busy machine too, what is wanted is known when the job begins
command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
job=$O/tests/plugin/nccl_job plugin=$O/libnccl-profiler-trshim.so

# How many of each kind, and the sum of what they say.
summary() {
    "$TR" events "$1" | awk '
        function field(key) { return match($0, " " key "=[^ ]*") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) : "" }
        $3 == "coll" { calls[field("op") " type=" field("type") " count=" field("count") " algo=" field("algo") " proto=" field("proto") " how=" field("how")]++
                       if (seen[field("nr") " " field("ordinal")]++) twice++ }
        $3 == "nccl_proxy" { proxies[field("op") " " field("way") " channels=" field("channels")]++ }
        $3 == "nccl_comm" && field("state") == "made" { comm[field("rank") " of " field("nranks") " id=" field("id") " nodes=" field("nodes") " " field("name")] = 1 }
        END { for (k in calls) print "call", k, calls[k]; for (k in proxies) print "proxy", k, proxies[k]
              for (k in comm) print "comm", k; if (twice) print "told twice", twice }' | sort
}

want='call AllReduce type=7 count=1000 algo=Ring proto=Simple how=2 50
comm 0 of 2 id=1311768467294899695 nodes=2 dp0
comm 1 of 2 id=1311768467294899695 nodes=2 dp0
proxy AllReduce receive channels=2 50
proxy AllReduce send channels=2 50'

for v in 3 4 5 6 7; do
    # Before version 4 the communicator tells of itself with its first call, without how large it is.
    here=$want
    [ $v -gt 3 ] || here=$(printf '%s\n' "$want" | sed -e 's/^comm \(.\) .*/comm \1 of -1 id=12648430 nodes=0 by-name/')
    record "$scratch/with$v" "$job" $v 25 >"$scratch/out"
    is "v$v under the preload: the job's status" "$?" 0
    is "v$v under the preload" "$(summary "$scratch/with$v" | grep -v -e '^comm . of -1 id=0')" "$here"
    record "$scratch/alone$v" env -u LD_PRELOAD "$job" $v 25 >"$scratch/out"
    is "v$v alone: the job's status" "$?" 0
    is "v$v alone" "$(summary "$scratch/alone$v" | grep -v -e '^comm . of -1 id=0')" "$here"
done

record "$scratch/reload" "$job" 5 25 reload threads >"$scratch/out"
is "closed and loaded again, ranks at once: the job's status" "$?" 0
is "closed and loaded again, ranks at once" "$(summary "$scratch/reload" | sed -n 's/^call .* //p')" 100

record "$scratch/quick" env -u LD_PRELOAD "$job" 6 25 quick >"$scratch/out"
is "left without destroying the communicators" "$(summary "$scratch/quick")" "$want"

for how in with alone; do
    record "$scratch/forks-$how" env $([ $how = with ] || echo -u LD_PRELOAD) timeout 30 "$job" 6 25 forks >"$scratch/out"
    is "a fork child, $how: the job's status" "$?" 0
    is "a fork child, $how: its parent's calls, none of its own" "$(summary "$scratch/forks-$how")" "$want"
    is "a fork child, $how: each process ends once" "$("$TR" events "$scratch/forks-$how" | grep -o ' exit pid=[0-9]*' | sort | uniq -d)" ""
    is "a fork child, $how: one process calls NCCL" "$("$TR" events "$scratch/forks-$how" | grep -o ' coll pid=[0-9]*' | sort -u | wc -l)" 1
done

# What NCCL is asked for follows the level; nothing is asked for while nobody listens.
mask() { timeout 60 "$TR" record --no-report --level "$1" -o "$scratch/level-$1" -- env ${2:+"$2"} "$job" 6 2 2>/dev/null; }
is "level light asks NCCL for nothing" "$(mask light)" "mask 0"
is "level standard asks for calls, launches and proxy work" "$(mask standard)" "mask 0x160e"
rm -rf "$scratch/level-full"
is "level full asks for its steps" "$(mask full)" "mask 0x161e"
rm -rf "$scratch/level-full"
is "channels on request" "$(mask full TRSHIM_NCCL_KERNELCH=1)" "mask 0x165e"
is "without a session NCCL is asked for nothing" "$(TRSHIM_HOME=$scratch/home NCCL_PROFILER_PLUGIN=$plugin "$job" 6 2)" "mask 0"
is "without the core the job goes on" "$(TRSHIM_CORE='' NCCL_PROFILER_PLUGIN=$plugin "$job" 6 2)" "mask 0"

# A job that only has the plugin, in a session of `trshim start`: neither record nor the preload is in it.
export TRSHIM_HOME=$scratch/meet
said=$("$TR" start -o "$scratch/started")
is "start says what to run with" "$(printf '%s\n' "$said" | grep -o 'NCCL_PROFILER_PLUGIN=.*')" "NCCL_PROFILER_PLUGIN=$plugin"
is "with start alone: the job's masks" "$(LTTNG_UST_REGISTER_TIMEOUT=5000 NCCL_PROFILER_PLUGIN=$plugin timeout 60 "$job" 6 25)" "mask 0x160e"
"$TR" stop >"$scratch/out" 2>&1
is "with start alone: what it tells" "$(summary "$scratch/started")" "$want"
unset TRSHIM_HOME

# record sets it, and leaves what the user wants none of.
echo 'echo "$NCCL_PROFILER_PLUGIN $TRSHIM_NCCL_CHAIN"' >"$scratch/say.sh"
is "record names the plugin" "$(record "$scratch/s1" sh "$scratch/say.sh")" "$plugin "
is "record keeps the user's" "$(NCCL_PROFILER_PLUGIN=mine record "$scratch/s2" sh "$scratch/say.sh")" "$plugin mine"
is "record respects none" "$(NCCL_PROFILER_PLUGIN=none record "$scratch/s3" sh "$scratch/say.sh")" "none "
done_testing
