# shellcheck shell=bash
# From a list of links to everything that follows from it, without touching the system: devices,
# hardware addresses, IPv4 addresses, next hops, and the text of each node's prphosts and `ip
# -batch` file.
#
# PLAN                        name, size, MTU, rate, and perhaps `udp` or `both`, `faulty` and
#                             `routers`: two plans with the same words are the same
# CARRIER                     what PRP goes over: ethernet, udp or both
# PLAN_NODES, PLAN_SWITCHES   the vertices, in the order of their numbers and of appearance
# IF_NODE, IF_DEV, IF_MAC     one entry for each interface; the two ends of link L are the
#                             interfaces 2L and 2L+1, so the other end of interface I is I^1

# make_plan NAME SIZE MTU RATE
make_plan() {
    if ! [[ $1 =~ ^[a-z]+$ ]] || ! declare -F "links_$1" >/dev/null; then
        usage "no topology '$1'; there is: $(topologies)"
    fi
    local links
    # The function runs in a subshell, and its complaint is its own; only the status is passed on.
    links=$("links_$1" "$2") || exit
    PLAN_NODES=() PLAN_SWITCHES=() IF_NODE=() IF_DEV=() IF_MAC=()
    local -A ports=()
    local a b end link=0 port
    while read -r a b; do
        for end in "$a" "$b"; do
            port=${ports[$end]:-0}
            IF_NODE+=("$end")
            if [[ $end == sw* ]]; then
                IF_DEV+=("p$port")
                ((port > 0)) || PLAN_SWITCHES+=("$end")
            else
                IF_DEV+=("eth$port")
                ((port > 0)) || PLAN_NODES+=("$end")
            fi
            IF_MAC+=("$(mac_address "$link" "$end")")
            ports[$end]=$((port + 1))
        done
        link=$((link + 1))
    done <<<"$links"
    mapfile -t PLAN_NODES < <(printf '%s\n' "${PLAN_NODES[@]}" | sort -n)
    # shellcheck disable=SC2034 # read in net.sh
    PLAN_MTU=$3 PLAN_RATE=$4
    PLAN="$1 ${#PLAN_NODES[@]} $3 $4"
    [[ $CARRIER == ethernet ]] || PLAN+=" $CARRIER"
    join_neighbours
}

# describe PLAN, in words
describe() {
    local name size mtu rate more words=''
    read -r name size mtu rate more <<<"$1"
    [[ $rate == none ]] && rate='no rate limit' || rate="$rate bit/s"
    case $(carrier_of "$more") in
    udp) words+=', over UDP' ;;
    both) words+=', over Ethernet and UDP' ;;
    esac
    [[ " $more " != *' faulty '* ]] || words+=', with faults'
    [[ " $more " != *' routers '* ]] || words+=', with prp-routed on each'
    echo "$name ($size nodes, MTU $mtu, $rate$words)"
}

# carrier_of WORDS: the carrier among the last words of a plan.
carrier_of() {
    case " $1 " in
    *' udp '*) echo udp ;;
    *' both '*) echo both ;;
    *) echo ethernet ;;
    esac
}

