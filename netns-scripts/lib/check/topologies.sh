# shellcheck shell=bash
# Each kind of topology: its devices, its routes.
# shellcheck disable=SC2154 # topo, scratch, A and B are of check-topo, said is of `ends`

# A chain, whose ends reach each other through the middle node.
check_chain() {
    need_python
    need_prp
    "$topo" up chain 4 --rate 1gbit --no-routers
    is list "1 eth0 02:00:00:00:00:01 10.99.0.1 1500 1gbit up 2:eth0
2 eth0 02:00:00:00:00:02 10.99.0.2 1500 1gbit up 1:eth0
2 eth1 02:00:00:00:01:02 10.99.0.2 1500 1gbit up 3:eth0
3 eth0 02:00:00:00:01:03 10.99.0.3 1500 1gbit up 2:eth1
3 eth1 02:00:00:00:02:03 10.99.0.3 1500 1gbit up 4:eth0
4 eth0 02:00:00:00:02:04 10.99.0.4 1500 1gbit up 3:eth1" "$(table)"
    is "prphosts of 2" "1 02:00:00:00:00:01 eth0 node1
2 02:00:00:00:00:02 eth0 node2
3 02:00:00:00:01:03 eth1 node3
4 via 3 node4" "$(routes 2)"
    listen 4 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.4)"
    "$topo" link 2 down eth1
    "$topo" link 2 up
    listen 1 server
    is "answer after a link was down" "world 10.99.0.4" "$(talk 4 10.99.0.1)"
    "$topo" down
    nothing_left
}

# Nodes around a switch, which forwards frames to their node.
check_star() {
    need_python
    need_prp
    "$topo" up star 3 --no-routers
    is "devices of the switch" "p0 p1 p2" "$(table | grep ^sw1 | cut -d ' ' -f 2 | paste -sd ' ')"
    is "prphosts of 3" "1 02:00:00:00:00:01 eth0 node1
2 02:00:00:00:01:02 eth0 node2
3 02:00:00:00:02:03 eth0 node3" "$(routes 3)"
    listen 3 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.3)"
    sink 2 1 sink
    frames 3 1 1514 02:00:00:00:02:03 02:00:00:00:01:02
    soon grep -q "^1 1514 " "$scratch/sink"
    "$topo" down
    nothing_left
}

# In a ring there are two routes to every node; the shorter one is better.
check_ring() {
    need_python
    need_prp
    "$topo" up ring 5 --no-routers
    is "prphosts of 1" "1 02:00:00:00:00:01 eth0 node1
2 02:00:00:00:00:02 eth0, 02:00:00:00:04:05 eth1 metric 49 node2
3 via 2, via 5 metric 17 node3
4 via 5, via 2 metric 16 node4
5 02:00:00:00:04:05 eth1, 02:00:00:00:00:02 eth0 metric 48 node5" "$(routes 1)"
    listen 3 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.3)"
    "$topo" down
    nothing_left
}

# The best route flips the lowest bit in which the nodes differ (e-cube order). All other neighbours
# have worse metrics.
check_hypercube() {
    need_python
    need_prp
    "$topo" up hypercube 3 --no-routers
    is "links" 24 "$(table | wc -l)"
    is "neighbours of 6" "eth0 5:eth0 eth1 8:eth1 eth2 2:eth2" \
        "$(table | awk '$1 == 6 { print $2, $8 }' | paste -sd ' ')"
    is "prphosts of 1" "1 02:00:00:00:00:01 eth0 node1
2 02:00:00:00:00:02 eth0, 02:00:00:00:04:03 eth1 metric 33, 02:00:00:00:08:05 eth2 metric 34 node2
3 02:00:00:00:04:03 eth1, 02:00:00:00:00:02 eth0 metric 32, 02:00:00:00:08:05 eth2 metric 34 node3
4 via 2, via 3 metric 1, via 5 metric 34 node4
5 02:00:00:00:08:05 eth2, 02:00:00:00:00:02 eth0 metric 32, 02:00:00:00:04:03 eth1 metric 33 node5
6 via 2, via 5 metric 2, via 3 metric 33 node6
7 via 3, via 5 metric 2, via 2 metric 32 node7
8 via 2, via 3 metric 1, via 5 metric 2 node8" "$(routes 1)"
    listen 8 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.8)"
    "$topo" down
    nothing_left
}

