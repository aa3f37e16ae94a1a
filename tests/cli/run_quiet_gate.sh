#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The quiet gate against what really disturbs: a process on a GPU (a made-up NVML tells of a real process), a loaded
# CPU, a cgroup held back by its quota. Each is refused by name, or measured with a flag and the same name.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
fakes=$GPUVET_BUILD/tests/fakes/libnvml.so
[ -r "$fakes" ] || fail "no made-up NVML in $fakes"
pids=()
groups=()
lent=
# shellcheck disable=SC2317 # reached by the trap
undo() {
    for p in "${pids[@]}"; do kill -KILL "$p" 2>/dev/null; wait "$p" 2>/dev/null; done
    # A group is empty only when the kernel is through with its processes.
    for g in "${groups[@]}"; do
        for _ in $(seq 50); do rmdir "$g" 2>/dev/null && break; [ -d "$g" ] || break; sleep 0.1; done
    done
    [ -z "$lent" ] || echo -cpu >"$lent/cgroup.subtree_control"
}
trap undo EXIT

# cgroup_of CONTROLLER: where a group of it can be made here; "" nowhere.
cgroup_of() {
    local mount path
    mount=$(awk -v c="$1" '{ for (i = 7; i < NF; i++) if ($i == "-") break
                             n = split($NF, o, ","); if ($(i + 1) == "cgroup") for (k = 1; k <= n; k++)
                             if (o[k] == c) { print $5; exit } }' /proc/self/mountinfo)
    path=$(awk -F: -v c="$1" '{ n = split($2, o, ","); for (k = 1; k <= n; k++) if (o[k] == c) print $3 }' /proc/self/cgroup)
    [ -n "$mount" ] && [ -w "$mount$path" ] && echo "$mount${path%/}"
}

refused() { # WORDS… in the one line
    expect 2 "$GPUVET" run --no-baseline --wait-quiet 0 "${case_args[@]}"
    [ "$(grep -c "^gpuvet: the node is not quiet: " err)" = 1 ] || fail "not one line that says why"
    has err "--allow-busy"
    for words in "$@"; do has err "$words"; done
    grep -q '"type":"footer".*"outcome":"failed"' "$(last_run)" || fail "refused without a footer"
}
flagged() { # WORDS… beside the flag of every record that holds a figure
    "$GPUVET" run --no-baseline --allow-busy --rounds 1 "${case_args[@]}" >out 2>err
    grep '"type":"record"' "$(last_run)" | grep '"outcome":"ok"' >records
    [ -s records ] || fail "no record"
    [ "$(grep -c '"flags":\[[^]]*"busy"' records)" = "$(wc -l <records)" ] || fail "a record without the flag busy"
    for words in "$@"; do has records "$words"; done
}

# ---- a process on a GPU ----
cp "$(command -v sleep)" ./trainer
./trainer 600 &
trainer=$!
pids+=("$trainer")
export GPUVET_NVML=$fakes GPUVET_FAKE_NVML=$PWD/nvml
printf 'count 1\nprocesses 1\npid %d\n' "$trainer" >nvml
case_args=(--case memory.copy --case null --profile quick)
refused "GPU 0 is used by PID $trainer (trainer)"
flagged "GPU 0 is used by PID $trainer (trainer)"
# The container that it is in, where a group can be made to look like one.
group=$(cgroup_of pids)
if [ -n "$group" ] && mkdir -p "$group/docker" 2>/dev/null; then
    id=$(printf '%012x%052x' $$ 0)
    groups=("$group/docker/$id" "$group/docker")
    mkdir "${groups[0]}" || fail "no group ${groups[0]}"
    echo "$trainer" >"${groups[0]}/cgroup.procs" || fail "cannot move a process to ${groups[0]}"
    refused "GPU 0 is used by PID $trainer (trainer, docker container ${id:0:12})"
    echo "$trainer" >"$group/cgroup.procs"
else
    echo "not tried: a container's name (no cgroup can be made here)"
fi
kill "$trainer"
# A GPU that is busy by its figures alone, as a process of another PID namespace shows.
printf 'count 1\n' >nvml # this one says 7 %
refused "GPU 0 is 7 % busy"
unset GPUVET_NVML GPUVET_FAKE_NVML

