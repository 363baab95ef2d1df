# shellcheck shell=bash
# One network for all nodes of a star, as the Ethernet of the papers was: what comes into the switch
# from any node passes one queue of limited rate. A script that sources this has a function topo.

# A small MTU: the token bucket sends about one frame at once at any rate, so the first frame of a
# message takes no time.
# shellcheck disable=SC2034 # scripts that source this have it
SHARED_MTU=576

# share_network RATE: of the star that is up, with SHARED_MTU and no limit of its links.
share_network() {
    # The bucket is a frame of SHARED_MTU, and the bytes of 0.05 ms at 100 Mbit/s, by which a timer
    # may be late.
    # shellcheck disable=SC2016 # the shell there expands them
    topo exec sw1 -- sh -c '
        set -e
        ip link add shared type ifb
        ip link set shared up
        tc qdisc replace dev shared root tbf rate "$1" burst 1200 limit 4m
        for port in $(ip -o link show master br0 | sed "s/^[0-9]*: \([^:@]*\).*/\1/"); do
            tc qdisc add dev "$port" ingress
            tc filter add dev "$port" parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev shared
        done' sh "$1" || die "the network cannot be shared: see above"
}
