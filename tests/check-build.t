#!/bin/sh
# The build itself: nothing to do is nothing done, a changed table rebuilds its users, install is complete.
. "${0%/*}/lib/tap.sh"
cd "$root" || exit 1
# make's own variables must not leak into the makes below.
unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES

is "nothing changed, nothing done" "$(make -s O="$O" all 2>&1)" ""
ok "a change of events.def would rebuild schema.o" sh -c \
    "make -n -W traces/events.def O='$O' all | grep -q 'schema\.c'"
ok "a change of events.def would rebuild the provider" sh -c \
    "make -n -W traces/events.def O='$O' all | grep -q 'tp_trshim\.c'"

make -s O="$O" DESTDIR="$scratch/stage" PREFIX=/usr install >"$scratch/log" 2>&1 || note "$(cat "$scratch/log")"
for file in bin/trshim lib/trshim/libtrshim.so lib/trshim/libtrshim-core.so include/trshim.h \
    share/man/man1/trshim.1 share/bash-completion/completions/trshim; do
    ok "install: /usr/$file" test -e "$scratch/stage/usr/$file"
done
is "installed program runs" "$("$scratch/stage/usr/bin/trshim" --version)" "$("$TR" --version)"
make -s O="$O" DESTDIR="$scratch/stage" PREFIX=/usr uninstall >"$scratch/log" 2>&1 || note "$(cat "$scratch/log")"
is "uninstall leaves no file" "$(find "$scratch/stage" -type f)" ""

ok "deps.sh --check finds what is here" tools/deps.sh --check

# A machine without the libraries, as far as pkg-config says.
mkdir "$scratch/bin"
printf '#!/bin/sh\nexit 1\n' >"$scratch/bin/pkg-config"
chmod +x "$scratch/bin/pkg-config"
fails "deps.sh --check fails where a library is missing" env PATH="$scratch/bin:$PATH" tools/deps.sh --check
is "and names the package" \
    "$(PATH="$scratch/bin:$PATH" tools/deps.sh --check 2>&1 | grep -c 'liblttng-ust-dev.*make deps')" 1
fails "make stops there" env PATH="$scratch/bin:$PATH" make -s O="$scratch/build" all
ok "bash completion is valid" bash -n tools/trshim.bash-completion
done_testing
