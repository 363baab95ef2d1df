# shellcheck shell=bash
# Redis: its server, its client, its benchmark; saving and a replica under load.
# shellcheck disable=SC2034,SC2154 # check-programs and bench-programs read these; HOST2 is theirs

TOOLS[redis]="redis-server redis-cli redis-benchmark redis-check-rdb"
PACKAGES[redis]="redis-server redis-tools"
LEAST[redis]=10000000

# serve_redis NODE PORT: a server that keeps nothing by itself.
serve_redis() {
    owned "$WORK/redis.$2.$PROTOCOL"
    start "$1" redis-server --port "$2" --bind 0.0.0.0 --protected-mode no --save '' --dir "$WORK/redis.$2.$PROTOCOL"
    listening "$1" "$2"
}

redis() {
    on 1 redis-cli -h "$HOST2" -p 7379 "$@"
}

replica() {
    on 2 redis-cli -h "$HOST1" -p 7380 "$@"
}

has_saved() {
    redis info persistence | tr -d '\r' | grep -qx rdb_bgsave_in_progress:0
}

is_replicated() {
    replica info replication | tr -d '\r' | grep -qx master_link_status:up
}

program_redis() {
    serve_redis 2 7379
    redis ping
    noise 1 "$WORK/noise"
    redis -x set large <"$WORK/noise" >/dev/null
    redis get large | head -c 1048576 | checksum
    on 1 redis-benchmark -h "$HOST2" -p 7379 -n 20000 -c 50 -q -t set,get,lpush,lrange_100 |
        tr '\r' '\n' | grep 'requests per second' | cut -d : -f 1
    on 1 redis-benchmark -h "$HOST2" -p 7379 -n 20000 -c 20 -P 16 -r 5000 -q -t set >/dev/null &
    local load=$!
    redis bgsave
    wait "$load"
    await has_saved
    on 1 redis-benchmark -h "$HOST2" -p 7379 -n 20000 -c 20 -P 16 -q -t incr >/dev/null
    redis bgsave
    await has_saved
    redis-check-rdb "$WORK/redis.7379.$PROTOCOL/dump.rdb" | grep -c 'RDB looks OK'
    redis get counter:__rand_int__
    serve_redis 1 7380
    replica replicaof "$HOST2" 7379
    await is_replicated
    replica get counter:__rand_int__
    redis info persistence | tr -d '\r' | grep -x rdb_last_bgsave_status:ok
}
