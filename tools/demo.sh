#!/bin/sh
# demo.sh - `make demo`: a real PyTorch job whose data set is too slow for it, recorded and reported on. O and PYTHON
# come from make. Takes about half a minute; leaves the trace for a closer look and says where.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
O=${O:-$root/build} PYTHON=${PYTHON:-/usr/bin/python3}
run=$O/demo

"$PYTHON" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' || {
    echo "demo: $PYTHON has no torch, and this is a demonstration on PyTorch." >&2
    echo "demo: install python3-torch, or name a Python that has it: make demo PYTHON=/path/to/python3" >&2
    exit 1
}
rm -rf "$run"

# A healthy job but for one thing: every sample takes 20 ms to fetch, which two workers cannot hide.
set -- "$PYTHON" "$root/examples/torch_train.py" --steps 40 --workers 2 --delay 20ms --delay-kind sleep
echo "\$ trshim record --no-report -o $run -- $*"
"$O/trshim" record --no-report -o "$run" -- "$@"
echo
echo "\$ trshim report $run"
"$O/trshim" report "$run"
