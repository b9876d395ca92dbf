#!/bin/sh
# demo.sh - `make demo` and `make demo-torch`: a job with something wrong, recorded and reported on, in half a minute. The
# trace stays for a closer look. O and PYTHON come from make.
#
#   demo.sh          eight ranks on two hosts of the simulated node: InfiniBand is switched off on one, and rank 5's data
#                    come late. Needs no GPU and no PyTorch
#   demo.sh torch    a real PyTorch job on this machine's CPUs, whose data set is too slow for it
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
O=${O:-$root/build} PYTHON=${PYTHON:-/usr/bin/python3}

# show RUN COMMAND...: record it, report on it, and say how
show() {
    run=$1
    shift
    rm -rf "$run"
    echo "\$ trshim record --no-report -o $run -- $*"
    "$O/trshim" record --no-report -o "$run" -- "$@"
    echo
    echo "\$ trshim report $run"
    "$O/trshim" report "$run"
}

case ${1:-sim} in
sim)
    # Few gradients, or the sockets would hide everything else.
    show "$O/demo" "$O/examples/simtrain" --ranks 8 --hosts 2 --steps 40 --gradient-mb 6 \
        --fault nccl-socket-fallback --fault dataloader-bound:rank=5:size=4
    ;;
torch)
    "$PYTHON" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' || {
        echo "demo: $PYTHON has no torch, and this is a demonstration on PyTorch; \`make demo\` does without." >&2
        echo "demo: install python3-torch, or name a Python that has it: make demo-torch PYTHON=/path/to/python3" >&2
        exit 1
    }
    # Healthy but for one thing: every sample takes 20 ms to fetch, which two workers cannot hide.
    show "$O/demo-torch" "$PYTHON" "$root/examples/torch_train.py" --steps 40 --workers 2 --delay 20ms --delay-kind sleep
    ;;
*)
    echo "usage: demo.sh [sim|torch]" >&2
    exit 2
    ;;
esac
