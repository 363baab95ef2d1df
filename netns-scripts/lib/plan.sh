# shellcheck shell=bash
# From the plan of a network to everything that follows from it, without touching the system:
# devices, hardware addresses, IPv4 addresses, and the text of each node's prphosts and `ip -batch`
# file. The `prp` command makes plans (`prp hosts generate`); that of two nodes is stored beside
# this file, so that a pair comes up where nothing is built.
#
# PLAN                        name, size, MTU, rate, and perhaps `udp` or `both`, the sum of a file,
#                             `faulty` and `routers`: two plans with the same words are the same
# PLANNED                     what `prp hosts generate` has printed
# PLAN_FILE                   a file that is read instead, or empty
# UNDERLAY                    what PRP goes over: ethernet, udp, both or unix
# PLAN_NODES, PLAN_SWITCHES   the vertices, in the order of their numbers and of appearance
# IF_NODE, IF_DEV, IF_MAC     one entry for each interface; the two ends of link L are the
#                             interfaces 2L and 2L+1, so the other end of interface I is I^1

PLAN_FILE=''

# By name: the default size.
declare -A TOPOLOGIES=([pair]=2 [chain]=5 [star]=8 [ring]=6 [hypercube]=3)

# Each node is a namespace, with some processes.
readonly MOST_NODES=64

topologies() {
    printf '%s\n' "${!TOPOLOGIES[@]}" | sort | paste -sd ' '
}

# make_plan NAME SIZE MTU RATE
make_plan() {
    local word link node dev mac
    [[ $1 =~ ^[a-z]+$ ]] || usage "no topology '$1'; there is: $(topologies)"
    # The function runs in a subshell and prints its own error; only the status is passed on.
    PLANNED=$(planned "$1" "$2") || exit
    PLAN_NODES=() PLAN_SWITCHES=() IF_NODE=() IF_DEV=() IF_MAC=()
    while read -ra link; do
        for ((word = 1; word < ${#link[@]}; word += 3)); do
            read -r node dev mac <<<"${link[*]:word:3}"
            IF_NODE+=("$node") IF_DEV+=("$dev") IF_MAC+=("$mac")
        done
    done < <(grep '^link ' <<<"$PLANNED")
    mapfile -t PLAN_NODES < <(printf '%s\n' "${IF_NODE[@]}" | grep -v ^sw | sort -nu)
    # shellcheck disable=SC2034 # read in net.sh
    mapfile -t PLAN_SWITCHES < <(printf '%s\n' "${IF_NODE[@]}" | grep ^sw | sort -Vu)
    ((${#PLAN_NODES[@]} <= MOST_NODES)) ||
        usage "$1 has ${#PLAN_NODES[@]} nodes, and $MOST_NODES are possible"
    # shellcheck disable=SC2034 # read in net.sh
    PLAN_MTU=$3 PLAN_RATE=$4
    PLAN="$1 ${#PLAN_NODES[@]} $3 $4"
    [[ $UNDERLAY == ethernet ]] || PLAN+=" $UNDERLAY"
    [[ -z $PLAN_FILE ]] || PLAN+=" plan-$(cksum <<<"$PLANNED" | cut -d ' ' -f 1)"
}

# planned NAME SIZE: the plan of a topology, from its file or by the `prp` command.
planned() {
    local name=$1 size=${2:-${TOPOLOGIES[$1]-}} said
    if [[ -n $PLAN_FILE ]]; then
        grep -qs '^link ' "$PLAN_FILE" || usage "plan '$PLAN_FILE': a file is wanted that 'prp hosts generate' has printed"
        cat "$PLAN_FILE"
        return
    fi
    [[ -n ${TOPOLOGIES[$name]-} ]] || usage "no topology '$name'; there is: $(topologies)"
    [[ $size =~ ^[1-9][0-9]{0,3}$ ]] || usage "size '$size': a number is wanted"
    if [[ $name == pair ]]; then
        ((size == 2)) || usage "size '$size': pair has 2 nodes"
        # shellcheck disable=SC2154 # topo has it
        cat "$here/lib/pair.plan"
        return
    fi
    find_prp >&2
    if ! said=$("$PROGRAM" hosts generate "$name" "$size" --plan 2>&1); then
        [[ $said != *"'--plan'"* ]] || die "$PROGRAM is too old for this: cargo build --release -p prp-tools"
        usage "${said#prp: }"
    fi
    echo "$said"
}

# Finds PROGRAM, the `prp` command. An old one is sufficient, since plans do not change.
find_prp() {
    local built
    if [[ -z ${PRP_COMMAND-} ]]; then
        for built in release debug; do
            PROGRAM=${CARGO_TARGET_DIR:-$here/../target}/$built/prp
            [[ ! -x $PROGRAM ]] || return 0
        done
    fi
    find_program PRP_COMMAND prp-tools prp
}

# describe PLAN, in words
describe() {
    local name size mtu rate more words=''
    read -r name size mtu rate more <<<"$1"
    [[ $rate == none ]] && rate='no rate limit' || rate="$rate bit/s"
    case $(underlay_of "$more") in
    udp) words+=', over UDP' ;;
    unix) words+=', by Unix sockets' ;;
    both) words+=', over Ethernet and UDP' ;;
    esac
    [[ " $more " != *' faulty '* ]] || words+=', with faults'
    [[ " $more " != *' routers '* ]] || words+=', with prp-routed on each'
    echo "$name ($size nodes, MTU $mtu, $rate$words)"
}

# underlay_of WORDS: the underlay among the last words of a plan.
underlay_of() {
    case " $1 " in
    *' udp '*) echo udp ;;
    *' unix '*) echo unix ;;
    *' both '*) echo both ;;
    *) echo ethernet ;;
    esac
}

