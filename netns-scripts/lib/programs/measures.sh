# shellcheck shell=bash
# Programs that measure: here it counts that their bytes arrive, and arrive right.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST2 is its own

TOOLS[iperf3]="iperf3 python3"
PACKAGES[iperf3]="iperf3 python3"
LEAST[iperf3]=200000000
TOOLS[sockperf]="sockperf"
PACKAGES[sockperf]="sockperf"
LEAST[sockperf]=10000
UNSHOWN[sockperf]="its sendto with an address fails with EISCONN, as docs/run.md says"
TOOLS[netpipe]="NPtcp"
PACKAGES[netpipe]="netpipe-tcp"
LEAST[netpipe]=1000000

# sent WORDS...: bytes that iperf3's client, or with -R its server, has sent.
sent() {
    on 1 iperf3 -c "$HOST2" -p 7201 -J "$@" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["end"]["sum_sent"]["bytes"] >= 64_000_000)'
}

program_iperf3() {
    start 2 iperf3 -s -p 7201
    listening 2 7201
    sent -n 64M
    sent -n 64M -P 4
    sent -n 64M -R
    on 1 iperf3 -c "$HOST2" -p 7201 -t 1 --bidir -J |
        python3 -c 'import json, sys; end = json.load(sys.stdin)["end"]; print(end["sum_received_bidir_reverse"]["bytes"] > 0)'
}

program_sockperf() {
    start 2 sockperf sr --tcp -p 7011
    listening 2 7011
    on 1 sockperf ping-pong --tcp -i "$HOST2" -p 7011 -t 1 | grep -o 'dropped messages.*'
    on 1 sockperf under-load --tcp -i "$HOST2" -p 7011 -t 1 --mps 1000 --msg-size 1000 | grep -o 'dropped messages.*'
}

program_netpipe() {
    # It has a port of its own.
    start 2 NPtcp -i -u 65536
    listening 2 5002
    on 1 NPtcp -i -h "$HOST2" -u 65536 -o "$WORK/netpipe" 2>&1 | grep -c passed
}
