# shellcheck shell=bash
# memcached, tested by libmemcached's memccapable.
# shellcheck disable=SC2034,SC2154 # check-programs and bench-programs read these; HOST2 is theirs

TOOLS[memcached]="memcached memccapable memcslap"
PACKAGES[memcached]="memcached libmemcached-tools"
LEAST[memcached]=100000

serve_memcached() {
    start 2 memcached -l 0.0.0.0 -p 7211 -U 0 -u nobody -t 4
    listening 2 7211
}

program_memcached() {
    serve_memcached
    # It has a test or two that this version of the server fails: by name they are to be the same.
    on 1 memccapable -h "$HOST2" -p 7211 2>&1 | sed 's/[[:space:]]\+/ /g' || true
    on 1 memcslap --servers="$HOST2:7211" --concurrency=8 --execute-number=500 --test=get |
        sed 's/Took.*//; s/[0-9.]* seconds.*//'
}