# A switch has no address.
ipv4_address() {
    [[ $1 == sw* ]] || echo "10.99.$(($1 >> 8)).$(($1 & 255))"
}

# unix_folder NODE: where the node's Unix sockets are. With faults each node has a folder of its
# own, in which the wire stands for the other one.
unix_folder() {
    # shellcheck disable=SC2154 # state.sh and faults.sh have them
    if [[ -n $FAULTS ]]; then echo "$STATE/unix$1"; else echo "$STATE/unix"; fi
}

# hosts_text NODE: the node's prphosts.
hosts_text() {
    local node=$1 line backup
    echo "# Written by netns-scripts/topo for node $node of $(describe "$PLAN")"
    while read -r line; do
        # After the routes over Ethernet, whose metrics are all lower. It leads to the node itself,
        # and not `via` a neighbour, which has a UDP address as well.
        backup="udp:$(ipv4_address "${line%% *}")"
        case $UNDERLAY in
        # The kernel has the route, and no node on it needs PRP.
        udp) echo "${line%% *} $backup ${line##* } mtu=$PLAN_MTU" ;;
        unix) echo "${line%% *} unix:$(unix_folder "$node") ${line##* }" ;;
        both)
            [[ $line == *' via '* ]] && backup+=' metric 9000' || backup+=' metric 10000'
            echo "${line% *}, $backup ${line##* }"
            ;;
        *) echo "$line" ;;
        esac
    done < <(planned_hosts "$node")
    # No address of the machine says which node it is.
    [[ $UNDERLAY != unix ]] || echo "self $node"
}

# planned_hosts NODE: the lines of its prphosts, over Ethernet.
planned_hosts() {
    sed -n "s/^hosts $1 //p" <<<"$PLANNED"
}

