#!/bin/sh
# The recorded command behaves as if started alone: exit status, signals, streams, environment.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

status() { "$@" >"$scratch/out" 2>"$scratch/err"; echo $?; }

is "exit status 0" "$(status record -q --no-report -o "$scratch/a" -- true)" 0
is "exit status 7" "$(status record -q --no-report -o "$scratch/b" -- sh -c 'exit 7')" 7
is "killed by SIGTERM: so are we" "$(status record -q --no-report -o "$scratch/c" -- sh -c 'kill -TERM $$')" 143
is "killed by SIGSEGV: so are we" "$(status record -q --no-report -o "$scratch/d" -- sh -c 'kill -SEGV $$')" 139
is "no such program" "$(status record -q -o "$scratch/none" -- /nonexistent/x)" 127
is "no such program on PATH" "$(status record -q -o "$scratch/none" -- nonexistent-x)" 127
is "not executable" "$(status record -q -o "$scratch/none" -- /etc/passwd)" 126
is "a directory" "$(status record -q -o "$scratch/none" -- /etc)" 126
ok "a command that cannot run leaves no directory" test ! -e "$scratch/none"
printf '#!/nonexistent/interpreter\n' >"$scratch/script"
chmod +x "$scratch/script"
is "no interpreter" "$(status record -q -o "$scratch/e" -- "$scratch/script")" 127

is "wrong option" "$(status record --level most -- true)" 2
is "no command" "$(status record)" 2
ok "one line says what is wrong" grep -q "no command given" "$scratch/err"
mkdir "$scratch/other" && touch "$scratch/other/thesis.tex"
is "a directory with something else in it" "$(status record -o "$scratch/other" -- true)" 2
ok "and is told so" grep -q 'holds "thesis.tex"' "$scratch/err"

is "stdin, stdout and options after the command are the command's" \
    "$(echo in | record -q --no-report -o "$scratch/f" sh -c 'cat; echo "$0 $1"' --level -o 2>/dev/null)" "in
--level -o"
is "stdout is the command's alone" "$(record -o "$scratch/g" --no-report -- echo hello 2>/dev/null)" hello
is "the card goes to stderr" "$(record -o "$scratch/h" --no-report -- true 2>&1 >/dev/null | grep -c "trace *$scratch/h")" 1
is "a pipe behind us ends with the command" \
    "$(record -q --no-report -o "$scratch/i" -- sh -c 'sleep 0.1; echo x' | { cat; echo end; })" "x
end"
is "another preload stays, behind ours" \
    "$(LD_PRELOAD=libdl.so.2 record -q --no-report -o "$scratch/j" -- sh -c 'echo "$LD_PRELOAD"' | sed 's|.*/||; s/^libtrshim.so://')" libdl.so.2
is "ignored signals stay ignored" "$(trap '' HUP; record -q --no-report -o "$scratch/k" -- sh -c 'kill -HUP $$; echo alive')" alive

cat >"$scratch/fds.sh" <<'SH'
ls /proc/self/fd | tr '\n' ' ' >"$1"
SH
sh "$scratch/fds.sh" "$scratch/fds.alone" <&- 2>&-
record -q --no-report -o "$scratch/closed" -- sh "$scratch/fds.sh" "$scratch/fds" <&- 2>&-
is "descriptors that are closed stay so, and record works" "$? $(cat "$scratch/fds")" "0 $(cat "$scratch/fds.alone")"

# A signal sent to record alone reaches the command once. (From Python: a shell starts background jobs with SIGINT ignored.)
cat >"$scratch/send.py" <<'PY'
import os, signal, subprocess, sys
sig = getattr(signal, sys.argv[1])
job = f"trap 'echo got; n=$((n + 1))' {sys.argv[1][3:]}; n=0; echo ready; i=0; " \
      "while [ $i -lt 60 ] && [ $n = 0 ]; do sleep 0.05; i=$((i + 1)); done; sleep 0.2; exit $((n + 4))"
p = subprocess.Popen(sys.argv[2:] + ["sh", "-c", job], stdout=subprocess.PIPE, text=True,
                     preexec_fn=lambda: [signal.signal(s, signal.SIG_DFL) for s in (signal.SIGINT, signal.SIGQUIT)])
assert p.stdout.readline() == "ready\n"
os.kill(p.pid, sig)
out = p.stdout.read().split()
print(p.wait(), *out)
PY
for sig in TERM INT HUP QUIT USR1 USR2; do
    is "SIG$sig is passed on once, and the command's answer is ours" \
        "$(TRSHIM_CORE='' "$PYTHON" "$scratch/send.py" SIG$sig "$TR" record -q --no-report -o "$scratch/s$sig")" "5 got"
done

if has_pty; then
# Ctrl-C twice, as a terminal sends it: to the whole process group.
cat >"$scratch/terminal.py" <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
for word in (b"ready", b"got 1"):
    while word not in seen:
        seen += os.read(fd, 1000)
    os.write(fd, b"\x03")
try:
    while more := os.read(fd, 1000):
        seen += more
except OSError:
    pass
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), "got", seen.count(b"got"))
PY
is "Ctrl-C twice on a terminal: the command gets each once, its exit status is ours" \
    "$(TRSHIM_CORE='' "$PYTHON" "$scratch/terminal.py" "$TR" record -o "$scratch/tty" --no-report -- \
        sh -c 'n=0; trap "n=\$((n + 1)); echo got \$n; [ \$n = 1 ] || exit 7" INT; echo ready; while :; do sleep 0.2; done')" \
    "status 7 got 2"
ok "and says where the trace is" test -s "$scratch"/tty/*/session.json
is "which ended in good order" "$(grep -c '"state": "ended"' "$scratch"/tty/*/session.json)" 1
# Ctrl-Z stops both, as one job; fg goes on.
cat >"$scratch/suspend.py" <<'PY'
import os, pty, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
while b"ready" not in seen:
    seen += os.read(fd, 1000)
job = int(seen.split(b"ready ")[1].split()[0])
# A session leader's group is orphaned, and there the kernel ignores the terminal's stop: send what it would send.
os.killpg(pid, signal.SIGSTOP)
state = lambda p: open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[0]
time.sleep(0.3)
# D: the shell was caught inside vfork, and waits for a child that is stopped itself.
stopped = state(pid) + state(job).replace("D", "T")
os.killpg(pid, signal.SIGCONT)
try:
    while os.read(fd, 1000):
        pass
except OSError:
    pass
print(stopped, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), os.getpgid(os.getpid()) != pid)
PY
is "one process group: stopped and continued together" \
    "$(TRSHIM_CORE='' "$PYTHON" "$scratch/suspend.py" "$TR" record -q -o "$scratch/z" --no-report -- \
        sh -c 'echo "ready $$"; sleep 1; exit 4')" "TT 4 True"
else
    skip "Ctrl-C and Ctrl-Z on a terminal" "no pty devices here"
fi
clean "nothing is left behind"
done_testing
