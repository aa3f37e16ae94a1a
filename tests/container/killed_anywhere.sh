#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 of the run at many moments (looking at the container, bringing the program in, measuring, parked), of it alone
# and of its whole process group: no process, file, mount or group stays, on the host or in the LXC container.
# shellcheck source=lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=lxc.bash
. "${0%/*}/lxc.bash"
lxc_make "lxc.net.0.type = none"
lxc_up
mounts() { cut -d' ' -f5- /proc/self/mountinfo | sort | md5sum; }
groups() { find /sys/fs/cgroup -type d -name "*$NAME*" | sort; }
in_it() { lxc-attach --clear-env -n "$NAME" -- /usr/bin/find /proc /tmp /var/tmp /run /dev/shm -maxdepth 1 \( -name '[0-9]*' -o -name '.gpuvet-*' \) 2>/dev/null | wc -l; }
mounted=$(mounts) grouped=$(groups) inside=$(in_it)
moments=(0.05 0.3 0.6 1 1.6)
[ -z "${GPUVET_TEST_LONG:-}" ] || moments=(0.02 0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1 1.2 1.4 1.6 2 2.5 3)
for after in "${moments[@]}"; do
    for whole in "" -; do
        # In a session of its own its process group is its alone.
        rm -f pid
        setsid --fork bash -c 'echo $$ >pid; exec "$@"' sh "$GPUVET" run --profile quick --rounds 3 --case null \
            --case host.frequency --allow-busy --no-baseline --in host --in "lxc:$NAME" >out 2>err
        until [ -s pid ]; do sleep 0.01; done
        sleep "$after"
        pid=$(cat pid)
        kill -9 -- "$whole$pid" 2>/dev/null || { [ -s out ] || fail "the run had ended by itself after $after s: $(tail -1 err)"; }
        nothing_left 30 "$LXC_ROOT/tmp" "$LXC_ROOT/var/tmp" "$LXC_ROOT/run"
        for _ in $(seq 100); do [ "$(in_it)" = "$inside" ] && break; sleep 0.1; done
        [ "$(in_it)" = "$inside" ] || fail "something stays in the container, killed ${whole:+with its group }after $after s"
        [ "$(mounts)" = "$mounted" ] || fail "a mount stays, killed after $after s"
        [ "$(groups)" = "$grouped" ] || fail "a group stays, killed after $after s"
    done
done
