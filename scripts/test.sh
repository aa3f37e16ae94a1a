#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds every preset, runs every test: scripts/test.sh [--all]. --all adds the long ones. Each step's
# time is printed; the last line counts tests and checks. A step that cannot run here is a skip with its reason.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# Builders and ctest answer an interrupt with a status of their own, after which the next step would start.
trap 'echo "test: interrupted" >&2; exit 130' INT
trap 'echo "test: terminated" >&2; exit 143' TERM

export GPUVET_TEST_LONG=
case "${1:-}" in
    "") setup=--tests ;;
    --all)
        GPUVET_TEST_LONG=1
        setup=--all-tests
        ;;
    *)
        echo "test: unknown argument '$1': scripts/test.sh [--all]" >&2
        exit 2
        ;;
esac

# CI has a machine to itself: all engines and daemons of tests/container come onto it.
[ -z "${GPUVET_TEST_CONTAINERS:-}" ] || setup=--all-tests

one_of_each='usage|readme|portable_needs|env_basic|topo|baseline_life|captured_machines|compare_verdicts|doctor_live|'
one_of_each+='doctor_capture|report_page|run_simulated|run_gpu_state|host_cases|terminals|closed_descriptors|worker_protocol'
jobs=$(nproc)
passed=0
failed=0
skipped=0
failures=()

# step NAME COMMAND…: 0 is a pass, 77 a skip (the command says why), anything else a failure.
step() {
    local name=$1 start=$SECONDS status=0
    shift
    printf '== %s\n' "$name"
    "$@" || status=$?
    case $status in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)) ;;
        *)
            failed=$((failed + 1))
            failures+=("$name")
            ;;
    esac
    printf -- '-- %s: %s in %d s\n' "$name" \
        "$(case $status in 0) echo passed ;; 77) echo skipped ;; *) echo FAILED ;; esac)" $((SECONDS - start))
    [ "$status" = 0 ]
}

# sources 'NAME PATTERN'… -- FOLDER…
sources() {
    local tests=()
    while [ "$1" != -- ]; do
        tests+=(-o -name "$1")
        shift
    done
    shift
    find "$@" -type f \( "${tests[@]:1}" \) | sort
}

# The two formatters below disagree with themselves between versions; one is pinned.
have_llvm() {
    local version
    command -v "$1" >/dev/null || { echo "skip: $1 is not installed"; return 1; }
    version=$("$1" --version | grep -o 'version [0-9]*' | head -1)
    [ "$version" = "version 14" ] || { echo "skip: $1 has $version, the sources are kept by version 14"; return 1; }
}

check_format() {
    have_llvm clang-format || return 77
    sources '*.c' '*.h' '*.cu' '*.cuh' -- harness bench kernels tests cmake | xargs clang-format --dry-run -Werror
}

# SC2317: some versions take what only a trap or "$@" calls for code that is never reached.
check_shell() {
    command -v shellcheck >/dev/null || { echo "skip: shellcheck is not installed"; return 77; }
    sources '*.sh' run -- scripts tests .ci | xargs shellcheck -x -P SCRIPTDIR -e SC2317
}

check_tidy() {
    have_llvm clang-tidy || return 77
    sources '*.c' -- harness bench kernels |
        xargs -P "$jobs" -n 4 clang-tidy --quiet -p build-host-only --warnings-as-errors='*' 2>&1 |
        grep -vE 'warnings? generated\.$'
    return "${PIPESTATUS[1]}"
}

configure_and_build() {
    local preset=$1
    shift
    cmake --preset "$preset" "$@" >".deps/configure-$preset.log" 2>&1 ||
        { tail -30 ".deps/configure-$preset.log"; return 1; }
    cmake --build --preset "$preset" >".deps/build-$preset.log" 2>&1 ||
        { tail -60 ".deps/build-$preset.log"; return 1; }
    # What users build does not stop at a warning; here it does.
    ! grep -E -A5 'warning( ?:| #)' ".deps/build-$preset.log"
}

# Runs ctest in a build folder and adds its counts; more arguments choose tests. Tests that start the whole program
# take one lock (one gpuvet at a time on a node), so each of those has it to itself.
run_ctest() {
    local folder=$1 name=$2 start=$SECONDS log
    shift 2
    log=.deps/ctest-$name.log
    printf '== tests: %s\n' "$name"
    ctest --test-dir "$folder" -j "$jobs" --output-on-failure --no-tests=error "$@" >"$log" 2>&1
    local status=$?
    grep -E '^ *[0-9]+/[0-9]+ Test ' "$log" >"$log.lines"
    local p f s
    p=$(grep -c ' Passed ' "$log.lines")
    s=$(grep -cE '\*\*\*Skipped' "$log.lines")
    f=$(($(wc -l <"$log.lines") - p - s))
    # A skip says why: its own words are in ctest's log.
    if [ "$s" -gt 0 ]; then
        grep -E '\*\*\*Skipped' "$log.lines" | sed 's/^ *//'
        grep -hE '^skip: ' "$folder/Testing/Temporary/LastTest.log" | sort -u
    fi
    if [ "$(grep -cE '^skip: ' "$folder/Testing/Temporary/LastTest.log")" -lt "$s" ]; then
        echo "of these $s skips not every one says why (skip: REASON)"
        failures+=("tests: $name: a skip without its reason")
        f=$((f + 1))
    fi
    if [ "$status" != 0 ]; then
        cat "$log"
        failures+=("tests: $name")
        [ "$f" -gt 0 ] || f=1
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + s))
    printf -- '-- tests: %s: %d passed, %d failed, %d skipped in %d s\n' "$name" "$p" "$f" "$s" $((SECONDS - start))
}

skip_step() {
    printf '== %s\nskip: %s\n' "$1" "$2"
    skipped=$((skipped + 1))
}

if step "set-up" scripts/setup.sh "$setup"; then
    nvcc=$(cat .deps/nvcc)
    cuda=(-DGPUVET_CUDA=OFF)
    [ -z "$nvcc" ] || cuda=(-DCMAKE_CUDA_COMPILER="$nvcc")
    # Presets differ in how they are linked and in what they were built for: behind the two that run every test the
    # others run containers and one of each command.
    few=()
    [ -n "$GPUVET_TEST_LONG" ] || few=(-R "container_|cli_($one_of_each)\$")
    few_if_cuda=()
    [ -z "$nvcc" ] || few_if_cuda=(${few[@]+"${few[@]}"})

    step "format" check_format
    step "shellcheck" check_shell
    if step "build: host-only" configure_and_build host-only; then
        step "clang-tidy" check_tidy
        run_ctest build-host-only host-only -L 'cli|fixtures|container' ${few_if_cuda[@]+"${few_if_cuda[@]}"}
    fi
    step "build: debug (sanitizers)" configure_and_build debug "${cuda[@]}" &&
        run_ctest build-debug debug -L 'unit|fuzz|cli|fixtures'
    if [ -n "$nvcc" ]; then
        step "build: release" configure_and_build release "${cuda[@]}" -DGPUVET_TESTS=ON &&
            run_ctest build release -LE container
        step "build: portable" configure_and_build portable "${cuda[@]}" &&
            run_ctest build-portable portable -L cli ${few[@]+"${few[@]}"}
    else
        skip_step "build: release, portable" "no CUDA compiler here"
    fi
fi

for name in ${failures[@]+"${failures[@]}"}; do
    printf 'failed: %s\n' "$name"
done
printf 'time: %d s\n' "$SECONDS"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" = 0 ]
