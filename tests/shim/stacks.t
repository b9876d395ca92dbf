#!/bin/bash
# The Python frames of a thread that stands in a call, in every CPython that is here: right functions, files and lines.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/events.sh"
command -v lttng-sessiond >/dev/null || skip_all "lttng-sessiond is not installed (make deps)"
job=$root/tests/shim/stacks.py

line() { grep -n "# $1\$" "$job" | cut -d : -f 1; }
# frames PYTHON WHAT: "function:line ..." of the first stack that stands in a read, innermost first
frames() {
    rm -rf "$scratch/run.$2"
    record "$scratch/run.$2" env TRSHIM_HANG_S=1 "$1" "$job" "$2" 2.5 >"$scratch/out.$2" 2>&1
    "$TR" events --kind=stack "$scratch/run.$2" | grep -E "${3:-.}" | sed -n 's/.* frames="\(.*\)"$/\1/p' | head -n 1 |
        sed 's/; /\n/g' | grep -v listcomp | sed 's/^\(.*\.\)\{0,1\}\([^. ]*\) (.*stacks.py:\([0-9]*\))$/\2:\3/' | tr '\n' ' '
}
read_=__getitem__:$(line READS) main="<module>:$(line 'CALLS MAIN') "

for python in "$PYTHON" python3.8 python3.9 python3.10 python3.12 python3.13 python3.14 $STACK_PYTHONS; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    case " $seen " in *" $version "*) continue ;; esac
    seen="$seen $version"
    frames "$python" generator >"$scratch/$version.generator" &
    frames "$python" c >"$scratch/$version.c"
    wait
    is "$version: a read under a generator" "$(cat "$scratch/$version.generator")" \
        "$read_ generator:$(line 'FROM A GENERATOR') main:43 $main"
    got=$(cat "$scratch/$version.c") # up to 3.9 a call of several lines is at its last argument
    is "$version: a read in C" "$(echo "$got" | sed "s/in_c:$(line 'IN C')/in_c:$(($(line 'IN C') - 1))/") " "in_c:$(($(line 'IN C') - 1)) main:45 $main "
done

is "a thread of its own" "$(frames "$PYTHON" thread __getitem__ | cut -d ' ' -f 1)" "$read_"
done_testing
