# shellcheck shell=bash
# stress-ng's stressors of sockets and descriptors: each for a moment, and then all at a time, in
# one run. They know the loopback address only.
# shellcheck disable=SC2034,SC2154 # check-programs reads these, and has $STRESS_SECONDS

TOOLS[stress]="stress-ng"
PACKAGES[stress]="stress-ng"
LEAST[stress]=1000000
OPTIONS[stress]="--loopback 1"
STRESSORS=(sock sockmany sockfd sockpair sendfile epoll dup close fork)

# holder: the process that has the connections of the run that this is called in; none over TCP.
holder() {
    local folder
    for folder in /proc/[0-9]*; do
        [[ $(readlink "$folder/exe") == "$PRP" ]] || continue
        ! tr '\0' '\n' <"$folder/cmdline" | grep -qxF "$WORK" || echo "${folder##*/}"
    done 2>/dev/null
}

# descriptors: how many the holder has.
descriptors() {
    find "/proc/$HOLDER/fd" -mindepth 1 2>/dev/null | wc -l
}

# measure WHEN: writes what the holder has.
measure() {
    [[ -z $HOLDER ]] ||
        echo "$1: $(descriptors) descriptors, $(awk '/VmRSS/ { print $2 }' "/proc/$HOLDER/status") kB" >>"$WORK/stress.figures"
}

# settled COUNT: waits until the holder has no more descriptors than that, for as long at most as it
# keeps connections that only one end has closed.
settled() {
    local tries
    for ((tries = 0; tries < 140 && $(descriptors) > $1; tries++)); do sleep 0.5; done
    (($(descriptors) <= $1))
}

# fewest: how many descriptors the holder has after two seconds in which none has gone.
fewest() {
    local count tries=0 now
    count=$(descriptors)
    while ((tries++ < 4)); do
        sleep 0.5
        now=$(descriptors)
        ((now >= count)) || tries=0
        count=$now
    done
    echo "$count"
}

# stress SECONDS: the stressors, and whether the holder has as many descriptors at the end as it had
# before they ran together.
stress() {
    local stressor all=() tenth=$(($1 / 10)) at first
    HOLDER=$(holder)
    for stressor in "${STRESSORS[@]}"; do
        all+=("--$stressor" 1)
        stress-ng --quiet --"$stressor" 2 --timeout 3s --verify 2>&1 && echo "$stressor: passed" || echo "$stressor: status $?"
    done
    # What the holder keeps for the next connection it has now.
    first=$(fewest)
    measure "before"
    stress-ng --quiet "${all[@]}" --timeout "${1}s" --verify 2>&1 &
    for at in 1 5 9; do
        sleep $((tenth * (at == 1 ? 1 : 4)))
        measure "at $at tenths"
    done
    wait $! && echo "all: passed" || echo "all: status $?"
    settled "$first" && echo "descriptors: as before" || echo "descriptors: $first before, $(descriptors) at the end"
    measure "at the end"
}

program_stress() {
    local seconds=10
    # Over TCP nothing is kept that could grow.
    [[ $PROTOCOL == tcp ]] || seconds=$STRESS_SECONDS
    LIMIT=$((seconds + 300)) on 1 env PRP="$PRP" WORK="$WORK" STRESSORS="${STRESSORS[*]}" bash -c \
        "$(declare -f holder descriptors measure settled fewest stress); STRESSORS=(\$STRESSORS); stress $seconds" "$WORK"
}
