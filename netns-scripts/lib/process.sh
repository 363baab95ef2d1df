# shellcheck shell=bash
# Processes: the holder of the user namespace, and those that run on the nodes. None is ever found
# by its name.

# start_time PID: together with the pid it distinguishes a process from a later one with the same
# number. Fails if there is no such process.
start_time() {
    local line
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    # The name in parentheses may have any characters. The fields from the third on follow it.
    local -a fields
    read -ra fields <<<"${line##*) }"
    [[ ${fields[0]} != Z ]] || return 1
    echo "${fields[19]}"
}

# Sets HOLDER to the pid of the holder, or to nothing if there is none alive.
find_holder() {
    local pid start boot
    HOLDER=''
    [[ $MODE == rootless ]] && { read -r pid start boot <"$STATE/holder"; } 2>/dev/null || return 0
    [[ $boot != "$(</proc/sys/kernel/random/boot_id)" || $(start_time "$pid") != "$start" ]] || HOLDER=$pid
}

# The holder keeps a user, a mount and a network namespace, with its own /run, in which `ip netns`
# works as for root. It writes its pid to a file before it releases the lock, so that the next
# process that gets the lock can find it.
start_holder() {
    # shellcheck disable=SC2016 # for the shell inside
    local program='
        mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/netns || exit
        read -r line </proc/$$/stat
        pid=$$
        set -- "$1" ${line##*) }
        read -r boot </proc/sys/kernel/random/boot_id
        echo "$pid ${21} $boot" >"$1/holder.new" && mv "$1/holder.new" "$1/holder" || exit
        exec 9>&-
        exec sleep infinity 2>/dev/null'
    # Until it has written its pid, no other process could end it, so an interrupt must wait until
    # then.
    local caught=''
    trap caught=129 HUP
    trap caught=130 INT
    trap caught=143 TERM
    setsid unshare --user --map-root-user --net --mount -- sh -c "$program" sh "$STATE" \
        </dev/null >/dev/null 2>"$STATE/holder.errors" &
    local child=$! tries
    # It may already have ended. Its output is read below.
    disown 2>/dev/null || true
    for ((tries = 0; tries < 500; tries++)); do
        find_holder
        [[ -z $HOLDER ]] || break
        if ! start_time "$child" >/dev/null; then
            die "$(why_no_holder)"
        fi
        sleep 0.01 || true
    done
    if [[ -z $HOLDER ]]; then
        kill -KILL "$child" 2>/dev/null || true
        die "the user namespace was not ready within five seconds"
    fi
    interruptible
    [[ -z $caught ]] || exit "$caught"
}

why_no_holder() {
    local errors cure=''
    errors=$(head -n 1 "$STATE/holder.errors")
    local -A refuses=([kernel.unprivileged_userns_clone]=0 [user.max_user_namespaces]=0
        [kernel.apparmor_restrict_unprivileged_userns]=1)
    local name file
    for name in "${!refuses[@]}"; do
        file=/proc/sys/${name//.//}
        [[ -r $file && $(<"$file") == "${refuses[$name]}" ]] || continue
        cure="sysctl $name is ${refuses[$name]}; allow them with: sudo sysctl -w $name="
        case $name in
        kernel.unprivileged_userns_clone) cure+=1 ;;
        user.max_user_namespaces) cure+=10000 ;;
        *) cure+=0 ;;
        esac
    done
    echo "not root with CAP_SYS_ADMIN and CAP_NET_ADMIN, and no user namespace either" \
        "(${cure:-$errors}): or run topo with sudo"
}

stop_holder() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        # Checked each time, so that the signal never reaches another process.
        find_holder
        [[ -n $HOLDER ]] || return 0
        kill -KILL "$HOLDER" 2>/dev/null || true
        sleep 0.01
    done
    warn "process $HOLDER, which holds the namespaces, does not end"
    return 1
}

# The processes in our namespaces. A namespace without a name is known only by its inode number,
# which the kernel reuses. In such a namespace a process must also have our PRP_HOSTS.
processes_inside() {
    local file id was pid
    local -a ours=() lost=()
    for file in "$STATE"/ns/*; do
        [[ -f $file ]] || continue
        was=$(<"$file") id=$(namespace_id "${file##*/}")
        if [[ -n $id && ($was == "$id" || -z $was) ]]; then
            ours+=(-o -lname "net:\\[${id#*:}\\]")
        elif [[ -n $was ]]; then
            lost+=(-o -lname "net:\\[${was#*:}\\]")
        fi
    done
    find_processes "${ours[@]}"
    for pid in $(find_processes "${lost[@]}"); do
        ! grep -qsz "^PRP_HOSTS=$STATE/" "/proc/$pid/environ" || echo "$pid"
    done
}

# find_processes [-o -lname PATTERN]...
find_processes() {
    (($#)) || return 0
    # readlink fails for processes that end meanwhile, and for those that this one may not inspect.
    find /proc/[0-9]*/ns/net -maxdepth 0 \( "${@:2}" \) -printf '%h\n' 2>/dev/null | cut -d / -f 3 || true
}

# A process that still runs on a node would keep its namespace alive without a name. It has two
# seconds to end after SIGTERM, and then gets SIGKILL.
stop_processes() {
    local tries signal=TERM
    local -a pids
    for ((tries = 0; tries < 120; tries++)); do
        mapfile -t pids < <(processes_inside)
        ((${#pids[@]})) || return 0
        ((tries < 80)) || signal=KILL
        # Each is signalled once, but there may be new processes.
        if ((tries % 40 == 0 || tries > 80)); then
            kill -s "$signal" "${pids[@]}" 2>/dev/null || true
        fi
        sleep 0.025
    done
    warn "these processes on the nodes do not end: ${pids[*]}"
    return 1
}
