# shellcheck shell=bash
# Namespaces, links and what runs in them.

namespace_name() {
    echo "$INSTANCE-$1"
}

# The path as seen from outside, in both modes. /proc/PID/root leads to the holder's own /run.
namespace_path() {
    if [[ $MODE == root ]]; then
        echo "/run/netns/$INSTANCE-$1"
    else
        echo "/proc/$HOLDER/root/run/netns/$INSTANCE-$1"
    fi
}

# device:inode of a node's namespace, or nothing if there is none: after a reboot the names are
# plain files.
namespace_id() {
    local path
    path=$(namespace_path "$1")
    [[ $(stat -fc %T "$path" 2>/dev/null) != nsfs ]] || stat -Lc %d:%i "$path"
}

# outside COMMAND...: with the privileges to make namespaces, on no node.
outside() {
    if [[ $MODE == root ]]; then
        "$@"
    else
        nsenter --preserve-credentials --user="/proc/$HOLDER/ns/user" --mount="/proc/$HOLDER/ns/mnt" \
            --net="/proc/$HOLDER/ns/net" -- "$@"
    fi
}

# inside V COMMAND...: in the namespace of a node or switch. Not `ip -n`, which mounts a sysfs first
# and so fails in containers that refuse that.
inside() {
    local path
    path=$(namespace_path "$1")
    shift
    if [[ $MODE == root ]]; then
        nsenter --net="$path" -- "$@"
    else
        nsenter --preserve-credentials --user="/proc/$HOLDER/ns/user" --mount="/proc/$HOLDER/ns/mnt" \
            --net="$path" -- "$@"
    fi
}

# try WHAT COMMAND...: if it fails, prints one line instead of the tool's several lines.
try() {
    local what=$1 said hint=''
    shift
    said=$("$@" 2>&1) && return
    case $said in
    *'nknown device type'*) hint=': the kernel has no such module (modprobe veth bridge)' ;;
    *'qdisc kind is unknown'*) hint=': the kernel has no such module (modprobe sch_tbf)' ;;
    esac
    die "cannot $what: $(tr -s '\n' ' ' <<<"$said")$hint"
}

bring_up() {
    # Commands on the nodes may run as another user, and must be able to read prphosts.
    umask 022
    BUILDING=''
    trap roll_back EXIT
    interruptible
    take_lock
    if [[ -d $STATE ]]; then
        find_holder
        # shellcheck disable=SC2046 # words
        if is_up $(vertices); then
            [[ $(<"$STATE/up") == "$PLAN" ]] ||
                die "instance '$INSTANCE' is up as $(describe "$(<"$STATE/up")"): 'topo down' first," \
                    "or choose another instance with -i"
            [[ -z $FAULTS ]] || { write_faults && wait_for_faults; }
            say "$(describe "$PLAN") is up already"
            return
        fi
        warn "clearing what an unfinished or broken topology left"
        tear_down || die "could not clear it"
    fi
    BUILDING=1
    build
    BUILDING=''
    say "$(describe "$PLAN") is up as '$INSTANCE'"
}

