# shellcheck shell=bash
# Event loops of Node and Python: an echo of many connections at a time.
# shellcheck disable=SC2034,SC2154 # check-programs reads these; HOST2 is its own

TOOLS[node]="node"
PACKAGES[node]="nodejs"
LEAST[node]=10000000
LOOPS=(asyncio uvloop gevent tornado twisted)
TOOLS[loops]="python3"
PACKAGES[loops]="python3 python3-venv"
LEAST[loops]=1000000
FOLDER_OF_LIBRARIES=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

program_node() {
    start 2 node "$FOLDER_OF_LIBRARIES/echo.js" serve 7600
    listening 2 7600
    on 1 node "$FOLDER_OF_LIBRARIES/echo.js" call 7600 "$HOST2"
}

# Those of PyPI go into an environment of their own; what cannot be had is left out in both runs.
program_loops() {
    local venv=$TARGET/programs/venv loop port=7610
    [[ -x $venv/bin/python ]] || "$PYTHON" -m venv "$venv" >&2 || die "python3-venv is missing"
    for loop in "${LOOPS[@]}"; do
        [[ $loop == asyncio ]] || "$venv/bin/python" -c "import $loop" 2>/dev/null ||
            "$venv/bin/pip" install --quiet "$loop" >&2 || { echo "$loop cannot be had" && continue; }
        port=$((port + 1))
        start 2 "$venv/bin/python" "$FOLDER_OF_LIBRARIES/echo.py" "$loop" serve "$port"
        listening 2 "$port"
        echo "$loop: $(on 1 "$venv/bin/python" "$FOLDER_OF_LIBRARIES/echo.py" "$loop" call "$port" "$HOST2")"
    done
}
