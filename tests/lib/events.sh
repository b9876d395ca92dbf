# events.sh - what tests of the recorder need besides tap.sh. Source it after tap.sh.
#
#   record DIR CMD...   records CMD into DIR without a card; status is CMD's; what record says is in $scratch/record.err
#   named DIR           the trace as text with name ids resolved: name="..." and name2="..." hold the text
#   count DIR REGEX     how many such lines match

record() {
    record_dir=$1
    shift
    timeout -k 10 120 "$TR" record --no-report -o "$record_dir" -- "$@" 2>"$scratch/record.err"
}

named() {
    "$TR" events "$1" | awk '
        function field(key,   m) { return match($0, " " key "=[^ ]*") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) : "" }
        $3 == "name" { text = $0; sub(/^.* text=/, "", text); gsub(/^"|"$/, "", text); names[field("pid") " " field("id")] = text }
        $3 != "name" {
            for (k = 0; k < 2; k++) {
                key = k ? "name2" : "name"; id = field(key)
                if (id != "" && id != "0") sub(" " key "=[^ ]*", " " key "=\"" names[field("pid") " " id] "\"")
            }
            print
        }'
}

count() {
    named "$1" | grep -cE -- "$2" || :
}
