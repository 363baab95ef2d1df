# shellcheck shell=bash
# The nodes that `up` makes, and what runs on them.
# shellcheck disable=SC2154 # topo, scratch, A and B are of check-topo, said is of `ends`

check_help() {
    ends 0 "$topo" help
    [[ $said == *'up NAME'*'exec NODE'*'down'*pair* ]] || fail "$said"
    ends 0 "$topo" -h
    ends 0 "$topo" up -h
    ends 2 "$topo"
}

check_list() {
    ends 0 "$topo" list
    [[ $said == *"nothing is up"* ]] || fail "$said"
    "$topo" up pair
    is list "1 eth0 02:00:00:00:00:01 10.99.0.1 1500 none up 2:eth0
2 eth0 02:00:00:00:00:02 10.99.0.2 1500 none up 1:eth0" "$(table)"
    need_python
    "$topo" list --json | python3 -c '
import json, os, sys
a, b = json.load(sys.stdin)
assert [a["node"], a["mac"], a["mtu"]] == ["1", "02:00:00:00:00:01", 1500], a
assert b["peer"] == "1:eth0" and os.path.exists(b["path"]), b'
}

check_hosts() {
    "$topo" up pair
    local node text
    for node in 1 2; do
        # shellcheck disable=SC2016 # for the shell on the node
        text=$("$topo" exec "$node" -- sh -c 'grep -v "^#" "$PRP_HOSTS"')
        is prphosts "1 02:00:00:00:00:01 eth0 node1
2 02:00:00:00:00:02 eth0 node2" "$text"
        is "address of node $node" "02:00:00:00:00:0$node" "$("$topo" exec "$node" -- cat /sys/class/net/eth0/address)"
    done
    is PRP_NODE "" "$("$topo" exec 1 -- printenv PRP_NODE || true)"
}

check_underlays() {
    need_python
    local underlay
    for underlay in udp both; do
        PRP_UNDERLAY=$underlay "$topo" up pair --mtu 1400
        "$topo" list --json | python3 -c 'import json, sys
assert {row["underlay"] for row in json.load(sys.stdin)} == {sys.argv[1]}' "$underlay"
        case $underlay in
        udp) is prphosts "1 udp:10.99.0.1 node1 mtu=1400
2 udp:10.99.0.2 node2 mtu=1400" "$(routes 1)" ;;
        both) is prphosts "1 02:00:00:00:00:01 eth0, udp:10.99.0.1 metric 10000 node1
2 02:00:00:00:00:02 eth0, udp:10.99.0.2 metric 10000 node2" "$(routes 1)" ;;
        esac
        ends 1 "$topo" up pair --mtu 1400
        "$topo" down
    done
    refused 2 'ethernet, udp, both or unix' up pair --underlay tcp
}

check_apart() {
    local before
    before=$(ip -o link)
    "$topo" up pair
    is "devices on the node" "eth0 lo" "$("$topo" exec 1 -- ls /sys/class/net | paste -sd ' ')"
    is "devices of the host" "$before" "$(ip -o link)"
    is "lo" "UNKNOWN" "$("$topo" exec 1 -- ip -br link show lo | awk '{ print $2 }')"
}

check_twice() {
    "$topo" up pair --rate 1gbit
    local before
    before=$("$topo" exec 1 -- readlink /proc/self/ns/net)
    ends 0 "$topo" up pair 2 --rate=1000mbit
    [[ $said == *already* ]] || fail "$said"
    is "namespace of node 1" "$before" "$("$topo" exec 1 -- readlink /proc/self/ns/net)"
    ends 1 "$topo" up pair --rate 2gbit
    [[ $said == *"topo down"* ]] || fail "$said"
    is "namespace of node 1" "$before" "$("$topo" exec 1 -- readlink /proc/self/ns/net)"
    ends 0 "$topo" down
    ends 0 "$topo" down
    nothing_left
}

check_status() {
    "$topo" up pair
    ends 7 "$topo" exec 1 -- sh -c 'exit 7'
    ends 0 "$topo" exec 1 true
    ends 127 "$topo" exec 1 -- no-such-command
    # shellcheck disable=SC2016 # for the shell on the node
    ends 143 "$topo" exec 1 -- sh -c 'kill $$'
}

check_stdin() {
    "$topo" up pair
    is stdin "one two" "$(echo one two | "$topo" exec 1 -- cat)"
    is arguments "[a b][][*][-x][\$HOME]" "$("$topo" exec 1 -- printf '[%s]' 'a b' '' '*' -x "\$HOME")"
    is stderr said "$("$topo" exec 2 -- sh -c 'echo said >&2' 2>&1 >/dev/null)"
    cd /usr || fail "no /usr"
    is directory /usr "$("$topo" exec 2 -- pwd)"
    is environment "x y" "$(WORD='x y' "$topo" exec 2 -- printenv WORD)"
    # shellcheck disable=SC2016 # the node's shell expands it
    is "programs" "$(realpath -m "$here/../target")/release" \
        "$(env -u CARGO_TARGET_DIR "$topo" exec 2 -- sh -c 'echo "${PATH%%:*}"')"
    is umask 0027 "$(umask 027 && "$topo" exec 2 -- sh -c umask)"
}

check_pid() {
    "$topo" up pair
    local pid
    # shellcheck disable=SC2016 # for the shell on the node
    "$topo" exec 1 -- sh -c 'echo $$; exec sleep 1000' >"$scratch/pid" &
    pid=$!
    soon test -s "$scratch/pid"
    is pid "$pid" "$(cat "$scratch/pid")"
    is command sleep "$(cat "/proc/$pid/comm")"
    kill -KILL "$pid"
    local status=0
    wait "$pid" || status=$?
    is "status of the killed" 137 "$status"
    soon test ! -e "/proc/$pid/ns/net"
    # As by Ctrl-C; a background job of this shell would ignore it.
    # shellcheck disable=SC2016 # for the shell on the node
    ends 3 timeout --preserve-status -s INT 0.5 "$topo" exec 1 -- bash -c 'trap "exit 3" INT; while :; do sleep 0.05; done'
}

check_the_nodes() {
    check "help tells the commands" check_help
    check "list shows what up made" check_list
    check "each node has its prphosts and its address" check_hosts
    check "underlays of prphosts" check_underlays
    check "nodes are apart from the host" check_apart
    check "up and down twice are up and down" check_twice
    check "exec passes the status" check_status
    check "exec passes stdin, arguments and surroundings" check_stdin
    check "exec is the command's own process" check_pid
}
