# shellcheck shell=bash
# Links with faults or a delay. In the middle of each is a program (tests/src/bin/wire.rs) that
# takes frames from one device and gives them to another, and on the path loses, repeats and changes
# some, and delays all.
# A program, because netem and what else the kernel could do it with are not in every kernel, and
# loading a program into it takes root.
#
#   BASE/INSTANCE/faults      what the wire does:
#                             loss=1% dup=0% reorder=0% corrupt=0% delay=0us jitter=0us seed=7
#   BASE/INSTANCE/counters    the faults in force, and what it has done
#
# The faults affect all traffic of the link, also TCP's. So frames must leave the nodes as on a real
# wire, cut to the MTU and with checksums: the devices' offloads are off. Where a link only delays,
# the kernel cuts the segments of TCP itself (GSO) and joins those received (GRO), as it does for a
# card without offloads.

# FAULTS is empty, for links that are one veth pair each, or the words of the file.
FAULTS=''
PLAN_WIRE=()

# note_fault --NAME VALUE: one of the options, checked.
note_fault() {
    local name=${1#--} value=$2 words
    if [[ $name == seed ]]; then
        [[ $value =~ ^[0-9]{1,18}$ ]] || usage "seed '$value': a number is wanted"
    elif [[ $name == delay || $name == jitter ]]; then
        local one='[0-9]{1,6}(\.[0-9]{1,3})?(us|ms|s)'
        [[ $value =~ ^$one(/$one)?$ ]] || usage "$name '$value': a time is wanted, as in 25us, or 25us/1ms for one per direction"
    else
        [[ $value =~ ^([0-9]{1,2}(\.[0-9]{1,7})?|100(\.0*)?)%?$ ]] || usage "$name '$value': 0% to 100% is possible"
        value=${value%\%}%
    fi
    words=${FAULTS:-loss=0% dup=0% reorder=0% corrupt=0% delay=0us jitter=0us seed=$((RANDOM * 32768 + RANDOM))}
    local -a settings=()
    read -ra settings <<<"$words"
    # Each element that sets NAME, with the new value.
    FAULTS="${settings[*]/#$name=*/$name=$value}"
}

# plan_faults: finds all that they need before anything is made.
plan_faults() {
    [[ -n $FAULTS ]] || return 0
    # shellcheck disable=SC2154 # plan.sh has them
    [[ $UNDERLAY != unix || ${#PLAN_NODES[@]} == 2 ]] || usage "faults between Unix sockets are for a pair"
    need_tools ethtool
    # shellcheck disable=SC2034  # plan.sh reads it
    PLAN_WIRE=(wire)
    PLAN+=" faulty"
    find_program PRP_WIRE prp-tests wire
    WIRE=$PROGRAM
}

# add_faulty_link I J: as add_link, with the wire's two devices between.
add_faulty_link() {
    local i=$1 j=$2 end link=$(($1 / 2)) software=off
    [[ $FAULTS != 'loss=0% dup=0% reorder=0% corrupt=0% '* ]] || software=on
    for end in "$i:a" "$j:b"; do
        local k=${end%:*} dev=${end#*:}$link
        try "link ${IF_NODE[k]} to the wire" inside "${IF_NODE[k]}" \
            ip link add "${IF_DEV[k]}" index $((k + 11)) address "${IF_MAC[k]}" mtu "$PLAN_MTU" type veth peer \
            name "$dev" netns "$(namespace_name wire)" index $((k + 100011)) mtu "$PLAN_MTU"
        try "start $dev of the wire" inside wire ip link set "$dev" up
        # Without this the wire would receive frames that a device has joined.
        try "set offloads of the wire" inside wire ethtool -K "$dev" tx off tso off gso off gro off
        try "set offloads of ${IF_NODE[k]}" inside "${IF_NODE[k]}" \
            ethtool -K "${IF_DEV[k]}" tx off tso off gso "$software" gro "$software"
    done
}

# Once all devices are up.
start_wire() {
    local tries i
    local -a devices=()
    for ((i = 0; i < ${#IF_NODE[@]}; i += 2)); do
        devices+=("a$((i / 2))" "b$((i / 2))")
    done
    if [[ $UNDERLAY == unix ]]; then
        devices=("unix:$(unix_folder 1):2:1" "unix:$(unix_folder 2):1:2")
    fi
    write_faults
    : >"$STATE/wire.said"
    # A separate session, so that a Ctrl-C for another program does not cut the link.
    inside wire setsid "$WIRE" "$STATE/faults" "$STATE/counters" "${devices[@]}" \
        </dev/null >"$STATE/wire.said" 2>&1 9>&- &
    disown 2>/dev/null || true
    for ((tries = 0; tries < 500; tries++)); do
        ! grep -q ready "$STATE/wire.said" || return 0
        sleep 0.01
    done
    die "the wire does not start: $(tail -n 1 "$STATE/wire.said")"
}

# The wire may read at any moment.
write_faults() {
    echo "$FAULTS" >"$STATE/faults.new"
    try "write $STATE" mv "$STATE/faults.new" "$STATE/faults"
}

# change_faults [--NAME VALUE]...: without arguments shows the faults and their counters.
change_faults() {
    require_up
    [[ -f $STATE/faults ]] ||
        die "the links of '$INSTANCE' are plain: 'topo down', then 'topo up ... --loss 0%' puts a wire into them"
    FAULTS=$(<"$STATE/faults")
    if (($# == 0)); then
        echo "$FAULTS"
        tail -n +2 "$STATE/counters" 2>/dev/null || true
        return
    fi
    take_lock
    while (($#)); do
        case $1 in
        --loss | --dup | --reorder | --corrupt | --delay | --jitter)
            (($# > 1)) || usage "$1 needs a value"
            note_fault "$1" "$2"
            shift 2
            ;;
        --loss=* | --dup=* | --reorder=* | --corrupt=* | --delay=* | --jitter=*)
            note_fault "${1%%=*}" "${1#*=}"
            shift
            ;;
        --seed*) usage "the seed is chosen when a topology is brought up" ;;
        *) usage "faults has no option $1" ;;
        esac
    done
    write_faults
    wait_for_faults
}

# Waits until the wire reports the faults in force, so that the caller can rely on them.
wait_for_faults() {
    local tries said
    for ((tries = 0; tries < 500; tries++)); do
        { read -r said <"$STATE/counters"; } 2>/dev/null || said=''
        [[ $said != "$FAULTS" ]] || return 0
        sleep 0.01
    done
    die "the wire does not answer: $(tail -n 1 "$STATE/wire.said")"
}
