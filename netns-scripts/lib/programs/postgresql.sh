# shellcheck shell=bash
# PostgreSQL, whose server forks a process for each connection: pgbench, with a new connection for
# each transaction too, and a copy of large data.
# shellcheck disable=SC2034,SC2154 # check-programs and bench-programs read these; HOST2 is theirs

# Debian has its programs outside PATH.
POSTGRESQL=$(printf '%s\n' /usr/lib/postgresql/*/bin | tail -n 1)
PATH=$PATH:$POSTGRESQL
TOOLS[postgresql]="postgres initdb psql pgbench setpriv"
PACKAGES[postgresql]="postgresql postgresql-contrib"
LEAST[postgresql]=1000000

# As no root, which the server refuses to run as.
as_postgres() {
    setpriv --reuid=postgres --regid=postgres --clear-groups env "PATH=$PATH" "$@"
}

serve_postgresql() {
    local folder=$WORK/database.$PROTOCOL
    [[ -d $folder/data ]] || make_database "$folder"
    start 2 setpriv --reuid=postgres --regid=postgres --clear-groups "$POSTGRESQL/postgres" -D "$folder/data"
    listening 2 7432
    await on 1 pg_isready -q -h "$HOST2" -p 7432
}

# make_database FOLDER
make_database() {
    local folder=$1
    mkdir -p "$folder"
    chown postgres "$folder"
    as_postgres initdb -D "$folder/data" -A trust --no-sync >/dev/null
    cat >>"$folder/data/postgresql.conf" <<TEXT
listen_addresses = '0.0.0.0'
port = 7432
unix_socket_directories = '$folder'
fsync = off
TEXT
    # By the addresses of nodes, which the server reads from its connections.
    echo "host all all ${HOST1%.*}.0/24 trust" >"$folder/data/pg_hba.conf"
}

sql() {
    on 1 psql -h "$HOST2" -p 7432 -U postgres -d postgres -qAt -c "$1"
}

# pgbench WORDS...: what went wrong, and how many transactions there were if their number is set.
bench_sql() {
    on 1 "$POSTGRESQL/pgbench" -h "$HOST2" -p 7432 -U postgres "$@" postgres 2>&1 |
        grep -E 'number of transactions actually|number of failed|error|abort'
}

program_postgresql() {
    serve_postgresql
    on 1 "$POSTGRESQL/pgbench" -h "$HOST2" -p 7432 -U postgres -i -q -s 1 postgres 2>&1 | grep -c 'done in'
    bench_sql -n -S -c 4 -t 500
    bench_sql -n -c 4 -t 100
    bench_sql -n -C -S -c 4 -t 25
    sql 'select count(*), sum(abalance) = (select sum(delta) from pgbench_history) from pgbench_accounts'
    sql "select length(repeat('x', 5000000))"
    sql 'copy (select aid, bid from pgbench_accounts order by aid) to stdout' | checksum
    [[ $(sql "select host(inet_client_addr())") == "$HOST1" ]] && echo "the peer's address is known"
    # A signal to the process of another connection ends its query.
    sql 'select pg_sleep(30)' >/dev/null 2>&1 &
    local sleeping=$!
    await cancelled
    wait "$sleeping" || echo "cancelled"
}

cancelled() {
    [[ $(sql "select pg_cancel_backend(pid) from pg_stat_activity where query like 'select pg_sleep%'") == t ]]
}