# PRP passes nodes as TCP does, since each has a router; with `--no-routers` none has one.
check_routers() {
    need_routed
    need_prp
    ends 0 "$topo" up chain 3
    [[ $said == *'with prp-routed on each'* ]] || fail "$said"
    is "routers" 3 "$(inhabitants | grep -c -e '--config /dev/null')"
    if [[ -n ${PRP_COMMAND-} ]]; then
        ends 0 "$topo" exec 1 -- "$PRP_COMMAND" ping -c 1 3
        [[ $said == *'routers=1 '* ]] || fail "$said"
        # No program listens: the router of the far node says so.
        ends 3 "$topo" exec 1 -- "$PRP_COMMAND" cat 3 7 </dev/null
    fi
    # The same arguments again are the same topology; without routers it is a different one.
    ends 0 "$topo" up chain 3
    [[ $said == *already* ]] || fail "$said"
    ends 1 "$topo" up chain 3 --no-routers
    [[ $said == *'topo down'* ]] || fail "$said"
    "$topo" rate 1gbit
    ends 0 "$topo" up chain 3 --rate 1gbit
    ends 0 "$topo" down
    nothing_left
    ends 0 "$topo" up chain 3 --no-routers
    ! inhabited '--config /dev/null' || fail "there are routers: $(inhabitants)"
    ends 0 "$topo" down
    # Two nodes have no router between them, and may each have one.
    ends 0 "$topo" up chain 2
    ! inhabited '--config /dev/null' || fail "there are routers: $(inhabitants)"
    ends 0 "$topo" down
    ends 0 "$topo" up pair --routers
    is "routers of a pair" 2 "$(inhabitants | grep -c -e '--config /dev/null')"
    if [[ -n ${PRP_COMMAND-} ]]; then
        ends 0 "$topo" exec 1 -- "$PRP_COMMAND" ping -c 1 node2
    fi
    ends 0 "$topo" down
    ends 1 env PRP_ROUTED=/no/routed "$topo" up chain 3
    [[ $said == *'PRP_ROUTED is /no/routed'* ]] || fail "$said"
    nothing_left
    # If one does not start, `up` removes everything.
    ends 1 env PRP_ROUTED=/bin/false "$topo" up chain 3
    [[ $said == *'prp-routed does not start on node 1'* ]] || fail "$said"
    nothing_left
}

# A network of another shape, from its plan: a node behind a switch.
check_another_topology() {
    need_python
    cat >"$scratch/annex" <<'PLAN'
link 1 eth0 02:00:00:00:00:01 sw1 p0 02:00:00:01:00:00
link 2 eth0 02:00:00:00:01:02 sw1 p1 02:00:00:01:01:00
link 3 eth0 02:00:00:00:02:03 sw1 p2 02:00:00:01:02:00
link 3 eth1 02:00:00:00:03:03 4 eth0 02:00:00:00:03:04
hosts 1 1 02:00:00:00:00:01 eth0 node1
hosts 1 3 02:00:00:00:02:03 eth0 node3
hosts 1 4 via 3 node4
hosts 3 1 02:00:00:00:00:01 eth0 node1
hosts 3 3 02:00:00:00:02:03 eth0 node3
hosts 3 4 02:00:00:00:03:04 eth1 node4
hosts 4 1 via 3 node1
hosts 4 3 02:00:00:00:03:03 eth0 node3
hosts 4 4 02:00:00:00:03:04 eth0 node4
PLAN
    "$topo" up annex --plan "$scratch/annex" --no-routers
    is "prphosts of 1" "1 02:00:00:00:00:01 eth0 node1
3 02:00:00:00:02:03 eth0 node3
4 via 3 node4" "$(routes 1)"
    listen 4 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.4)"
    ends 0 "$topo" up annex --plan "$scratch/annex" --no-routers
    [[ $said == *already* ]] || fail "$said"
    # Another plan with the same number of nodes is a different topology.
    grep -v '^hosts 4 1' "$scratch/annex" >"$scratch/annex2"
    ends 1 "$topo" up annex --plan "$scratch/annex2" --no-routers
    "$topo" down
    nothing_left
}

check_the_topologies() {
    check "a chain" check_chain
    check "a star" check_star
    check "a ring" check_ring
    check "a hypercube" check_hypercube
    check "routers on nodes with others in between" check_routers
    check "a network of any shape from its plan" check_another_topology
}
