# shellcheck shell=bash
# The links: what goes over them, how large, how fast, with which faults.
# shellcheck disable=SC2154 # topo, scratch, A and B are of check-topo, said is of `ends`

check_tcp() {
    need_python
    "$topo" up pair
    listen 2 server
    is "answer and own address" "world 10.99.0.1" "$(talk 1 10.99.0.2)"
    listen 1 server
    is "answer and own address" "world 10.99.0.2" "$(talk 2 10.99.0.1)"
    # A node's own address and lo.
    listen 1 server
    is "answer" "world 10.99.0.1" "$(talk 1 10.99.0.1)"
}

# Only the frames of the connection may be on the link: no ARP, no IPv6. The capture lasts until the
# end of the connection, and for at least 1.5 s, within which the kernel would send its requests on
# a new link.
check_quiet() {
    need_python
    "$topo" up pair
    "$topo" exec 2 -- python3 -c '
import signal, socket, time
over = False
def end(*_):
    global over
    over = True
signal.signal(signal.SIGTERM, end)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(("eth0", 3))
print("ready", flush=True)
s.settimeout(0.1)
seen, least = set(), time.monotonic() + 1.5
while not over or time.monotonic() < least:
    try:
        seen.add(s.recv(2000)[12:14].hex())
    except TimeoutError:
        pass
print(*sorted(seen))' >"$scratch/seen" &
    local pid=$!
    soon grep -q ready "$scratch/seen"
    "$topo" link 1 down
    "$topo" link 1 up
    listen 2 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.2)"
    kill "$pid"
    wait "$pid"
    is "types of frames" 0800 "$(tail -n 1 "$scratch/seen")"
}

check_mtu() {
    need_python
    local mtu
    for mtu in 68 9000 65535; do
        "$topo" up pair --mtu "$mtu"
        is "MTU of node 1" "$mtu" "$("$topo" exec 1 -- cat /sys/class/net/eth0/mtu)"
        is "MTU of node 2" "$mtu" "$("$topo" exec 2 -- cat /sys/class/net/eth0/mtu)"
        is "MTU in list" "$mtu $mtu" "$(table | cut -d ' ' -f 5 | paste -sd ' ')"
        sink 2 1 sink
        frames 1 1 $((mtu + 14)) 02:00:00:00:00:01 02:00:00:00:00:02
        soon grep -q "^1 $((mtu + 14)) " "$scratch/sink"
        "$topo" down
    done
}

# A number of frames that takes about 300 ms: all must arrive, and take this time. With a queue
# shorter than the socket's buffer the sender would get ENOBUFS. A bucket smaller than a frame would
# pass none.
check_rate() {
    need_python
    local mtu rate bits count took expected
    for mtu in 68 1500 65535; do
        for rate in 20mbit 0.4gbit; do
            "$topo" up pair --mtu "$mtu" --rate "$rate"
            is "rates" "${rate/0.4gbit/400mbit} ${rate/0.4gbit/400mbit}" "$(table | cut -d ' ' -f 6 | paste -sd ' ')"
            bits=20000000
            [[ $rate == 20mbit ]] || bits=400000000
            count=$((bits * 3 / 10 / 8 / (mtu + 14) + 1))
            # With more small frames per second the script itself would be the limit.
            ((count < 10000)) || count=10000
            sink 2 "$count" sink
            frames 1 "$count" $((mtu + 14)) 02:00:00:00:00:01 02:00:00:00:00:02
            soon grep -q "^$count " "$scratch/sink"
            took=$(tail -n 1 "$scratch/sink" | cut -d ' ' -f 3)
            expected=$((count * (mtu + 14) * 8000 / bits))
            # The frames that fit into the bucket pass at once. There is no upper bound, which would
            # measure the machine's load.
            ((took * 10 >= (expected - (mtu + 14) * 16000 / bits - 3) * 9)) ||
                fail "$count frames of $((mtu + 14)) at $rate took $took ms instead of $expected"
            "$topo" down
        done
    done
}

check_change_rate() {
    "$topo" up pair
    "$topo" rate 50mbit
    is rates "50mbit 50mbit" "$(table | cut -d ' ' -f 6 | paste -sd ' ')"
    ends 0 "$topo" up pair --rate 50mbit
    "$topo" rate none
    is rates "none none" "$(table | cut -d ' ' -f 6 | paste -sd ' ')"
    ends 0 "$topo" up pair
}

