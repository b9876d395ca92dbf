# golden.sh - how a golden input becomes output; shared by golden.t and bless.sh, which must not differ in it.
#
#   NAME.events        events as text (analysis/input/text_form.h), with repeat.awk's abbreviation
#   NAME.expect        the text report;  NAME.zh.expect  in Chinese;  NAME.json.expect  as JSON
# The last two exist for some inputs only. What is compared is exact: the same events give the same report.

# golden_run NAME KIND: prints the report. The input is called NAME.events in it, wherever the test runs.
golden_run() {
    case $2 in
    expect) set -- "$1" --text --lang en ;;
    zh.expect) set -- "$1" --text --lang zh ;;
    json.expect) set -- "$1" --json --lang en ;;
    esac
    awk -f "$golden/repeat.awk" "$golden/$1.events" >"$scratch/$1.events" || return
    (
        cd "$scratch" || exit
        name=$1
        shift
        env -u NO_COLOR -u COLUMNS LC_ALL=C.UTF-8 "$TR" report "$@" "$name.events"
    )
}
