#!/bin/sh
# man.sh TRSHIM - prints trshim(1), made from what the program says of itself (--help) and from the table of
# environment variables, so that the page cannot disagree with either.
set -eu
trshim=$1
root=$(cd "$(dirname "$0")/.." && pwd)

# Text as roff shows it: backslashes and leading dots mean something there.
verbatim() { sed -e 's/\\/\\e/g' -e 's/^\([.'\'']\)/\\\&\1/' -e 's/-/\\-/g'; }

environment() {
    printf '#define ENV(name, value, help) @name|value|help@\n#include "traces/environment.def"\n' |
        "${CC:-cc}" -E -P -I"$root" - |
        sed -n 's/^@ *\(.*\) *@$/\1/p' | tr -d '"' |
        while IFS='|' read -r name value help; do
            printf '.TP\n.B %s\n' "$name"
            printf '%s%s\n' "$help" "${value:+ (default: $value)}" | verbatim
        done
}

cat <<'ROFF'
.TH TRSHIM 1 "" "trshim" "User Commands"
.SH NAME
trshim \- say why a training job is slow, hung or out of memory, from outside
.SH SYNOPSIS
.B trshim
.I COMMAND
.RI [ OPTION... ]
.RI [ ARGUMENT... ]
.SH DESCRIPTION
Records what a training job does, without a change to the job, and reports per step and rank where the time went,
with a ranked list of findings: what, evidence, cause, fix.
.PP
.nf
  trshim record \-o run1 \-\- python3 train.py
  trshim report run1
.fi
.SH COMMANDS
ROFF

"$trshim" --help | awk '/^  [a-z]+ +[A-Za-z]/ && $1 != "trshim" { print $1 }' | while read -r command; do
    printf '.SS %s\n.nf\n' "$command"
    COLUMNS=80 ARGP_HELP_FMT=rmargin=78 "$trshim" "$command" --help </dev/null | verbatim
    printf '.fi\n'
done

echo .SH ENVIRONMENT
environment
cat <<'ROFF'
.SH EXIT STATUS
.B record
exits as its command did: the command's own status, the same signal if one ended it, 127 if it was not found, 126 if it
could not be run. Other commands: 0, or 2 for an error, of which one line is printed;
.B report \-\-fail\-on
exits 1 when a finding of that severity or above was raised.
.SH SEE ALSO
.BR babeltrace2 (1),
.BR lttng (1)
ROFF
