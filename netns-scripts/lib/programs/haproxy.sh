# shellcheck shell=bash
# HAProxy in front of nginx, with splicing; its master replaces its worker under load.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST2 is its own

TOOLS[haproxy]="haproxy nginx wrk curl openssl"
PACKAGES[haproxy]="haproxy nginx-light wrk curl openssl"
LEAST[haproxy]=10000000

program_haproxy() {
    local folder=$WORK/haproxy port
    owned "$folder"
    serve_nginx 2 7080
    cat >"$folder/haproxy.conf" <<TEXT
global
    nbthread 2
    stats socket $folder/control.$PROTOCOL expose-fd listeners level admin
defaults
    mode http
    option splice-auto
    option http-keep-alive
    timeout connect 5s
    timeout client 10s
    timeout server 10s
frontend in
    bind :7300
    default_backend out
backend out
    server nginx $HOST2:7080 check inter 200
listen plain
    mode tcp
    bind :7301
    server nginx $HOST2:7080
TEXT
    haproxy -c -q -f "$folder/haproxy.conf"
    start 1 haproxy -W -db -f "$folder/haproxy.conf"
    listening 1 7300 7301
    for port in 7300 7301; do
        on 2 curl -sS "http://$HOST1:$port/large" | checksum
        on 2 wrk -t 2 -c 16 -d 1s "http://$HOST1:$port/small" | grep -E 'Socket errors|Non-2xx' || echo "no request failed"
    done
    on 2 wrk -t 2 -c 16 -d 3s -H 'Connection: close' "http://$HOST1:7300/small" >"$folder/said" &
    local load=$! at
    for ((at = 0; at < 3; at++)); do
        kill -USR2 "${SERVERS[-1]}"
        sleep 0.8
    done
    wait "$load"
    grep -E 'Socket errors|Non-2xx' "$folder/said" || echo "no request failed while its process was replaced"
}
