# torchjob.sh - record and judge examples/torch_train.py. Source it after tap.sh (bash).
#
#   train            the example's command, as words
#   DATA             its small data set, made once per test by make_data
#   need_recorder    skips the whole test, with the reason, where torch or the recorder is not there
#   make_data        prepares DATA
#   record DIR ...   trshim record -o DIR with the rest of its options and the command; output to DIR.log
#   report DIR       trshim report --json DIR into DIR.json
#   judge ...        check_truth.py
#   wait_for SECONDS CMD...   tries CMD until it succeeds

train=("$PYTHON" "$root/examples/torch_train.py")
DATA=$scratch/data
data_options=(--data-dir "$DATA" --samples 3072)

need_recorder() {
    "$PYTHON" -c 'import torch, numpy' 2>/dev/null || skip_all "no torch for $PYTHON (Debian: python3-torch)"
    [ -x "$TR" ] || skip_all "no $TR: run make"
    [ -e "$O/libtrshim.so" ] && [ -e "$O/libtrshim-core.so" ] || skip_all "no libtrshim.so in $O: run make"
}

make_data() {
    local kind
    for kind in files packed; do
        "${train[@]}" --prepare "${data_options[@]}" --data "$kind" --delay-kind read || return
    done
}

record() {
    local dir=$1
    shift
    "$TR" record -o "$dir" "$@" >"$dir.log" 2>&1
}

report() { "$TR" report --json "$1" >"$1.json"; }

judge() { "$PYTHON" "$root/tests/e2e/check_truth.py" "$@"; }

wait_for() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.1
    done
}