# Every frame of some hundred, so that the test does not depend on chance.
check_faults() {
    need_python
    if [[ -z ${PRP_WIRE-} ]] && ! cargo --version >/dev/null 2>&1; then skip "no PRP_WIRE and no cargo to build one"; fi
    ends 0 "$topo" up pair --loss 100% --dup=0 --seed 7
    [[ $said == *'with faults'* ]] || fail "$said"
    frames 1 200 100 02:00:00:00:00:01 02:00:00:00:00:02
    soon counted 'direction=1 frames=200 lost=200 doubled=0'
    ends 0 "$topo" faults --loss 0% --dup 100%
    is settings "loss=0% dup=100% reorder=0% corrupt=0% delay=0us jitter=0us seed=7" "$("$topo" faults | head -n 1)"
    sink 2 400 sink
    frames 1 200 100 02:00:00:00:00:01 02:00:00:00:00:02
    soon grep -q '^400 100 ' "$scratch/sink"
    ends 0 "$topo" faults --dup 0
    listen 2 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.2)"
    # The same faults again change nothing, and other faults change the settings of the same links.
    ends 0 "$topo" up pair --loss 0.5%
    [[ $said == *already* && $("$topo" faults) == loss=0.5%* ]] || fail "$said"
    ends 1 "$topo" up pair
    [[ $said == *"topo down"* ]] || fail "$said"
    ends 2 "$topo" faults --seed 8
    ends 0 "$topo" down
    nothing_left
    ends 1 env PRP_WIRE=/no/wire "$topo" up pair --loss 1%
    nothing_left
    "$topo" up pair
    ends 1 "$topo" faults --loss 1%
    [[ $said == *'--loss 0%'* ]] || fail "$said"
}

# offload NAME: whether node 1's device has it.
offload() {
    "$topo" exec 1 -- ethtool -k eth0 | sed -n "s/^$1: \(on\|off\).*/\1/p"
}

check_delay() {
    need_python
    if [[ -z ${PRP_WIRE-} ]] && ! cargo --version >/dev/null 2>&1; then skip "no PRP_WIRE and no cargo to build one"; fi
    ends 0 "$topo" up pair --delay 30ms/20ms --jitter=1ms
    # The kernel cuts segments, the device does not.
    is offloads "on off on" "$(paste -sd ' ' < <(offload generic-segmentation-offload; offload tcp-segmentation-offload; offload generic-receive-offload))"
    listen 2 server
    local began took
    began=$(date +%s%N)
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.2)"
    took=$((($(date +%s%N) - began) / 1000000))
    # A connection, and a request with its answer.
    ((took >= 100)) || fail "two round trips of 50 ms took $took ms"
    ends 0 "$topo" faults --delay 5us --jitter 0us
    [[ $("$topo" faults) == *' delay=5us jitter=0us '* ]] || fail "$("$topo" faults)"
    listen 2 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.2)"
    ends 2 "$topo" faults --delay 5
    [[ $said == *25us* ]] || fail "$said"
    ends 2 "$topo" faults --jitter 5us/
}

check_link() {
    need_python
    "$topo" up pair
    local routes
    routes=$("$topo" exec 1 -- sh -c 'ip route; ip neigh; ip -br -4 addr')
    "$topo" link 1 down
    is states "down no-carrier" "$(table | cut -d ' ' -f 7 | paste -sd ' ')"
    "$topo" link 1 up eth0
    is states "up up" "$(table | cut -d ' ' -f 7 | paste -sd ' ')"
    is routes "$routes" "$("$topo" exec 1 -- sh -c 'ip route; ip neigh; ip -br -4 addr')"
    listen 2 server
    is answer "world 10.99.0.1" "$(talk 1 10.99.0.2)"
    ends 2 "$topo" link 1 up eth1
    ends 2 "$topo" link 1 sideways
}

check_the_links() {
    check "TCP goes between the nodes" check_tcp
    check "the link is quiet" check_quiet
    check "--mtu is in force" check_mtu
    check "--rate is in force and blocks the sender" check_rate
    check "rate changes the rate" check_change_rate
    check "faults are in force and can be changed" check_faults
    check "a delay is in force and can be changed" check_delay
    check "link goes down and up, with its routes" check_link
}