# The address tells where a frame comes from: 02:00:00:00:LL:NN is node NN on link LL. The second
# and third byte carry what does not fit in one byte, and the fourth is a switch's number, which has
# node 0.
mac_address() {
    local link=$1 node=$2 switch=0
    [[ $node != sw* ]] || switch=${node#sw} node=0
    printf '02:%02x:%02x:%02x:%02x:%02x' $((node >> 8)) $((link >> 8)) "$switch" $((link & 255)) $((node & 255))
}

# A switch has no address.
ipv4_address() {
    [[ $1 == sw* ]] || echo "10.99.$(($1 >> 8)).$(($1 & 255))"
}

# NEIGHBOURS[NODE]: its neighbours as `I:J` words, its own interface I and the neighbour's interface
# J. All nodes on one switch are neighbours. DEGREE[NODE]: how many interfaces it has.
join_neighbours() {
    declare -gA NEIGHBOURS=() DEGREE=()
    local -A on_switch=()
    local i j far
    for i in "${!IF_NODE[@]}"; do
        far=${IF_NODE[i ^ 1]}
        [[ $far != sw* ]] || on_switch[$far]+=" $i"
    done
    for i in "${!IF_NODE[@]}"; do
        [[ ${IF_NODE[i]} != sw* ]] || continue
        DEGREE[${IF_NODE[i]}]=$((${DEGREE[${IF_NODE[i]}]:-0} + 1))
        far=${IF_NODE[i ^ 1]}
        if [[ $far != sw* ]]; then
            NEIGHBOURS[${IF_NODE[i]}]+=" $i:$((i ^ 1))"
            continue
        fi
        for j in ${on_switch[$far]}; do
            ((i == j)) || NEIGHBOURS[${IF_NODE[i]}]+=" $i:$j"
        done
    done
}

# find_routes NODE: fills WAYS[FAR] with the ways from NODE to every node that can be reached, the
# best first, as words `I:J:METRIC`: the first hop leaves by interface I for the neighbour's
# interface J. There is a way by each neighbour from which FAR is reached without coming back; by a
# switch, none but the direct one to the nodes on it. Shorter is better, then the order of the
# links, which in a hypercube is that of the dimensions. `prp hosts generate` does the same.
find_routes() {
    declare -gA WAYS=()
    local -A beside=() found=()
    local -i rank=0
    local hop far i
    for hop in ${NEIGHBOURS[$1]-}; do
        [[ ${IF_NODE[${hop%:*} ^ 1]} != sw* ]] || beside[${IF_NODE[${hop#*:}]}]=1
    done
    for hop in ${NEIGHBOURS[$1]-}; do
        i=${hop%:*}
        find_distances "$1" "${IF_NODE[${hop#*:}]}" "${IF_NODE[i ^ 1]}"
        for far in "${!DISTANCE[@]}"; do
            found[$far]+="${DISTANCE[$far]}:$rank:$hop "
        done
        rank+=1
    done
    for far in "${!found[@]}"; do
        rank_ways "$far" "${found[$far]}"
    done
}

# find_distances NODE NEIGHBOUR OVER: DISTANCE[FAR] in links from NEIGHBOUR, for all it reaches
# without NODE, and without the nodes NODE reaches directly if OVER is a switch, which the caller
# has in `beside`. Breadth first.
find_distances() {
    declare -gA DISTANCE=([$2]=0)
    [[ ${DEGREE[$2]} != 1 ]] || return 0
    local -a queue=("$2")
    local at hop next
    while ((${#queue[@]})); do
        at=${queue[0]}
        queue=("${queue[@]:1}")
        for hop in ${NEIGHBOURS[$at]}; do
            next=${IF_NODE[${hop#*:}]}
            [[ $next != "$1" && -z ${DISTANCE[$next]-} ]] || continue
            [[ $3 != sw* || -z ${beside[$next]-} ]] || continue
            DISTANCE[$next]=$((DISTANCE[$at] + 1))
            queue+=("$next")
        done
    done
}

# rank_ways FAR `DISTANCE:RANK:I:J`...: fills WAYS[FAR]. A link more weighs 16, more than any order
# of links.
rank_ways() {
    local distance rank i j shortest='' metric
    if [[ ${2% } != *' '* ]]; then
        IFS=: read -r distance rank i j <<<"$2"
        WAYS[$1]="$i:${j% }:0 "
        return
    fi
    while IFS=: read -r distance rank i j; do
        if [[ -z $shortest ]]; then
            shortest=$distance metric=0
        else
            metric=$((16 * (distance - shortest) + rank))
        fi
        WAYS[$1]+="$i:$j:$metric "
    done < <(tr ' ' '\n' <<<"${2% }" | sort -t : -k 1,1n -k 2,2n)
}

# hosts_text NODE, after find_routes NODE: the node's prphosts.
hosts_text() {
    local node=$1 other i
    echo "# Written by netns-scripts/topo for node $node of $(describe "$PLAN")"
    for other in "${PLAN_NODES[@]}"; do
        if [[ $CARRIER == udp ]]; then
            # The kernel knows the way, and nobody on it has to speak PRP.
            echo "$other udp:$(ipv4_address "$other") node$other mtu=$PLAN_MTU"
        elif [[ $other == "$node" ]]; then
            i=$(first_interface "$node")
            echo "$other ${IF_MAC[i]} ${IF_DEV[i]}$(backup_text "$other") node$other"
        elif [[ -n ${WAYS[$other]-} ]]; then
            ways_text "$other"
        fi
    done
}

# A neighbour's ways are hardware addresses, since two neighbours may not be `via` each other; all
# others are `via` neighbours.
ways_text() {
    local way i j metric first line=$1 backup=9000
    first=${WAYS[$1]%% *}
    first=${first#*:}
    for way in ${WAYS[$1]}; do
        IFS=: read -r i j metric <<<"$way"
        if [[ ${IF_NODE[${first%:*}]} == "$1" ]]; then
            line+=" ${IF_MAC[j]} ${IF_DEV[i]}" backup=10000
        else
            line+=" via ${IF_NODE[j]}"
        fi
        ((metric == 0)) || line+=" metric $metric"
        line+=,
    done
    # To the node itself, rather than to the neighbour it is `via`, which has a UDP address as well.
    echo "${line%,}$(backup_text "$1" "$backup") node$1"
}

# backup_text NODE [METRIC]: its UDP address, behind its ways over Ethernet, whose metrics are all
# below.
backup_text() {
    [[ $CARRIER != both ]] || echo ", udp:$(ipv4_address "$1") metric ${2:-10000}"
}

first_interface() {
    local i
    for i in "${!IF_NODE[@]}"; do
        [[ ${IF_NODE[i]} != "$1" ]] || break
    done
    echo "$i"
}

# ipv4_text NODE, after find_routes NODE: a batch for `ip`. Addresses are /32 and every route is a
# host route, so one scheme serves every topology. Every line can be applied again, which `topo link
# NODE up` needs: the kernel forgets routes and neighbours of a device that went down.
ipv4_text() {
    local node=$1 other i j own far dev
    own=$(ipv4_address "$node")
    for i in "${!IF_NODE[@]}"; do
        [[ ${IF_NODE[i]} != "$node" ]] || echo "addr replace $own/32 dev ${IF_DEV[i]}"
    done
    for other in "${PLAN_NODES[@]}"; do
        [[ -n ${WAYS[$other]-} ]] || continue
        IFS=: read -r i j _ <<<"${WAYS[$other]%% *}"
        dev=${IF_DEV[i]}
        far=$(ipv4_address "$other")
        if [[ ${IF_NODE[j]} == "$other" ]]; then
            # Permanent, so that no ARP request ever shares the link with a measurement.
            echo "neigh replace $far lladdr ${IF_MAC[j]} nud permanent dev $dev"
            echo "route replace $far/32 src $own dev $dev"
        else
            echo "route replace $far/32 via $(ipv4_address "${IF_NODE[j]}") onlink src $own dev $dev"
        fi
    done
}

# check_carrier MTU
check_carrier() {
    case $CARRIER in
    ethernet) ;;
    udp | both)
        # What prphosts takes, with IP's header and UDP's.
        (($1 >= 200)) || usage "MTU '$1': over UDP 200 to 65535 is possible"
        ;;
    *) usage "carrier '$CARRIER' (--carrier or PRP_CARRIER): ethernet, udp or both" ;;
    esac
}

check_mtu() {
    if ! [[ $1 =~ ^[1-9][0-9]{1,4}$ ]] || (($1 < 68 || $1 > 65535)); then
        usage "MTU '$1': 68 to 65535 is possible"
    fi
}

# bits_per_second RATE: a rate in the words of tc as a plain number, so that 1gbit and 1000mbit are
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
    # A bucket of one millisecond, or the timer's grain lowers the rate; at least one full frame, or
    # it never passes. tc counts the bucket in microseconds and rounds down, hence the two spare
    # ones.
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
