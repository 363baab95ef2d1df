# shellcheck shell=bash
# What is refused, and in which words.
# shellcheck disable=SC2154 # topo, scratch, A and B are of check-topo, said is of `ends`

# refused STATUS PATTERN ARGUMENTS...: checks that the output is one line that matches PATTERN, and
# that nothing was made.
refused() {
    local pattern=$2
    ends "$1" "$topo" "${@:3}"
    is "lines said by '${*:3}'" 1 "$(wc -l <<<"$said")"
    [[ $said =~ $pattern ]] || fail "'${*:3}' says: $said"
    nothing_left
}

check_errors() {
    refused 2 'no topology .torus.*: .*pair' up torus
    refused 2 'no topology' up 'pair;id'
    refused 2 'name of a topology' up
    refused 2 'size .3.: pair has 2 nodes' up pair 3
    refused 2 'size .99999999999999999999.' up pair 99999999999999999999
    refused 2 'a number is wanted' up chain three
    refused 2 'what is .x.' up pair 2 x
    refused 2 'plan .*/no/plan.*prp hosts generate' up annex --plan /no/plan
    refused 2 'plan .*/dev/null.*prp hosts generate' up annex --plan /dev/null
    refused 2 '68 to 65535' up pair --mtu 67
    refused 2 '68 to 65535' up pair --mtu 65536
    refused 2 '68 to 65535' up pair --mtu 08
    refused 2 'needs a value' up pair --mtu
    refused 2 'like 100mbit' up pair --rate fast
    refused 2 'like 100mbit' up pair --rate -1mbit
    refused 2 '8kbit to 100gbit' up pair --rate 1kbit
    refused 2 '8kbit to 100gbit' up pair --rate 1tbit
    refused 2 '0% to 100%' up pair --loss 101%
    refused 2 '0% to 100%' up pair --corrupt=-1
    refused 2 'a number is wanted' up pair --seed x
    refused 2 'no option --mut' up pair --mut 9000
    refused 2 'no command .start.' start
    refused 2 'instance name' -i Upper up pair
    refused 2 'instance name' -i ../x up pair
    refused 2 'instance name' -i abcdefghijklmnopqrstu up pair
    refused 2 'needs a node' exec
    refused 2 'needs a command' exec 1 --
    refused 1 "no topology is up as '$A'.*topo up" exec 1 -- true
    refused 1 'no topology is up' link 1 up
    refused 1 'no topology is up' rate none
    "$topo" up pair
    ends 2 "$topo" exec 3 -- true
    [[ $said == *"no node '3'; there is: 1 2"* ]] || fail "$said"
    ends 2 "$topo" exec ../1 -- true
}

check_sizes() {
    need_prp
    refused 2 'chain 18: 2 to 17 nodes' up chain 18
    refused 2 'ring 2: 3 to 17 nodes' up ring 2
    refused 2 'star has 65 nodes, and 64 are possible' up star 65
    refused 2 'hypercube has 128 nodes, and 64 are possible' up hypercube 7
    ends 1 env PRP_COMMAND=/no/prp "$topo" up chain 3
    [[ $said == *'PRP_COMMAND is /no/prp'* ]] || fail "$said"
}

check_missing_tool() {
    local -a apart=(unshare --mount)
    ((EUID == 0)) || apart=(unshare --user --map-root-user --mount)
    "${apart[@]}" true 2>/dev/null || skip "no mount namespace to hide ip in"
    # shellcheck disable=SC2016 # for the shell inside
    ends 1 "${apart[@]}" sh -c 'for f in $(type -a ip | sed "s/.* is //") /usr/sbin/ip /sbin/ip /usr/bin/ip; do
        [ ! -x "$f" ] || mount --bind /dev/null "$f"; done; exec "$0" up pair' "$topo"
    [[ $said == *"apt-get install iproute2"* ]] || fail "$said"
}

check_no_namespaces() {
    unshare --user --map-root-user true 2>/dev/null || skip "no user namespace to forbid them in"
    # shellcheck disable=SC2016 # for the shell inside
    ends 1 unshare --user --map-root-user sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" up pair' "$topo"
    [[ $said == *"sysctl -w user.max_user_namespaces"*sudo* ]] || fail "$said"
    nothing_left
    is leftovers "" "$(find /tmp/prp-topo-0 -name "$A*" 2>/dev/null || true)"
}

# topo must not use a folder in /tmp that belongs to another user.
check_planted_state() {
    ((EUID != 0)) || skip "root keeps its state in /run, where nobody else can write"
    [[ ! -e /tmp/prp-topo-$EUID ]] || skip "/tmp/prp-topo-$EUID is in use"
    mkdir "$scratch/elsewhere"
    ln -s "$scratch/elsewhere" "/tmp/prp-topo-$EUID"
    local status=0
    said=$("$topo" up pair 2>&1) || status=$?
    rm "/tmp/prp-topo-$EUID"
    is status 1 "$status"
    [[ $said == *"/tmp/prp-topo-$EUID is not"* ]] || fail "$said"
    is "what was written there" "" "$(ls "$scratch/elsewhere")"
}

check_the_errors() {
    check "errors are one line and leave nothing" check_errors
    check "sizes that cannot be" check_sizes
    check "a missing tool is named with its package" check_missing_tool
    check "forbidden user namespaces are explained" check_no_namespaces
    check "a planted state folder is refused" check_planted_state
}
