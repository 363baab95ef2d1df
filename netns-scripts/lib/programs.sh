# shellcheck shell=bash
# Programs of others on two nodes, over TCP as they are and over PRP by `prp run`. A script that
# sources this has $here, $INSTANCE and a scratch folder $WORK.

# How the programs are carried now, the address of each node for them, and what is put before each.
# shellcheck disable=SC2034 # the programs read them
PROTOCOL='' HOST1='' HOST2=''
RUN=()
# The distribution's interpreter, or that in the path.
PYTHON=/usr/bin/python3
[[ -x $PYTHON ]] || PYTHON=python3
# The servers that run now.
SERVERS=()
# The processors of each node; empty for any.
CORES=('' '' '')
# Seconds that a client may take.
LIMIT=${LIMIT:-60}

topo() {
    # shellcheck disable=SC2154 # the script that sources this has it
    "$here/topo" -i "$INSTANCE" "$@"
}

# find_prp: sets PRP, which has its library beside it.
find_prp() {
    find_program PRP_COMMAND prp-tools prp
    PRP=$(realpath -- "$PROGRAM")
    [[ -z ${PRP_COMMAND-} ]] || return 0
    cargo build --release --quiet --manifest-path "$here/../Cargo.toml" --target-dir "${PRP%/release/prp}" \
        -p prp-run-preload || die "the library does not build: see above"
}

# carry tcp|prp [OPTION]...: what runs from now on is carried so, with options of `prp run`.
# shellcheck disable=SC2034 # as above
carry() {
    PROTOCOL=$1
    shift
    case $PROTOCOL in
    tcp) HOST1=10.99.0.1 HOST2=10.99.0.2 RUN=() ;;
    prp) HOST1=198.18.0.1 HOST2=198.18.0.2 RUN=(env "PRP_RUN_REPORT=$WORK/report" "$PRP" run --require "$@") ;;
    esac
}

# pinned NODE: what keeps a command to the processors of its node.
pinned() {
    [[ -z ${CORES[$1]} ]] || printf '%s\n' taskset -c "${CORES[$1]}"
}

# on NODE COMMAND...: a client, which may take $LIMIT seconds.
on() {
    local node=$1
    local -a pin
    shift
    mapfile -t pin < <(pinned "$node")
    topo exec "$node" -- timeout -k 5 "$LIMIT" "${pin[@]}" "${RUN[@]}" "$@"
}

# start NODE COMMAND...: a server, whose process is the last of $SERVERS from then on.
start() {
    local node=$1
    local -a pin
    shift
    mapfile -t pin < <(pinned "$node")
    # Not through the function: a signal would reach its subshell, and not the server.
    "$here/topo" -i "$INSTANCE" exec "$node" -- "${pin[@]}" "${RUN[@]}" "$@" </dev/null >>"$WORK/servers" 2>&1 &
    SERVERS+=($!)
}

# await WORDS...: until the command succeeds, for ten seconds at most.
await() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        ! "$@" || return 0
        sleep 0.05
    done
    die "not within ten seconds: $*"
}

# has_port NODE PORT: whether a server listens there. Processes of PRP have the ports of a node as
# names of Unix sockets.
has_port() {
    [[ -n $(topo exec "$1" -- ss -ltnH "sport = :$2") ]] || return 1
    [[ $PROTOCOL == tcp ]] || topo exec "$1" -- grep -q "@prp/$1/$2$" /proc/net/unix
}

# listening NODE PORT...: waits until servers listen there.
listening() {
    local node=$1 port
    shift
    for port in "$@"; do await has_port "$node" "$port"; done
}

# has_ended PID
has_ended() {
    ! kill -0 "$1" 2>/dev/null
}

# stop_servers: ends all that `start` has started, the newest first.
stop_servers() {
    local at tries
    for ((at = ${#SERVERS[@]} - 1; at >= 0; at--)); do
        kill "${SERVERS[at]}" 2>/dev/null || continue
        for ((tries = 0; tries < 100; tries++)); do
            ! has_ended "${SERVERS[at]}" || break
            sleep 0.05
        done
        kill -KILL "${SERVERS[at]}" 2>/dev/null || true
        wait "${SERVERS[at]}" 2>/dev/null || true
    done
    SERVERS=()
}

# owned FOLDER: makes it, for a server that does not run as root.
owned() {
    mkdir -p -- "$1"
    chmod 777 "$1"
}

# checksum: of what comes in.
checksum() {
    sha256sum | cut -c 1-16
}

# noise MIB FILE: a file of that size whose content is no pattern, and the same in each run.
noise() {
    [[ -s $2 ]] || openssl enc -aes-128-ctr -K 0 -iv 0 -in /dev/zero 2>/dev/null | head -c "${1}M" >"$2" || true
}
