#!/bin/bash
# What `trshim report` does around the report: options, exit status, errors on one line, languages, terminals.

. "${0%/*}/../lib/tap.sh"
golden=$root/tests/golden
unset NO_COLOR COLUMNS LC_ALL LC_MESSAGES LANG
export LC_ALL=C.UTF-8

for name in storage-slow healthy marks; do
    awk -f "$golden/repeat.awk" "$golden/$name.events" >"$scratch/$name.events"
done
slow=$scratch/storage-slow.events healthy=$scratch/healthy.events

status() { "$@" >"$scratch/stdout" 2>"$scratch/stderr"; echo $?; }
lines() { wc -l <"$scratch/$1" | tr -d ' '; }

# ---- exit status
is "a report: 0" "$(status "$TR" report "$slow")" 0
is "nothing on stderr" "$(lines stderr)" 0
is "--fail-on high, and there is one: 1" "$(status "$TR" report --fail-on high "$slow")" 1
is "the report is there all the same" "$(grep -c '^VERDICT' "$scratch/stdout")" 1
is "--fail-on low, and there is none: 0" "$(status "$TR" report --fail-on low "$healthy")" 0

# ---- errors: one line, status 2, nothing on stdout
while IFS='|' read -r what want arguments; do
    is "$what: 2" "$(eval "status \"\$TR\" report $arguments")" 2
    is "$what: one line" "$(lines stderr)" 1
    is "$what: stdout is empty" "$(lines stdout)" 0
    ok "$what: says what" grep -q -- "$want" "$scratch/stderr"
done <<END
no path|No trace given|
a path that is not there|/nonexistent/run|/nonexistent/run
an unknown severity|low, medium and high|--fail-on grave $slow
an unknown language|en and zh|--lang fr $slow
steps of no kind|nvtx:REGEX|--steps kernels $slow
a bad expression|nvtx:(|--steps 'nvtx:(' $slow
END
is "a full disk: 2" "$("$TR" report "$slow" >/dev/full 2>"$scratch/stderr"; echo $?)" 2
is "a full disk: one line" "$(lines stderr)" 1

# ---- what can be read is reported
{ cat "$healthy"; echo "7s node-a this is no event"; } >"$scratch/damaged.events"
is "a damaged input: 0" "$(status "$TR" report "$scratch/damaged.events")" 0
ok "its steps are there" grep -q '40 steps' "$scratch/stdout"
ok "and what was not readable" grep -q '^incomplete.*damaged.events' "$scratch/stdout"

# ---- options
ok "--list-passes" grep -q '^steps ' <("$TR" report --list-passes)
is "--steps optimizer although there are marks" \
    "$("$TR" report --steps optimizer --json "$scratch/marks.events" | "$PYTHON" -c 'import json,sys; print(json.load(sys.stdin)["steps"]["method"])')" optimizer
is "--json: stdout is JSON and nothing else" "$("$TR" report --json "$slow" | "$PYTHON" -c 'import json,sys; print(json.load(sys.stdin)["schema"])')" trshim-report/1

# ---- languages and character sets
ok "--lang zh" grep -q '^结论' <("$TR" report --lang zh "$slow")
ok "LC_ALL=zh_CN.UTF-8" grep -q '^结论' <(LC_ALL=zh_CN.UTF-8 "$TR" report "$slow")
ok "LANG=zh_CN.UTF-8 but LC_MESSAGES=en_US.UTF-8" grep -q '^VERDICT' <(env -u LC_ALL LANG=zh_CN.UTF-8 LC_MESSAGES=en_US.UTF-8 "$TR" report "$slow")
is "LC_ALL=C: ASCII only" "$(LC_ALL=C "$TR" report "$slow" | LC_ALL=C grep -c '[^ -~]')" 0

# ---- terminals
# on_terminal COMMAND...: its output on a terminal of 120 columns
on_terminal() {
    "$PYTHON" - "$@" <<'END'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
out = b""
try:
    while chunk := os.read(fd, 65536):
        out += chunk
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.buffer.write(out.replace(b"\r\n", b"\n"))
END
}
escape=$(printf '\033')
export TERM=xterm
if has_pty; then
    ok "a terminal gets colours" grep -q "$escape" <(on_terminal "$TR" report "$slow")
    is "unless NO_COLOR" "$(NO_COLOR=1 on_terminal "$TR" report "$slow" | grep -c "$escape")" 0
    is "or TERM=dumb" "$(TERM=dumb on_terminal "$TR" report "$slow" | grep -c "$escape")" 0
    is "lines fit the terminal" "$(NO_COLOR=1 LC_ALL=C on_terminal "$TR" report "$slow" | awk 'length > 120' | wc -l)" 0
else
    skip "colours and width of a terminal" "no pty devices here"
fi
is "a pipe gets none" "$("$TR" report "$slow" | grep -c "$escape")" 0
is "lines fit COLUMNS" "$(COLUMNS=60 LC_ALL=C "$TR" report "$slow" | awk 'length > 60' | wc -l)" 0
done_testing