# ---- a loaded CPU ----
case_args=(--case null)
cp "$(command -v bash)" ./burner
burn() {
    for _ in $(seq "$(nproc)"); do
        ./burner -c 'while :; do :; done' &
        pids+=("$!")
        burners+=("$!")
    done
    refused "others use " "most by PID " "of a CPU"
    if [ "$1" = alone ]; then
        named=$(sed -n 's/.*most by PID \([0-9]*\) (burner[),].*/\1/p' err)
        case " ${burners[*]} " in *" ${named:-none} "*) ;; *) fail "not one of ${burners[*]} is named" ;; esac
        flagged "(burner"
    else
        flagged "most by PID "
    fi
    kill -KILL "${burners[@]}"
    wait "${burners[@]}" 2>/dev/null
    return 0
}
# In a PID namespace of its own gpuvet sees no other process that could have more than ours.
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    export -f burn refused flagged expect has fail last_run
    # shellcheck disable=SC2016 # for the shell inside
    unshare --pid --fork --mount-proc bash -uc 'case_args=(--case null) pids=(); burn alone' || exit 1
else
    echo "not tried: that the loading process itself is named (no PID namespace can be made here)"
    burn among-others
fi

# ---- where CPU times are not known: said once, and never taken for quiet ----
blind() { # the only line of /proc/stat
    echo "$1" >stat
    # shellcheck disable=SC2016 # for the shell inside
    unshare -m --propagation private bash -c 'mount --bind stat /proc/stat 2>/dev/null || exit 99
        exec "$GPUVET" run --no-baseline --allow-busy --rounds 3 --case null' >out 2>err
    case $? in
    0) [ "$(grep -c 'warning: whether others use the CPUs is not known' err)" = 1 ] || fail "not said once without CPU times: $1" ;;
    99) echo "not tried: a node without CPU times (nothing can be mounted here)" ;;
    *) fail "a run without CPU times: $1" ;;
    esac
}
if unshare -m true 2>/dev/null; then
    blind ''
    blind 'cpu 0 0 0 0 0 0 0 0'
else
    echo "not tried: a node without CPU times (no mount namespace can be made here)"
fi

# ---- a cgroup held back by its quota ----
throttled() { # GROUP
    ./burner -c 'while :; do :; done' &
    pids+=("$!")
    echo "$!" >"$1/cgroup.procs" || fail "cannot move a process to $1"
    # In the group itself, and in one below it, whose own quota is none.
    for place in "$1" "$1/below"; do
        (
            echo "$BASHPID" >"$place/cgroup.procs" || exit 1
            refused "the CPU quota of cgroup " "gpuvet-test-$$ (" " is throttling it"
            flagged "is throttling it"
        ) || exit 1
    done
    kill -KILL "${pids[-1]}"
    wait "${pids[-1]}" 2>/dev/null
}
# lend_cpu MOUNT: groups below it get the cpu controller, until the end of this script where they had none.
lend_cpu() {
    grep -qw cpu "$1/cgroup.controllers" || return 1
    grep -qw cpu "$1/cgroup.subtree_control" && return 0
    { echo +cpu >"$1/cgroup.subtree_control"; } 2>/dev/null && lent=$1
}
v1=$(cgroup_of cpu)
v2=$(awk '$0 ~ / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
if [ -n "$v1" ] && mkdir "$v1/gpuvet-test-$$" 2>/dev/null; then
    groups+=("$v1/gpuvet-test-$$/below" "$v1/gpuvet-test-$$")
    mkdir "$v1/gpuvet-test-$$/below"
    echo 20000 >"$v1/gpuvet-test-$$/cpu.cfs_period_us"
    echo 8000 >"$v1/gpuvet-test-$$/cpu.cfs_quota_us" || fail "cpu.cfs_quota_us cannot be set"
    throttled "$v1/gpuvet-test-$$"
elif [ -n "$v2" ] && lend_cpu "$v2" && mkdir "$v2/gpuvet-test-$$" 2>/dev/null; then
    groups+=("$v2/gpuvet-test-$$/below" "$v2/gpuvet-test-$$")
    mkdir "$v2/gpuvet-test-$$/below"
    echo "8000 20000" >"$v2/gpuvet-test-$$/cpu.max" || fail "cpu.max cannot be set"
    throttled "$v2/gpuvet-test-$$"
else
    echo "not tried: a quota (no cgroup with the cpu controller can be made here; tests/unit/system has captured ones)"
fi
exit 0
