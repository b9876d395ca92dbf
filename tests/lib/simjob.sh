# simjob.sh - record and judge examples/simtrain on the simulated node. Source it after tap.sh (bash).
#
#   need_node         skips the whole test, with the reason, where simtrain or the recorder is not there
#   run NAME ARG...   records simtrain with --truth and these arguments and reports on it: NAME, NAME.truth, NAME.json in
#                     $scratch. `cuda=12 run ...` takes the job that is built for CUDA 12's libraries
#   judge NAME ...    check_sim_truth.py on that report and truth

simtrain=$O/examples/simtrain

need_node() {
    [ -x "$simtrain" ] && [ -x "$simtrain-cuda12" ] || skip_all "no simtrain in $O/examples: run make"
    [ -e "$O/libtrshim.so" ] && [ -e "$O/libtrshim-core.so" ] || skip_all "no libtrshim.so in $O: run make"
    command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
}

run() {
    local name=$1 job=$simtrain
    shift
    [ "${cuda:-13}" = 13 ] || job=$simtrain-cuda$cuda
    TMPDIR=$scratch "$TR" record -o "$scratch/$name" --no-report -- "$job" --truth "$scratch/$name.truth" "$@" &&
        "$TR" report --json "$scratch/$name" >"$scratch/$name.json"
}

judge() {
    local name=$1
    shift
    "$PYTHON" -B "$root/tests/e2e/check_sim_truth.py" "$@" "$scratch/$name.json" "$scratch/$name.truth"
}
