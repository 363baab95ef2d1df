# shellcheck shell=bash
# What the benches of `prp perf` share. A script that sources this has $here and $INSTANCE, and
# KEEP once it has read its arguments.

# Each node has its own processors, as if it were a separate machine: the scheduler's placement of
# two communicating programs changes from one second to the next.
CORES=('' 0 0)
WORK='' RUNS='' SERVER=''
# Programs besides those that are measured.
HOLDERS=()

topo() {
    # shellcheck disable=SC2154 # the script that sources this has it
    "$here/topo" -i "$INSTANCE" "$@"
}

# find_bench: sets PRP, and BENCH, which summarises.
find_bench() {
    find_program PRP_COMMAND prp-tools prp
    PRP=$(realpath -- "$PROGRAM")
    find_program PRP_BENCH prp-bench prp-bench
    BENCH=$(realpath -- "$PROGRAM")
}

# begin: makes $WORK, and $RUNS for the runs, and has `cleanup` called at the end.
begin() {
    WORK=$(mktemp -d)
    RUNS=${KEEP:-$WORK/runs}
    mkdir -p -- "$RUNS"
    RUNS=$(cd -- "$RUNS" && pwd)
    trap cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}

cleanup() {
    local status=$?
    trap '' INT TERM HUP
    end_holders
    topo down >/dev/null 2>&1 || warn "could not take the nodes down: $here/topo -i $INSTANCE down"
    rm -rf -- "$WORK"
    exit "$status"
}

# end_holders: ends the programs besides those that are measured.
end_holders() {
    ((${#HOLDERS[@]})) || return 0
    kill "${HOLDERS[@]}" 2>/dev/null || true
    wait "${HOLDERS[@]}" 2>/dev/null || true
    HOLDERS=()
}

# divide N: assigns the first N processors to the nodes, if there are several.
divide() {
    local half=$(($1 / 2))
    (($1 < 2)) || CORES=('' "0-$((half - 1))" "$half-$(($1 - 1))")
}

# serve env [WORD]...: `prp perf serve` on node 2, behind these words, in place of the one before.
serve() {
    if [[ -n $SERVER ]]; then
        kill "$SERVER" 2>/dev/null || true
        wait "$SERVER" 2>/dev/null || true
    fi
    : >"$WORK/server.log"
    # Not through the function: a signal would reach its subshell, and not the server.
    "$here/topo" -i "$INSTANCE" exec 2 -- taskset -c "${CORES[2]}" "$@" "$PRP" perf serve 2>>"$WORK/server.log" &
    SERVER=$!
    await "$SERVER" "$WORK/server.log"
}

# await PID FILE: until a server has said in FILE that it listens.
await() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        ! grep -q listening "$2" || return 0
        kill -0 "$1" 2>/dev/null || break
        sleep 0.05
    done
    die "a server did not start: $(<"$2")"
}

# summarise JSON: the figures of all runs and the bars, as a table and, if JSON is a file, there.
# The time since SECONDS was 0 is without the builds.
summarise() {
    local commit
    printf '\nafter %d min %d s:\n' $((SECONDS / 60)) $((SECONDS % 60))
    commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || true)
    "$BENCH" summary "$RUNS" ${1:+--json "$1"} --date "$(date +%F)" ${commit:+--commit "$commit"}
}
