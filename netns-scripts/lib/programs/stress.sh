# shellcheck shell=bash
# stress-ng's stressors of sockets and descriptors. They know the loopback address only.
# shellcheck disable=SC2034,SC2154 # check-programs reads these

TOOLS[stress]="stress-ng"
PACKAGES[stress]="stress-ng"
LEAST[stress]=1000000
OPTIONS[stress]="--loopback 1"
STRESS_SECONDS=${STRESS_SECONDS:-3}

program_stress() {
    local stressor
    for stressor in sock sockmany sockfd sockpair sendfile epoll dup fork; do
        LIMIT=$((STRESS_SECONDS + 60)) on 1 stress-ng --quiet --"$stressor" 2 --timeout "${STRESS_SECONDS}s" --verify 2>&1 &&
            echo "$stressor: passed" || echo "$stressor: status $?"
    done
}
