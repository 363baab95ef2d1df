# shellcheck shell=bash
# What checks look at, and what they do on the nodes.
# shellcheck disable=SC2154 # topo, scratch, A and B are of check-topo, said is of `ends`

# Processes of this run that are in another network namespace.
inhabitants() {
    local pid home
    home=$(readlink /proc/self/ns/net)
    # grep's status is not 0, since many processes cannot be read.
    { grep -lsz "^CHECK_TOPO=$CHECK_TOPO\$" /proc/[0-9]*/environ || true; } | cut -d / -f 3 | while read -r pid; do
        [[ $(readlink "/proc/$pid/ns/net" 2>/dev/null) == "$home" || ! -e /proc/$pid/ns/net ]] ||
            echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
    done
}

inhabited() {
    [[ $(inhabitants) == *"$1"* ]]
}

nothing_left() {
    local found
    found=$(inhabitants)
    [[ -z $found ]] || fail "processes left: $found"
    found=$(find /run/netns /run/prp-topo "/tmp/prp-topo-$EUID" -maxdepth 1 -name "$A*" 2>/dev/null || true)
    [[ -z $found ]] || fail "files left: $found"
    found=$(ip -o link | grep -E 'eth[0-9]+@if1[12]:.* 02:00:00:00:00:0[12]' || true)
    [[ -z $found ]] || fail "devices left: $found"
}

need_routed() {
    [[ -n ${PRP_ROUTED-} ]] || cargo --version >/dev/null 2>&1 || skip "no PRP_ROUTED and no cargo to build one"
}

need_prp() {
    [[ -n ${PRP_COMMAND-} ]] || cargo --version >/dev/null 2>&1 || skip "no PRP_COMMAND and no cargo to build one"
}

need_python() {
    python3 -c 'import json, socket' 2>/dev/null || skip "no whole python3"
}

# listen NODE NAME / talk NODE ADDRESS: one TCP connection, which carries "hello" there and "world"
# back.
listen() {
    # The output of an earlier program must not be taken for this one's.
    rm -f "$scratch/$2"
    "$topo" exec "$1" -- python3 -c '
import socket
s = socket.create_server(("", 7))
print("ready", flush=True)
c, peer = s.accept()
if c.recv(5) == b"hello":
    c.sendall(b"world")
c.close()' >"$scratch/$2" &
    soon grep -q ready "$scratch/$2"
}

talk() {
    timeout 5 "$topo" exec "$1" -- python3 -c '
import socket, sys
s = socket.create_connection((sys.argv[1], 7), timeout=3)
s.sendall(b"hello")
print(s.recv(5).decode(), s.getsockname()[0])' "$2"
}

# frames NODE COUNT SIZE FROM TO / sink NODE COUNT NAME: raw frames of PRP's type with a socket's
# default buffer.
frames() {
    timeout 20 "$topo" exec "$1" -- python3 -c '
import socket, sys
count, size = int(sys.argv[1]), int(sys.argv[2])
mac = lambda text: bytes.fromhex(text.replace(":", ""))
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
frame = (mac(sys.argv[4]) + mac(sys.argv[3]) + b"\x88\xb5").ljust(size, b"x")
for _ in range(count):
    s.send(frame)' "${@:2}"
}

# Prints the number of frames, their size, and the milliseconds from the first to the last, all from
# the kernel's counters and timestamps: this script may read them late, and an ordinary user's
# buffer is short.
sink() {
    rm -f "$scratch/$3"
    "$topo" exec "$1" -- python3 -c '
import socket, struct, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
s.bind(("eth0", 0x88B5))
# The time within which the sender must begin.
s.settimeout(20)
print("ready", flush=True)
n = size = 0
first = None
try:
    while True:
        # Counted frames may still be in the queue, and the test needs the last one.
        if n >= int(sys.argv[1]):
            s.setblocking(False)
        data, (stamp,), _, _ = s.recvmsg(1 << 17, 64)
        size = len(data)
        seconds, nanos = struct.unpack("qq", stamp[2])
        last = seconds * 1000 + nanos / 1e6
        if first is None:
            first = last
            s.settimeout(2)
        n += struct.unpack("II", s.getsockopt(263, 6, 8))[0]  # SOL_PACKET, PACKET_STATISTICS: since the last call
except (TimeoutError, BlockingIOError):
    pass
print(n, size, round(last - first) if n else 0)' "$2" >"$scratch/$3" &
    soon grep -q ready "$scratch/$3"
}

table() {
    "$topo" "$@" list | awk 'NR > 1 { print $1, $3, $4, $5, $6, $7, $8, $9 }'
}

# routes NODE: its prphosts without the comment.
routes() {
    # shellcheck disable=SC2016 # for the shell on the node
    "$topo" exec "$1" -- sh -c 'grep -v "^#" "$PRP_HOSTS"'
}

counted() {
    [[ $("$topo" faults) == *"$1"* ]]
}
