# repeat.awk - makes golden inputs short: writes out what a *.events file says once.
#
#   @repeat 40 100ms      the lines up to @end, 40 times, each time 100 ms later
#   @end
#
# Times are in the first field, as a number with ns, us, ms or s, or a bare number of ns. {i} becomes 0, 1, 2, ... and
# {i*5ms} that many times 5 ms, {1s+i*5ms} the same from 1 s on. Everything else is copied.

function scale(unit) { return unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1 }
function ns(text,    number) {
    number = text
    sub(/[a-z]+$/, "", number)
    return number * scale(substr(text, length(number) + 1))
}

# The text with its {i*...} replaced for this i.
function counted(text, i,    before, inner, base) {
    while (match(text, /[{]([0-9.a-z]+[+])?i[*][0-9.a-z]+[}]/)) {
        before = substr(text, 1, RSTART - 1)
        inner = substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
        base = inner ~ /[+]/ ? ns(substr(inner, 1, index(inner, "+") - 1)) : 0
        text = before sprintf("%.0f", base + i * ns(substr(inner, index(inner, "*") + 1))) text
    }
    gsub(/[{]i[}]/, i, text)
    return text
}

/^@repeat / { times = $2; period = ns($3); body = 0; inside = 1; next }
/^@end/ {
    for (i = 0; i < times; i++)
        for (line = 0; line < body; line++) {
            text = counted(lines[line], i)
            if (match(text, /^[0-9.]+[a-z]*/))
                text = sprintf("%.0f", ns(substr(text, 1, RLENGTH)) + i * period) substr(text, RLENGTH + 1)
            print text
        }
    inside = 0
    next
}
inside { lines[body++] = $0; next }
{ print }
END { if (inside) { print "repeat.awk: @repeat without @end" > "/dev/stderr"; exit 1 } }
