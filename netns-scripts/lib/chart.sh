# shellcheck shell=bash
# Charts of what is in JSON files.

# lines FILE FILTER [OPTION]...: what jq makes of the file, if there is one, without missing
# measurements.
lines() {
    [[ ! -e $1 ]] || jq -r "${@:3}" "$2" "$1" | grep -v null || true
}

# chart FILE TITLE X Y [OPTION]...: draws the lines "SERIES<tab>X<tab>Y" of standard input, with
# options of awk for chart.awk. The horizontal axis is logarithmic. Without measurements there is no
# chart.
chart() {
    local drawn
    # shellcheck disable=SC2154 # the script that sources this has it
    ! drawn=$(awk -v title="$2" -v xlabel="$3" -v ylabel="$4" -v logx=1 "${@:5}" \
        -f "$here/lib/chart.awk") || echo "$drawn" >"$1"
}
