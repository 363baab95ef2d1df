# shellcheck shell=bash
# Others on the machine: instances beside this one, processes, programs that break or take what is
# ours.
# shellcheck disable=SC2154 # topo, scratch, A and B are of check-topo, said is of `ends`

check_side_by_side() {
    need_python
    "$topo" up pair
    "$topo" -i "$B" up pair --mtu 9000
    is "MTUs of the other" "9000 9000" "$(table -i "$B" | cut -d ' ' -f 5 | paste -sd ' ')"
    is "MTUs of the one" "1500 1500" "$(table | cut -d ' ' -f 5 | paste -sd ' ')"
    "$topo" down
    ends 1 "$topo" exec 1 -- true
    [[ $said == *"$B"* ]] || fail "does not mention the other: $said"
    export PRP_TOPO=$B
    listen 2 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.2)"
}

check_at_once() {
    local n
    local -a pids=()
    for n in 1 2 3 4; do
        "$topo" up pair >"$scratch/up$n" 2>&1 &
        pids+=($!)
    done
    for n in "${pids[@]}"; do
        wait "$n" || fail "$(cat "$scratch"/up?)"
    done
    is "made" 1 "$(grep -l 'is up as' "$scratch"/up? | wc -l)"
    is "states" "up up" "$(table | cut -d ' ' -f 7 | paste -sd ' ')"
    pids=()
    for n in 1 2 3 4 5 6; do
        if ((n % 2)); then "$topo" down; else "$topo" up pair; fi >"$scratch/up$n" 2>&1 &
        pids+=($!)
    done
    for n in "${pids[@]}"; do
        wait "$n" || fail "$(cat "$scratch"/up?)"
    done
    "$topo" down
    nothing_left
}

# If the file of a lock is removed during the wait, topo must wait for the lock of the new file.
check_lock() {
    local base=/run/prp-topo
    ((EUID == 0)) || base=/tmp/prp-topo-$EUID
    "$topo" up pair
    exec 7>>"$base/$A.lock"
    flock -n 7
    "$topo" down 7>&- &
    local pid=$!
    sleep 0.3
    rm "$base/$A.lock"
    exec 8>>"$base/$A.lock"
    flock -n 8
    exec 7>&-
    sleep 0.3
    ends 0 "$topo" exec 1 -- true
    exec 8>&-
    wait "$pid"
    nothing_left
}

check_down_ends_processes() {
    sleep 1000 &
    local outsider=$!
    "$topo" up pair
    "$topo" exec 1 -- sleep 1000 &
    "$topo" exec 2 -- bash -c 'trap "" TERM; echo ready; while :; do sleep 1; done' >"$scratch/stubborn" &
    soon grep -q ready "$scratch/stubborn"
    soon inhabited 'sleep 1000'
    ends 0 "$topo" down
    nothing_left
    [[ -e /proc/$outsider/ns/net ]] || fail "a process outside was ended"
    kill "$outsider"
}

# Another program removes the namespaces, or kills the process that holds them.
check_broken() {
    "$topo" up pair
    "$topo" exec 1 -- sleep 1000 &
    soon inhabited 'sleep 1000'
    if ((EUID == 0)); then
        ip netns del "$A-2"
        ip netns del "$A-1"
    else
        local holder
        holder=$(inhabitants | awk '/sleep infinity/ { print $1 }')
        kill -KILL "$holder"
        # A signal may be late on a busy machine.
        soon test ! -e "/proc/$holder/ns/net"
    fi
    ends 1 "$topo" exec 2 -- true
    [[ $said == *broken*"topo down"* ]] || fail "$said"
    ends 1 "$topo" list
    ends 0 "$topo" up pair
    ends 0 "$topo" exec 1 -- true
    ! inhabited 'sleep 1000' || fail "what ran on the lost node goes on"
    "$topo" down
    nothing_left
}

check_foreign() {
    ((EUID == 0)) || skip "only root's namespaces have names that others can take"
    ip netns add "$A-2"
    local id
    id=$(stat -c %i "/run/netns/$A-2")
    ends 1 "$topo" up pair
    [[ $said == *"$A-2 exists"* ]] || fail "$said"
    ends 0 "$topo" down
    is "the other's namespace" "$id" "$(stat -c %i "/run/netns/$A-2")"
    ip netns del "$A-2"
    # And a namespace of another program with the name of one of ours.
    "$topo" up pair
    ip netns del "$A-2"
    ip netns add "$A-2"
    ends 0 "$topo" down
    [[ -e /run/netns/$A-2 ]] || fail "down removed the other's namespace"
    ip netns del "$A-2"
    nothing_left
}

check_the_others() {
    check "two instances stand side by side" check_side_by_side
    check "several at once do not meet" check_at_once
    check "the lock outlives its file" check_lock
    check "down ends what runs on the nodes, and only that" check_down_ends_processes
    check "what others broke is noticed and fixed" check_broken
    check "what others made is left alone" check_foreign
}
