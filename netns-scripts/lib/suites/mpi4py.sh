# shellcheck shell=bash
# mpi4py's own tests. It is built for the standard ABI, and so runs on any implementation of it.
# A script that sources this has $BIN and $PEERS.
# shellcheck disable=SC2034 # the script that sources this has them

SUITE="mpi4py 4.1.2"
RANKS=1,2,4
# All of mpi4py's tests but those of LEFT_OUT.
MODULES="address attributes buffer cco_buf cco_buf_inter cco_nb_buf cco_nb_vec cco_ngh_buf cco_ngh_obj cco_obj
cco_obj_inter cco_pr_buf cco_pr_ngh_buf cco_pr_vec cco_vec cco_vec_inter cffi comm comm_inter comm_topo ctypes
datatype doc dynproc environ errhandler errorcode exceptions file grequest group handle info io mpiabi mpiapi mpimem
msgspec msgzero objmodel op p2p_buf p2p_buf_matched p2p_buf_part p2p_obj p2p_obj_matched pack pickle request rma rma_nb
session spawn status subclass threads toplevel util_dtlib util_pkl5 util_pool util_sync win"
# Each module takes a second or two on two ranks.
SHORT="attributes cco_buf cco_buf_inter cco_ngh_obj cco_obj cco_obj_inter cco_vec cco_vec_inter comm comm_inter
comm_topo environ errhandler group p2p_buf p2p_obj p2p_obj_matched request session status"
# Modules that do not run here, and why.
declare -A LEFT_OUT=(
    [package]="tests files of the package, not MPI"
    [ulfm]="MPIX functions of fault tolerance, which the standard ABI does not have"
)

# fetch: downloads mpi4py and its tests, and what builds it.
fetch() {
    # Debian has them in separate packages.
    python3 -c 'import ensurepip, sysconfig, os; os.stat(sysconfig.get_paths()["include"] + "/Python.h")' 2>/dev/null ||
        install_packages python3-venv python3-dev || warn "python3-venv or python3-dev is missing"
    python3 -m venv "$HOME_OF" &&
        "$HOME_OF/bin/pip" --quiet install numpy 'setuptools>=80' cython wheel &&
        "$HOME_OF/bin/pip" --quiet download --no-deps --no-build-isolation --no-binary mpi4py --dest "$HOME_OF" "mpi4py==${SUITE#* }"
}

# prepare_suite: builds it for the ABI, without optimization, which is five times as fast; fails if
# it cannot be had.
prepare_suite() {
    HOME_OF=$PEERS/${SUITE/ /-}
    [[ ! -d $HOME_OF/tests ]] || return 0
    say "$SUITE is compiled"
    rm -rf -- "$HOME_OF"
    fetch || return 1
    CFLAGS="-O0 -g0" MPI4PY_BUILD_MPIABI=1 MPICC=$BIN/prp-mpicc "$HOME_OF/bin/pip" --quiet install --no-cache-dir \
        --no-deps --no-build-isolation "$HOME_OF/${SUITE/ /-}.tar.gz" || die "$SUITE does not compile: see above"
    tar -xzf "$HOME_OF/${SUITE/ /-}.tar.gz" -C "$HOME_OF"
    mv -- "$HOME_OF/${SUITE/ /-}/test" "$HOME_OF/tests"
}

# run_module RANKS MODULE: one module on this number of ranks.
run_module() {
    cd "$HOME_OF/tests" || return
    launch_ranks 300 "$1" "$HOME_OF/bin/python" main.py -q -i "test_$2\."
}

# summary LOG: what is said of a module that has passed.
summary() {
    grep -m 1 '^Ran ' "$1"
}

# reasons LOG: the tests that failed.
reasons() {
    grep -E '^(ERROR|FAIL):|ended the job' "$1"
}
