# shellcheck shell=bash
# How a check runs, and how it says what is wrong.
# shellcheck disable=SC2154 # topo, scratch, only, B and the numbers are of check-topo

# check TITLE FUNCTION: the function passes if every command in it does.
check() {
    [[ $1 == *"$only"* ]] || return 0
    local said status
    # Not $(...), which would wait for processes that the function has left running.
    (
        set -e
        trap end_jobs EXIT
        "$2"
    ) >"$scratch/log" 2>&1
    status=$?
    said=$(<"$scratch/log")
    if ((status == 77)); then
        skipped=$((skipped + 1))
        echo "SKIPPED $1: $said"
    elif ((status)); then
        failed=$((failed + 1))
        echo "FAILED  $1"
        printf '        %s\n' "${said//$'\n'/$'\n'        }"
    else
        passed=$((passed + 1))
        echo "ok      $1"
    fi
    "$topo" down >/dev/null 2>&1
    "$topo" -i "$B" down >/dev/null 2>&1
    return 0
}

end_jobs() {
    local status=$? pid
    for pid in $(jobs -p); do
        kill -KILL "$pid" 2>/dev/null || true
    done
    exit "$status"
}

fail() {
    echo "$*"
    exit 1
}

skip() {
    echo "$*"
    exit 77
}

# is WHAT WANTED GOT
is() {
    [[ $2 == "$3" ]] || fail "$1: wanted '$2', got '$3'"
}

# ends WANTED-STATUS COMMAND...: checks the exit status; the output is in $said.
ends() {
    local want=$1 status=0
    shift
    said=$("$@" 2>&1) || status=$?
    ((status == want)) || fail "'$*' ended with $status instead of $want: $said"
}

# soon COMMAND...: waits until it succeeds, for at most twenty seconds, since machines stall.
soon() {
    local tries
    for ((tries = 0; tries < 1000; tries++)); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.02
    done
    fail "not within twenty seconds: $*"
}