interruptible() {
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

roll_back() {
    local status=$?
    trap '' HUP INT TERM
    trap - EXIT
    if [[ -n $BUILDING ]]; then
        find_holder
        tear_down || warn "could not clear everything: 'topo down' tries again"
    fi
    # The lock as well, unless there is something to lock, or another process has it.
    if [[ ! -d $STATE ]] && flock -n 9 2>/dev/null && [[ /proc/self/fd/9 -ef $BASE/$INSTANCE.lock ]]; then
        remove_lock
    fi
    exit "$status"
}

build() {
    local v i
    # Routers of all nodes have their sockets in one folder, since the names of the sockets contain
    # the network namespace.
    try "write $STATE" mkdir "$STATE" "$STATE/ns" "$STATE/run"
    write_plan
    if [[ $MODE == rootless ]]; then
        start_holder
    else
        for v in "${PLAN_NODES[@]}" "${PLAN_SWITCHES[@]}" "${PLAN_WIRE[@]}"; do
            [[ ! -e /run/netns/$(namespace_name "$v") ]] ||
                die "network namespace $(namespace_name "$v") exists and is not topo's: choose another instance" \
                    "with -i, or 'ip netns del $(namespace_name "$v")'"
        done
    fi
    for v in "${PLAN_NODES[@]}" "${PLAN_SWITCHES[@]}" "${PLAN_WIRE[@]}"; do
        add_namespace "$v"
    done
    for ((i = 0; i < ${#IF_NODE[@]}; i += 2)); do
        if [[ -n $FAULTS ]]; then
            add_faulty_link "$i" $((i + 1))
        else
            add_link "$i" $((i + 1))
        fi
    done
    for v in "${PLAN_NODES[@]}" "${PLAN_SWITCHES[@]}"; do
        start_node "$v"
    done
    # Only now, because a route needs a device that is up, which needs both ends.
    for v in "${PLAN_NODES[@]}" "${PLAN_SWITCHES[@]}"; do
        wait_for_link "$v" || die "the links of $v do not come up"
        [[ $v == sw* ]] || try "set addresses and routes of node $v" inside "$v" ip -batch - <"$STATE/$v/ipv4"
    done
    [[ -z $FAULTS ]] || start_wire
    [[ -z $ROUTERS ]] || start_routers
    echo "$PLAN" >"$STATE/up.new"
    try "write $STATE" mv "$STATE/up.new" "$STATE/up"
}

write_plan() {
    local v i
    for v in "${PLAN_NODES[@]}" "${PLAN_SWITCHES[@]}" "${PLAN_WIRE[@]}"; do
        try "write $STATE" mkdir "$STATE/$v" "$STATE/$v/sys"
    done
    for v in "${PLAN_NODES[@]}"; do
        # Nodes have one file system, also where their networks are apart.
        # shellcheck disable=SC2153 # topo has it
        if [[ $UNDERLAY == unix && ! -d $(unix_folder "$v") ]]; then
            try "write $STATE" mkdir -m 1777 "$(unix_folder "$v")"
        fi
        hosts_text "$v" >"$STATE/$v/prphosts"
        ipv4_text "$v" >"$STATE/$v/ipv4"
    done
    for i in "${!IF_NODE[@]}"; do
        v=${IF_NODE[i]}
        echo "$v ${IF_DEV[i]} ${IF_MAC[i]} $(ipv4_address "$v" | grep . || echo -) ${IF_NODE[i ^ 1]} ${IF_DEV[i ^ 1]}"
    done | sort -V >"$STATE/interfaces"
}

add_namespace() {
    : >"$STATE/ns/$1"
    try "make the namespace of $1" outside ip netns add "$(namespace_name "$1")"
    namespace_id "$1" >"$STATE/ns/$1"
    # Before there is a device: IPv6 would send traffic on every new link. No reverse path filter,
    # because with several shortest routes the two directions may differ.
    # shellcheck disable=SC2016 # for the shell inside
    try "configure the namespace of $1" inside "$1" sh -c '
        cd /proc/sys/net || exit
        [ ! -e ipv6 ] || echo 1 >ipv6/conf/default/disable_ipv6 || exit
        echo 1 >ipv4/ip_forward &&
        echo 0 >ipv4/conf/all/rp_filter &&
        echo 0 >ipv4/conf/default/rp_filter'
}

# add_link I J: the link is made in its namespaces, so that the host never has these devices. The
# two ends have different indexes, which saves a second: the kernel reports the link at once to a
# device whose peer has another index, and otherwise late.
add_link() {
    local i=$1 j=$2
    try "link ${IF_NODE[i]} and ${IF_NODE[j]}" inside "${IF_NODE[i]}" \
        ip link add "${IF_DEV[i]}" index $((i + 11)) address "${IF_MAC[i]}" mtu "$PLAN_MTU" type veth peer \
        name "${IF_DEV[j]}" netns "$(namespace_name "${IF_NODE[j]}")" \
        index $((j + 11)) address "${IF_MAC[j]}" mtu "$PLAN_MTU"
}

start_node() {
    local v=$1 i batch='link set lo up'
    [[ $v != sw* ]] || batch+=$'\nlink add br0 type bridge forward_delay 0 mcast_snooping 0\nlink set br0 up'
    for i in "${!IF_NODE[@]}"; do
        [[ ${IF_NODE[i]} == "$v" ]] || continue
        [[ $v != sw* ]] || batch+=$'\n'"link set ${IF_DEV[i]} master br0"
        batch+=$'\n'"link set ${IF_DEV[i]} up"
        [[ $PLAN_RATE == none ]] || set_rate "$v" "${IF_DEV[i]}" "$PLAN_MTU" "$PLAN_RATE"
    done
    try "start $v" inside "$v" ip -batch - <<<"$batch"
}

# set_rate V DEVICE MTU BITS|none
set_rate() {
    if [[ $4 == none ]]; then
        # Fails if there is none, which is correct as well.
        inside "$1" tc qdisc del dev "$2" root 2>/dev/null || true
    else
        # shellcheck disable=SC2046 # words
        try "set the rate of $1 $2" inside "$1" tc qdisc replace dev "$2" root $(tbf_words "$3" "$4")
    fi
}

# links_of V: a line for each device, as `ip -o` prints them. Its error messages are discarded: it
# prints one for each name in /run/netns that was made in another mount namespace.
links_of() {
    inside "$1" ip -o link 2>/dev/null
}

# The kernel reports the link to a device a moment later, and drops its frames until then.
wait_for_link() {
    local tries links
    for ((tries = 0; tries < 250; tries++)); do
        links=$(links_of "$1") &&
            [[ ! $links =~ NO-CARRIER|'state DOWN'|'state LOWERLAYERDOWN' ]] && return 0
        sleep 0.01
    done
    return 1
}

take_down() {
    if [[ ! -d $BASE ]]; then
        say "nothing is up as '$INSTANCE'"
        return
    fi
    take_lock
    if [[ -d $STATE ]]; then
        find_holder
        ! grep -qxs "$(stat -Lc %d:%i /proc/self/ns/net)" "$STATE"/ns/* ||
            die "this shell runs on one of the nodes: call 'topo down' from outside"
        tear_down || die "'$INSTANCE' is not down; try again"
        say "'$INSTANCE' is down"
    else
        say "nothing is up as '$INSTANCE'"
    fi
    remove_lock
}

# Works from any state in which `up` or `down` was stopped, and may be stopped itself.
tear_down() {
    local file v id
    rm -f "$STATE/up"
    stop_processes || return 1
    if [[ $MODE == root ]]; then
        for file in "$STATE"/ns/*; do
            v=${file##*/}
            [[ -e /run/netns/$(namespace_name "$v") ]] || continue
            id=$(namespace_id "$v")
            # Another process may have removed the namespace and made one of the same name.
            if [[ -n $id && -s $file && $id != "$(<"$file")" ]]; then
                warn "leaving network namespace $(namespace_name "$v") alone: topo did not make it"
                continue
            fi
            ip netns del "$(namespace_name "$v")" || return 1
        done
    else
        stop_holder || return 1
    fi
    rm -rf "$STATE"
}

run_on_node() {
    local node=$1
    require_up "$node"
    PATH=$(programs_of_checkout):$PATH
    on_node "$@"
}

# on_node NODE COMMAND...: calls exec only: the calling process becomes the command, with the same
# pid, signals and status. The mount namespace is for /sys, in which programs search for devices;
# the rest of the host's files stays visible. If the kernel refuses a new sysfs, only /sys is wrong.
on_node() {
    local node=$1 hosts=$STATE/$1/prphosts
    shift
    # shellcheck disable=SC2016 # for the shell inside
    local program='
        sys=$1 hosts=$2
        shift 2
        mount -t sysfs sysfs "$sys" 2>/dev/null &&
            mount --bind "$sys/class/net" /sys/class/net 2>/dev/null &&
            mount --bind "$sys/devices/virtual/net" /sys/devices/virtual/net 2>/dev/null
        [ ! -f /etc/prphosts ] || [ ! -f "$hosts" ] || mount --bind "$hosts" /etc/prphosts 2>/dev/null
        exec "$@"'
    local -a enter=(nsenter --preserve-credentials --net="$(namespace_path "$node")")
    [[ $MODE == root ]] || enter+=(--user="/proc/$HOLDER/ns/user")
    [[ ! -f $hosts ]] || export PRP_HOSTS=$hosts
    export PRP_RUN_DIR=$STATE/run
    exec "${enter[@]}" -- unshare --mount --propagation slave -- sh -c "$program" sh "$STATE/$node/sys" "$hosts" "$@"
}

# MTU, state, rate and hardware address are read from the devices; the rest cannot change.
show_nodes() {
    local format=$1 v dev mac ipv4 peer far links='' queues='' last='' said mtu link_state rate rows=''
    if [[ ! -d $STATE ]]; then
        warn "nothing is up as '$INSTANCE'$(other_instances)"
        [[ $format != --json ]] || echo '[]'
        return
    fi
    require_up
    local wide=$((${#INSTANCE} + 6)) line over
    read -r _ _ _ _ over <"$STATE/up"
    over=$(underlay_of "$over")
    line="%-5s %-${wide}s %-7s %-18s %-12s %-6s %-10s %-11s %s\n"
    # shellcheck disable=SC2059 # the format is the line above
    [[ $format == --json ]] || printf "$line" NODE NAMESPACE DEVICE MAC IPV4 MTU RATE STATE PEER
    while read -r v dev mac ipv4 peer far; do
        if [[ $v != "$last" ]]; then
            links=$(links_of "$v")
            queues=$(inside "$v" tc qdisc show)
            last=$v
        fi
        mtu=- link_state=missing rate=none
        said=$(grep "^[0-9]*: ${dev}[@:]" <<<"$links" || true)
        if [[ $said =~ \<(.*)\>\ mtu\ ([0-9]+).*link/ether\ ([0-9a-f:]+) ]]; then
            mtu=${BASH_REMATCH[2]} mac=${BASH_REMATCH[3]}
            case ,${BASH_REMATCH[1]}, in
            *,NO-CARRIER,*) link_state=no-carrier ;;
            *,UP,*) link_state=up ;;
            *) link_state=down ;;
            esac
        fi
        said=$(grep "^qdisc tbf .* dev $dev " <<<"$queues" || true)
        [[ ! $said =~ rate\ ([0-9A-Za-z]+) ]] || rate=${BASH_REMATCH[1],,}
        if [[ $format == --json ]]; then
            rows+="${rows:+,}"$'\n'"$(json_row)"
        else
            # shellcheck disable=SC2059
            printf "$line" "$v" "$(namespace_name "$v")" "$dev" "$mac" "$ipv4" "$mtu" "$rate" "$link_state" "$peer:$far"
        fi
    done <"$STATE/interfaces"
    [[ $format != --json ]] || printf '[%s\n]\n' "$rows"
}

# With the variables of show_nodes. None of the values can hold a character that JSON would have
# quoted.
# shellcheck disable=SC2154
json_row() {
    printf '  {"node":"%s","namespace":"%s","path":"%s","device":"%s","mac":"%s","ipv4":"%s","mtu":%s,' \
        "$v" "$(namespace_name "$v")" "$(namespace_path "$v")" "$dev" "$mac" "$ipv4" "${mtu/-/null}"
    printf '"rate":"%s","state":"%s","peer":"%s:%s","underlay":"%s"}' "$rate" "$link_state" "$peer" "$far" "$over"
}

# set_link NODE up|down [DEVICE]
set_link() {
    local v=$1 to=$2 devices dev
    require_up "$v"
    take_lock
    # Again, since a `down` may have held the lock meanwhile.
    require_up "$v"
    devices=$(sed -n "s/^$v \([^ ]*\) .*/\1/p" "$STATE/interfaces")
    if [[ -n ${3-} ]]; then
        grep -qxF -- "$3" <<<"$devices" || usage "node $v has no device '$3'; it has: $(paste -sd ' ' <<<"$devices")"
        devices=$3
    fi
    for dev in $devices; do
        try "set $v $dev $to" inside "$v" ip link set "$dev" "$to"
        [[ $to == up && $v != sw* ]] || continue
        try "restore the routes of $v $dev" inside "$v" ip -batch - < <(grep " dev $dev\$" "$STATE/$v/ipv4")
    done
    [[ $to != up ]] || settle "$v"
}

# settle V: waits until the devices have their link, except devices whose other end is down.
settle() {
    local tries
    for ((tries = 0; tries < 20; tries++)); do
        [[ $(links_of "$1") =~ NO-CARRIER|'state DOWN' ]] || return 0
        sleep 0.01
    done
}

# change_rate BITS|none
change_rate() {
    require_up
    take_lock
    require_up
    local name size mtu rate more v dev rest
    read -r name size mtu rate more <"$STATE/up"
    while read -r v dev rest; do
        set_rate "$v" "$dev" "$mtu" "$1"
    done <"$STATE/interfaces"
    echo "$name $size $mtu $1${more:+ $more}" >"$STATE/up.new"
    mv "$STATE/up.new" "$STATE/up"
}
