# shellcheck shell=bash
# nginx with four workers and wrk: files, connections that are kept and that are not, reloads.
# shellcheck disable=SC2034,SC2154 # check-programs and bench-programs read these; HOST2 is theirs

TOOLS[nginx]="nginx wrk curl openssl"
PACKAGES[nginx]="nginx-light wrk curl openssl"
LEAST[nginx]=10000000

# serve_nginx NODE PORT
serve_nginx() {
    local folder=$WORK/nginx
    owned "$folder"
    mkdir -p "$folder/files"
    head -c 64 /dev/zero | tr '\0' x >"$folder/files/small"
    noise 8 "$folder/files/large"
    cat >"$folder/nginx.conf" <<TEXT
worker_processes 4;
user nobody nogroup;
daemon off;
pid $folder/pid;
error_log $folder/errors;
events { worker_connections 512; }
http {
    sendfile on;
    access_log off;
    keepalive_requests 1000000;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    server {
        listen $2;
        location / { root $folder/files; }
        location /peer { return 200 "\$remote_addr\n"; }
    }
}
TEXT
    chmod -R a+rX "$folder"
    start "$1" nginx -c "$folder/nginx.conf" -p "$folder" -e "$folder/errors"
    listening "$1" "$2"
}

# load URL WORDS...: the requests of wrk that failed; nothing else of it is the same each time.
load() {
    local url=$1 said
    shift
    said=$(on 1 wrk -t 2 -c 16 -d 2s "$@" "$url")
    grep -q 'Requests/sec' <<<"$said" || die "wrk: $said"
    grep -E 'Socket errors|Non-2xx' <<<"$said" || echo "no request failed"
}

program_nginx() {
    local at master
    serve_nginx 2 7080
    master=${SERVERS[-1]}
    on 1 curl -sS "http://$HOST2:7080/large" | checksum
    on 1 curl -sS -r 1000-70000 "http://$HOST2:7080/large" | checksum
    [[ $(on 1 curl -sS "http://$HOST2:7080/peer") == "$HOST1" ]] && echo "the peer's address is known"
    load "http://$HOST2:7080/small"
    load "http://$HOST2:7080/large"
    load "http://$HOST2:7080/small" -H 'Connection: close' &
    local loading=$!
    for ((at = 0; at < 4; at++)); do
        kill -HUP "$master"
        sleep 0.4
    done
    wait "$loading"
}
