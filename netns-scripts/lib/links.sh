# shellcheck shell=bash
# The topologies. A topology is a function links_NAME that gets the size (empty when none was given), checks it, and
# prints one link a line: two nodes (`1 2`), or a node and a switch (`1 sw1`). Nodes count from 1. Devices, addresses,
# routes, prphosts and the namespaces all follow from that list, so a new topology is one function here.

# Two nodes, one link.
links_pair() {
    size_between pair "${1:-2}" 2 2
    echo 1 2
}

# size_between NAME SIZE LEAST MOST
size_between() {
    local allowed="$3 to $4 nodes"
    (($3 != $4)) || allowed="$3 nodes"
    # Not more than nine digits: a longer number would wrap around in the comparison.
    if ! [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || (($2 < $3 || $2 > $4)); then
        usage "size '$2': $1 has $allowed"
    fi
}

topologies() {
    compgen -A function links_ | sed 's/^links_//' | paste -sd ' '
}
