# shellcheck shell=bash
# prp-routed on the nodes, so that PRP crosses those between two nodes as TCP does, whose packets
# the kernel forwards.
#
#   BASE/INSTANCE/V/routed    what the router of node V says
#
# Two nodes have no router between them, and over UDP the kernel routes: there are routers if asked
# for. Else there is a router on each node, also around a switch: a node with a router refuses
# requests to ports without a listener, and answers `prp ping`.

# Empty for nodes without routers, `needed`, or `always`.
ROUTERS=needed

# plan_routers: finds all that they need before anything is made.
plan_routers() {
    [[ $ROUTERS == always || (${#PLAN_NODES[@]} -gt 2 && $UNDERLAY != udp && $UNDERLAY != unix) ]] || ROUTERS=''
    [[ -n $ROUTERS ]] || return 0
    PLAN+=" routers"
    find_program PRP_ROUTED prp-routed prp-routed ", or leave it out with --no-routers"
    ROUTED=$PROGRAM
}

# After all links are up: a router that starts without a link would find its neighbours a second
# later.
start_routers() {
    local v
    local -A pids=()
    for v in "${PLAN_NODES[@]}"; do
        : >"$STATE/$v/routed"
        # A separate session, so that a Ctrl-C for another program does not end it. The settings and
        # PRP_NODE of this machine do not apply to its nodes.
        (unset PRP_NODE && on_node "$v" setsid "$ROUTED" --config /dev/null) </dev/null >"$STATE/$v/routed" 2>&1 9>&- &
        pids[$v]=$!
        disown 2>/dev/null || true
    done
    for v in "${PLAN_NODES[@]}"; do
        wait_for_router "$v" "${pids[$v]}" || die "prp-routed does not start on node $v: $(tail -n 1 "$STATE/$v/routed")"
    done
}

# wait_for_router V PID: until it routes, for ten seconds at most; fails when it has ended.
wait_for_router() {
    local tries
    for ((tries = 0; tries < 1000; tries++)); do
        ! grep -q routing "$STATE/$1/routed" || return 0
        start_time "$2" >/dev/null || break
        sleep 0.01
    done
    # It may have printed it in between.
    grep -q routing "$STATE/$1/routed"
}
