#!/bin/sh
# trshim doctor: tries what recording needs, names what is missing, and says the same as recording does.
. "${0%/*}/../lib/tap.sh"
. "${0%/*}/../lib/session.sh"
need_lttng

ok "recording works here, says doctor" saying "$TR" doctor "$PYTHON"
ok "by a session that ran" grep -q '^ok *session .*private session daemon runs here' "$scratch/said"
ok "with the preload" grep -q '^ok *preload' "$scratch/said"
ok "and Python in it" grep -q '^ok *python .*is recorded' "$scratch/said"
is "no line fails" "$(grep -c ^fail "$scratch/said")" 0

LTTNG_SESSIOND_PATH=/nonexistent saying "$TR" doctor "$PYTHON"
is "without lttng-sessiond recording cannot work" $? 1
ok "and doctor names the package" grep -q 'fix: apt-get install lttng-tools' "$scratch/said"
LTTNG_SESSIOND_PATH=/nonexistent saying record -o "$scratch/none" -- true
is "record says so too, and does not run the command" "$? $(grep -c 'apt-get install lttng-tools' "$scratch/said")" "2 1"
ok "and leaves nothing" test ! -e "$scratch/none"

printf '#!/bin/sh\nexit 3\n' >"$scratch/python" && chmod +x "$scratch/python"
saying "$TR" doctor "$scratch/python"
is "a Python that fails is told" "$? $(grep -c '^fail *python' "$scratch/said")" "1 1"
saying "$TR" doctor "$scratch/no-such-python"
is "a Python that is not there is no obstacle" "$? $(grep -c '^note *python' "$scratch/said")" "0 1"
clean "nothing is left behind"
done_testing
