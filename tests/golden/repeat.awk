# repeat.awk - makes golden inputs short: writes out what a *.events file says once.
#
#   @repeat 40 100ms      the lines up to @end, 40 times, each time 100 ms later
#   @end
#
# Times are in the first field, as a number with ns, us, ms or s, or a bare number of ns. {i} becomes 0, 1, 2, ...
# Everything else is copied.

function scale(unit) { return unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1 }
function ns(text,    number) {
    number = text
    sub(/[a-z]+$/, "", number)
    return number * scale(substr(text, length(number) + 1))
}

/^@repeat / { times = $2; period = ns($3); body = 0; inside = 1; next }
/^@end/ {
    for (i = 0; i < times; i++)
        for (line = 0; line < body; line++) {
            text = lines[line]
            gsub(/[{]i[}]/, i, text)
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
