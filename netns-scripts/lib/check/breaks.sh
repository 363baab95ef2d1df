# shellcheck shell=bash
# `up` that fails, is killed or interrupted halfway.
# shellcheck disable=SC2154 # topo, scratch, A and B are of check-topo, said is of `ends`

# Replaces each tool by a script that counts the calls, and that kills topo or fails at call number
# $AT. The tool that runs at the time of the kill goes on.
make_shims() {
    local tool real
    mkdir -p "$scratch/shims"
    for tool in ip tc nsenter setsid unshare mv mkdir; do
        real=$(type -P "$tool")
        cat >"$scratch/shims/$tool" <<SHIM
#!/bin/sh
# Not id: its answer, whether we are root, decides the folder of the state.
[ "\$1" != --mount=/proc/self/ns/mnt ] || exec "$real" "\$@"
read -r n <"$scratch/count"
n=\$((n + 1))
echo "\$n" >"$scratch/count"
if [ "\$n" = "\$AT" ]; then
    [ "\$THEN" = kill ] || { echo "made to fail" >&2; exit 1; }
    read -r pid <"$scratch/up.pid"
    kill -KILL "\$pid"
    # Long enough for everything else after the kill to happen first.
    sleep 0.1
fi
exec "$real" "\$@"
SHIM
        chmod 755 "$scratch/shims/$tool"
    done
}

# up_until N kill|fail: the status of an `up` that is killed, or fails, at the Nth call.
up_until() {
    local status=0
    echo 0 >"$scratch/count"
    # shellcheck disable=SC2016 # for the shell inside
    AT=$1 THEN=$2 PATH=$scratch/shims:$PATH sh -c 'echo $$ >"$1/up.pid"; exec "$2" up pair --rate 1gbit' sh \
        "$scratch" "$topo" >"$scratch/said" 2>&1 || status=$?
    echo "$status"
}

check_failing_up() {
    make_shims
    local n status
    for ((n = 1; n < 200; n++)); do
        status=$(up_until "$n" fail)
        if ((status)); then
            [[ $(wc -l <"$scratch/said") == 1 && $(<"$scratch/said") == topo:* ]] ||
                fail "when call $n failed it said: $(<"$scratch/said")"
            nothing_left
        else
            # `up` survives some failures: it repeats the check of the links, for one.
            "$topo" down
            (($(<"$scratch/count") >= n)) || break
        fi
    done
    ((n > 10 && n < 200)) || fail "$n calls were hit"
}

check_killed_up() {
    make_shims
    local n status
    for ((n = 1; n < 200; n++)); do
        status=$(up_until "$n" kill)
        ((status)) || break
        is "status of the killed up" 137 "$status"
        ends 0 "$topo" down
        nothing_left
    done
    ((n > 10 && n < 200)) || fail "$n calls were hit"
    "$topo" down
}

check_killed_then_up() {
    make_shims
    local n status
    for ((n = 1; n < 200; n++)); do
        status=$(up_until "$n" kill)
        ((status)) || break
        # If it was killed at its last step, it may have finished.
        ! "$topo" exec 1 -- true || is "devices" "up up" "$(table | cut -d ' ' -f 7 | paste -sd ' ')"
        ends 0 "$topo" up pair --rate 1gbit
        is "devices" "up up" "$(table | cut -d ' ' -f 7 | paste -sd ' ')"
        "$topo" down
        nothing_left
    done
    ((n > 10 && n < 200)) || fail "$n calls were hit"
    "$topo" down
}

check_interrupted_up() {
    local delay signal
    for delay in 0.01 0.02 0.03 0.04 0.05 0.06; do
        for signal in INT TERM; do
            # To topo alone, as by kill. Otherwise timeout sends it to topo and then to its group:
            # bash 5.2 may lose a child that it waits for, or handle SIGINT for ever, if it gets
            # a signal twice.
            timeout --foreground -k 20 -s "$signal" "$delay" "$topo" up pair >/dev/null 2>&1 || true
        done
        # Either it has finished, or it has cleaned up by itself.
        "$topo" exec 1 -- true 2>/dev/null || nothing_left
        "$topo" down
    done
}

check_the_breaks() {
    check "a failed up takes back what it made" check_failing_up
    check "a killed up is cleared by down" check_killed_up
    check "a killed up is cleared by up" check_killed_then_up
    check "an interrupted up clears itself" check_interrupted_up
}
