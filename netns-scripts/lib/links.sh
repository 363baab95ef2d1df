# shellcheck shell=bash
# The topologies. A topology is a function links_NAME that gets the size (empty when none was
# given), checks it, and prints one link a line: two nodes (`1 2`), or a node and a switch (`1
# sw1`). Nodes count from 1. Devices, addresses, routes, prphosts and the namespaces all follow from
# that list, so a new topology is one function here.

# Two nodes, one link.
links_pair() {
    size_between pair "${1:-2}" 2 2
    echo 1 2
}

# Nodes in a row: 1-2-3-...; eth0 leads to the node before, the last device to the one after.
links_chain() {
    local size=${1:-5} node
    # A frame crosses at most 15 routers (prp-proto/SPEC.md, PRP-HOPS-2).
    size_between chain "$size" 2 17
    for ((node = 1; node < size; node++)); do
        echo "$node $((node + 1))"
    done
}

# Nodes around one switch.
links_star() {
    local size=${1:-8} node
    size_between star "$size" 2 64
    for ((node = 1; node <= size; node++)); do
        echo "$node sw1"
    done
}

# A chain whose ends are linked too. Cut anywhere, it is a chain, hence the same limit.
links_ring() {
    local size=${1:-6} node
    size_between ring "$size" 3 17
    for ((node = 1; node <= size; node++)); do
        echo "$node $((node % size + 1))"
    done
}

# SIZE is the dimension, and the nodes are the corners of a cube of that many dimensions: two are
# linked when their numbers, counted from 0, differ in one bit. Dimension by dimension, so that ethK
# crosses dimension K.
links_hypercube() {
    local dimension=${1:-3} bit corner
    number_between hypercube "$dimension" 1 5 dimensions
    for ((bit = 0; bit < dimension; bit++)); do
        for ((corner = 0; corner < 1 << dimension; corner++)); do
            ((corner >> bit & 1)) || echo "$((corner + 1)) $(((corner | 1 << bit) + 1))"
        done
    done
}

# size_between NAME SIZE LEAST MOST
size_between() {
    number_between "$@" nodes
}

# number_between NAME SIZE LEAST MOST UNIT
number_between() {
    local allowed="$3 to $4 $5"
    (($3 != $4)) || allowed="$3 $5"
    # Not more than nine digits: a longer number would wrap around in the comparison.
    if ! [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || (($2 < $3 || $2 > $4)); then
        usage "size '$2': $1 has $allowed"
    fi
}

topologies() {
    compgen -A function links_ | sed 's/^links_//' | paste -sd ' '
}