# ipv4_text NODE: a batch for `ip`. Addresses are /32, and every route is a host route by the best
# next hop of prphosts, so that one scheme serves every topology. Every line can be applied again,
# which `topo link NODE up` needs: the kernel deletes the routes and neighbours of a device that
# goes down.
ipv4_text() {
    local node=$1 other to by i own far
    local -A device=()
    own=$(ipv4_address "$node")
    for i in "${!IF_NODE[@]}"; do
        [[ ${IF_NODE[i]} != "$node" ]] || echo "addr replace $own/32 dev ${IF_DEV[i]}"
    done
    while read -r other to by _; do
        [[ $to == via ]] || device[$other]=$by
    done < <(planned_hosts "$node" | tr -d ,)
    while read -r other to by _; do
        far=$(ipv4_address "$other")
        if [[ $to == via ]]; then
            echo "route replace $far/32 via $(ipv4_address "$by") onlink src $own dev ${device[$by]}"
        elif [[ $other != "$node" ]]; then
            # Permanent, so that no ARP request ever shares the link with a measurement.
            echo "neigh replace $far lladdr $to nud permanent dev $by"
            echo "route replace $far/32 src $own dev $by"
        fi
    done < <(planned_hosts "$node" | tr -d ,)
}

# check_underlay MTU
check_underlay() {
    case $UNDERLAY in
    ethernet | unix) ;;
    udp | both)
        # The MTU that prphosts needs, with the headers of IP and UDP.
        (($1 >= 200)) || usage "MTU '$1': over UDP 200 to 65535 is possible"
        ;;
    *) usage "underlay '$UNDERLAY' (--underlay or PRP_UNDERLAY): ethernet, udp, both or unix" ;;
    esac
}

check_mtu() {
    if ! [[ $1 =~ ^[1-9][0-9]{1,4}$ ]] || (($1 < 68 || $1 > 65535)); then
        usage "MTU '$1': 68 to 65535 is possible"
    fi
}

# bits_per_second RATE: a rate in the units of tc as a plain number, so that 1gbit and 1000mbit are
# the same rate.
bits_per_second() {
    local text=${1,,} factor=1 bits
    if [[ $text == none ]]; then
        echo none
        return
    fi
    [[ $text =~ ^([0-9]{1,12}(\.[0-9]{1,6})?)(([kmgt]i?)?(bit|bps))?$ ]] ||
        usage "rate '$1': a number with bit, kbit, mbit or gbit is wanted, like 100mbit, or none"
    local number=${BASH_REMATCH[1]} prefix=${BASH_REMATCH[4]} unit=${BASH_REMATCH[5]}
    case $prefix in
    k) factor=1000 ;; m) factor=1000000 ;; g) factor=1000000000 ;; t) factor=1000000000000 ;;
    ki) factor=1024 ;; mi) factor=1048576 ;; gi) factor=1073741824 ;; ti) factor=1099511627776 ;;
    esac
    # bps means bytes per second to tc.
    [[ $unit != bps ]] || factor=$((factor * 8))
    bits=$(awk -v n="$number" -v f="$factor" 'BEGIN { printf "%.0f", n * f }')
    ((${#bits} <= 12 && bits >= 8000 && bits <= 100000000000)) || usage "rate '$1': 8kbit to 100gbit is possible"
    echo "$bits"
}

# tbf_words MTU BITS: the token bucket of one end of a link.
tbf_words() {
    local bytes=$(($2 / 8)) burst limit default=212992
    # A bucket of one millisecond, since the timer's resolution would lower the rate of a smaller
    # one; and at least one full frame, since a larger frame never passes. tc counts the bucket in
    # microseconds and rounds down, so two are added.
    burst=$((bytes / 1000))
    ((burst >= $1 + 14)) || burst=$(($1 + 14))
    burst=$((((burst + bytes / 500000) / 1024 + 1) * 1024))
    # A queue longer than the socket's buffer makes a sender block; a shorter one drops frames with
    # ENOBUFS.
    ! [[ -r /proc/sys/net/core/wmem_default ]] || default=$(</proc/sys/net/core/wmem_default)
    limit=$((4 << 20))
    ((limit >= 2 * default)) || limit=$((2 * default))
    echo "tbf rate $2bit burst $burst limit $limit"
}
