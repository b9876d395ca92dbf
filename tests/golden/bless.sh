#!/bin/bash
# bless.sh [NAME[.KIND]...] - writes what golden.t expects from what trshim says now; look at the difference before you
# commit it. NAME.json or NAME.zh makes that expectation too; without names, all that exist are written again.

golden=$(cd "${0%/*}" && pwd)
root=${golden%/tests/golden}
O=${O:-$root/build} TR=${TR:-$O/trshim}
scratch=$(mktemp -d) || exit
trap 'rm -rf "$scratch"' EXIT
. "$golden/golden.sh"

bless() { golden_run "$1" "$2" >"$scratch/out" && cp "$scratch/out" "$golden/$1.$2" || echo "failed: $1.$2" >&2; }

if [ $# -eq 0 ]; then
    for events in "$golden"/*.events; do
        name=$(basename "$events" .events)
        for kind in expect zh.expect json.expect; do
            [ "$kind" != expect ] && [ ! -e "$golden/$name.$kind" ] || bless "$name" "$kind"
        done
    done
else
    for name; do
        case $name in
        *.json) bless "${name%.json}" json.expect ;;
        *.zh) bless "${name%.zh}" zh.expect ;;
        *) bless "$name" expect ;;
        esac
    done
fi
cd "$golden" && git --no-pager diff --stat -- . 2>/dev/null
