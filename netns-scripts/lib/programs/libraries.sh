# shellcheck shell=bash
# Event loops of Node, Python and Erlang: an echo of many connections at a time.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST2 is its own

TOOLS[node]="node"
PACKAGES[node]="nodejs"
LEAST[node]=10000000
TOOLS[erlang]="escript"
PACKAGES[erlang]="erlang-base"
LEAST[erlang]=40000000
LOOPS=(asyncio uvloop gevent tornado twisted)
TOOLS[loops]="python3"
PACKAGES[loops]="python3 python3-venv"
LEAST[loops]=1000000
FOLDER_OF_LIBRARIES=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# Packages of PyPI go into an environment of their own.
VENV=''

program_node() {
    start 2 node "$FOLDER_OF_LIBRARIES/echo.js" serve 7600
    listening 2 7600
    on 1 node "$FOLDER_OF_LIBRARIES/echo.js" call 7600 "$HOST2"
}

program_erlang() {
    start 2 escript "$FOLDER_OF_LIBRARIES/echo.escript" serve 7605
    listening 2 7605
    on 1 escript "$FOLDER_OF_LIBRARIES/echo.escript" call 7605 "$HOST2"
}

# has_library MODULE [PACKAGE]: whether Python's environment $VENV has it, or can have it from PyPI.
has_library() {
    VENV=$TARGET/programs/venv
    [[ -x $VENV/bin/python ]] || "$PYTHON" -m venv "$VENV" >&2 || die "python3-venv is missing"
    "$VENV/bin/python" -c "import $1" 2>/dev/null || "$VENV/bin/pip" install --quiet "${2-$1}" >&2
}

# What cannot be had is left out in both runs.
program_loops() {
    local loop port=7610
    for loop in "${LOOPS[@]}"; do
        has_library "$loop" || { echo "$loop cannot be had" && continue; }
        port=$((port + 1))
        start 2 "$VENV/bin/python" "$FOLDER_OF_LIBRARIES/echo.py" "$loop" serve "$port"
        listening 2 "$port"
        echo "$loop: $(on 1 "$VENV/bin/python" "$FOLDER_OF_LIBRARIES/echo.py" "$loop" call "$port" "$HOST2")"
    done
}
