#!/bin/bash
# What check-torch-cuda needs, in $O/torch-cuda: a venv with the wheel of PyPI and NumPy, without NVIDIA's packages, and
# libraries in place of those the simulated node lacks. TORCH_PYTHON=PATH: a Python that has such a wheel already.
set -eu
cd "${0%/*}/../.."
dir=$O/torch-cuda version=2.6.0
mkdir -p "$dir/lib"
python=${TORCH_PYTHON:-$dir/venv/bin/python}
if [ -z "${TORCH_PYTHON:-}" ] && [ ! -e "$dir/venv/complete" ]; then
    "$PYTHON" -m venv "$dir/venv"
    "$python" -m pip install -q --no-deps "torch==$version"
    "$python" -m pip install -q numpy filelock fsspec jinja2 networkx sympy typing_extensions
    touch "$dir/venv/complete"
fi
printf '%s\n' "$python" >"$dir/python"
torch=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])')
for lib in "$O"/sim/*.so*; do # not PyTorch's own
    case ${lib##*/} in libc10*) ;; *) ln -sf "$lib" "$dir/lib/" ;; esac
done
"$python" tests/torch-cuda/stubs.py "$torch/lib" "$O/sim" "$dir/lib" | while read -r soname source; do
    printf '%s { global: *; };\n' "$soname" >"$source.map"
    ${CC:-gcc} -I. -shared -fPIC -w -o "$dir/lib/$soname" "$source" -Wl,-soname,"$soname" -Wl,--version-script="$source.map" \
        "$O/sim/libsimnode.so" -Wl,-rpath,"$O/sim"
done
