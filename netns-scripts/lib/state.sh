# shellcheck shell=bash
# What is kept on disk between two calls of topo, and the lock around it.
#
#   BASE/INSTANCE.lock        locked by the process that changes something
#   BASE/INSTANCE/holder      without root: the process of the user namespace: pid, start time, boot
#   BASE/INSTANCE/ns/V        node or switch V has a namespace; written before it is made,
#                             device:inode added after
#   BASE/INSTANCE/interfaces  one line each: node device mac ipv4 peer peer-device
#   BASE/INSTANCE/V/prphosts  what exec puts into PRP_HOSTS
#   BASE/INSTANCE/V/ipv4      addresses, neighbours and routes, for `ip -batch`
#   BASE/INSTANCE/V/sys       mount point for exec
#   BASE/INSTANCE/V/routed    with routers: see routers.sh
#   BASE/INSTANCE/faults      with faults: see faults.sh
#   BASE/INSTANCE/up          NAME SIZE MTU RATE [udp|both|unix] [plan-SUM] [faulty] [routers];
#                             written last, so without it the rest is a leftover

# MODE is root or rootless. The two never share a folder, since the holder of the rootless mode has
# another /run.
set_paths() {
    if may_make_namespaces; then
        MODE=root BASE=/run/prp-topo
    else
        # Not XDG_RUNTIME_DIR: it differs between a login and `su`, and a topology that one brings
        # up the other must be able to take down.
        MODE=rootless BASE=/tmp/prp-topo-$EUID
    fi
    STATE=$BASE/$INSTANCE
    # All users may write to /tmp, and with another user's state topo would signal that user's
    # processes.
    if [[ -e $BASE || -L $BASE ]] && ! [[ -d $BASE && -O $BASE && ! -L $BASE ]]; then
        die "$BASE is not a folder of your own: have its owner remove it"
    fi
}

# Holds the lock until this process and all its children have ended: after a kill -9, the next topo
# also waits for an `ip` that still runs. Always descriptor 9, since sh can only close those of one
# digit.
take_lock() {
    local lock=$BASE/$INSTANCE.lock mode=755 tries
    [[ $MODE == root ]] || mode=700
    # In a loop, because a concurrent `down` may remove the file, and perhaps the folder, between
    # two steps.
    for ((tries = 0; tries < 100; tries++)); do
        mkdir -m "$mode" "$BASE" 2>/dev/null || true
        { exec 9>>"$lock"; } 2>/dev/null || continue
        flock -w 60 9 || die "another topo has been at work on instance '$INSTANCE' for a minute: end it first"
        # A lock on a removed file excludes no process.
        [[ ! /proc/self/fd/9 -ef $lock ]] || return 0
    done
    die "cannot write $lock: is there space, and is $BASE writable?"
}

# Removes the lock, the last trace of the instance, after its state.
remove_lock() {
    rm -f "$BASE/$INSTANCE.lock"
    rmdir "$BASE" 2>/dev/null || true
}

# uid 0 is not sufficient: a container may lack the capabilities, and uid 0 of a user namespace may
# not change the mounts of its parent. A process may do both exactly if it may enter its own mount
# namespace.
may_make_namespaces() {
    ((EUID == 0)) || return 1
    local status caps=0 net_admin=12
    # Reads the whole file first: `read` seeks in the file after every line, and earlier lines may
    # have another length by then.
    status=$(</proc/self/status)
    [[ ! $status =~ CapEff:[[:space:]]*([0-9a-f]+) ]] || caps=${BASH_REMATCH[1]}
    ((0x$caps >> net_admin & 1)) && [[ -w /run ]] && nsenter --mount=/proc/self/ns/mnt true 2>/dev/null
}

# is_up V...: whether the topology is complete, and the namespaces of these nodes are still the
# original ones, which a reboot or an `ip netns del` changes.
is_up() {
    local v
    [[ -f $STATE/up && ($MODE == root || -n $HOLDER) ]] || return 1
    for v in "$@"; do
        [[ $(namespace_id "$v") == "$(<"$STATE/ns/$v")" ]] || return 1
    done
}

# require_up [V]: for node V, which must exist, or for all nodes.
require_up() {
    [[ -d $STATE ]] || die "no topology is up as '$INSTANCE'$(other_instances): bring one up with 'topo up pair'"
    local -a all
    find_holder
    mapfile -t all < <(vertices)
    if (($#)) && [[ -f $STATE/up && " ${all[*]} " != *" $1 "* ]]; then
        usage "no node '$1'; there is: ${all[*]}"
    fi
    is_up "${@:-${all[@]}}" ||
        die "instance '$INSTANCE' is broken or not up yet: 'topo down' clears it, then 'topo up'"
}

vertices() {
    local file
    for file in "$STATE"/ns/*; do
        [[ ! -f $file ]] || echo "${file##*/}"
    done | sort -V
}

other_instances() {
    local file names=''
    for file in "$BASE"/*/up; do
        [[ ! -f $file ]] || names+=" $(basename "$(dirname "$file")")"
    done
    [[ -z $names ]] || echo " (but as:$names)"
}
