# shellcheck shell=bash
# Clusters: Dask, torch.distributed with Gloo, MPICH and Open MPI over their transports of TCP.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST1 and HOST2 are its own

TOOLS[dask]="python3"
PACKAGES[dask]="python3 python3-venv"
LEAST[dask]=16000000
TOOLS[gloo]="python3"
PACKAGES[gloo]="python3-torch"
LEAST[gloo]=50000000
# Gloo and MPI know the addresses of the machine's own devices, and no others.
OPTIONS[gloo]="--network 10.99.0.0/24"
TOOLS[mpich]="python3 gcc"
PACKAGES[mpich]="python3 python3-venv gcc libc6-dev"
LEAST[mpich]=1000000
OPTIONS[mpich]="--network 10.99.0.0/24"
TOOLS[openmpi]="mpiexec.openmpi mpicc.openmpi"
PACKAGES[openmpi]="openmpi-bin libopenmpi-dev gcc libc6-dev"
LEAST[openmpi]=1000000
OPTIONS[openmpi]="--network 10.99.0.0/24"
# Each of four ranks has one to the launcher's process beside it.
WITHIN[openmpi]=4
FOLDER_OF_CLUSTERS=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# A scheduler and two workers, each with its nanny, and a client that takes no part.
program_dask() {
    local node port=7701
    has_library distributed || die "distributed cannot be had"
    start 2 "$VENV/bin/dask" scheduler --host "$HOST2" --port 7700 --no-dashboard
    listening 2 7700
    for node in 1 2; do
        local host="HOST$node"
        start "$node" "$VENV/bin/dask" worker "tcp://$HOST2:7700" --host "${!host}" --worker-port $((port++)) \
            --nthreads 2 --no-dashboard --local-directory "$WORK/dask"
    done
    on 1 "$VENV/bin/python" "$FOLDER_OF_CLUSTERS/cluster.py" "tcp://$HOST2:7700" 2
}

program_gloo() {
    local GLOO_SOCKET_IFNAME=eth0
    export GLOO_SOCKET_IFNAME
    start 2 "$PYTHON" "$FOLDER_OF_CLUSTERS/gloo.py" 1 2 7730 10.99.0.1
    on 1 "$PYTHON" "$FOLDER_OF_CLUSTERS/gloo.py" 0 2 7730 10.99.0.1
}

# write_remote_shell: what launchers call in place of ssh. Each node has a host name of its own.
write_remote_shell() {
    cat >"$WORK/ssh" <<EOF
#!/bin/sh
while [ \$# -gt 0 ]; do
    case "\$1" in -o | -l | -p) shift 2 ;; -*) shift ;; *) break ;; esac
done
node=\${1##*.}
shift
exec "$here/topo" -i "$INSTANCE" exec "\$node" -- unshare -u sh -c \
    "hostname node\$node; export RANK_HOSTS=\\"\\\$PRP_HOSTS\\"; \$*"
EOF
    # The launcher passes the variables of its own node to all ranks, also PRP_HOSTS.
    cat >"$WORK/rank" <<EOF
#!/bin/sh
export PRP_HOSTS="\${RANK_HOSTS:-\$PRP_HOSTS}"
exec ${RUN[*]@Q} "\$@"
EOF
    chmod +x "$WORK/ssh" "$WORK/rank"
}

# mpi COMPILER LAUNCHER WORDS...: a program that checks itself, by that launcher with these options.
mpi() {
    write_remote_shell
    "$1" -O1 -Wno-stringop-overflow -o "$WORK/exchange" "$FOLDER_OF_CLUSTERS/exchange.c" >&2
    timeout -k 5 120 "$WORK/ssh" 10.99.0.1 "${@:2}" "$WORK/rank" "$WORK/exchange"
}

# Version 3, whose device polls plain sockets. Debian's version 4 by UCX does not return from
# MPI_Finalize on a busy machine, over TCP as well.
program_mpich() {
    has_library mpich mpich==3.4.3.post1 || die "mpich cannot be had"
    export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC=$WORK/ssh MPIR_CVAR_NOLOCAL=1
    mpi "$VENV/bin/mpicc" "$VENV/bin/mpiexec" -localhost 10.99.0.1 -hosts 10.99.0.1,10.99.0.2 -ppn 2 -n 4
}

program_openmpi() {
    mpi mpicc.openmpi mpiexec.openmpi --allow-run-as-root --mca plm_rsh_agent "$WORK/ssh" --mca oob_tcp_if_include 10.99.0.0/24 \
        --mca btl_tcp_if_include 10.99.0.0/24 --mca pml ob1 --mca btl tcp,self --mca osc pt2pt --bind-to none \
        -H 10.99.0.1:2,10.99.0.2:2 -n 4
}
