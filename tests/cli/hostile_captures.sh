#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Captures may hold anything: every command answers in one line or with what it can see, and reads nothing outside.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

# fresh: the capture ./c, whole; then a change is made to it.
fresh() {
    rm -rf c
    cp -r "$CAPTURES/guest-2gpu" c
    chmod -R u+rwX c
}
# answers WHAT: all commands that read a capture end with a status of theirs, one line when refused, nothing that
# steers a terminal.
answers() {
    local command status
    for command in 'env' 'env --json' 'list --profile quick' 'run --dry-run' 'doctor' \
        'run --simulate --profile quick --rounds 2 --no-baseline'; do
        status=0
        # shellcheck disable=SC2086
        timeout 60 "$GPUVET" $command --from c >out 2>err || status=$?
        case $status in
        0 | 1 | 77) ;;
        2) one_line ;;
        *) fail "status $status: $command with $1" ;;
        esac
        ! grep -qa 'Sanitizer\|runtime error\|killed by signal' err || fail "$command with $1"
        ! LC_ALL=C grep -qaP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' out err || fail "control characters: $command with $1"
        ! grep -q root:x out || fail "$command with $1 reads what lies outside"
    done
}
refused() {
    answers "$@"
    expect 2 "$GPUVET" env --from c
    one_line
}

cmdline=c/root/proc/cmdline
for target in /etc/passwd ../../../../../../../../../../etc/passwd cmdline /proc/self/root/etc/passwd /nonexistent; do
    fresh
    ln -sf "$target" $cmdline
    answers "a link to $target"
done
fresh
rm -r c/root/sys
ln -s /sys c/root/sys
answers 'sys as a link'
fresh
mv c/root elsewhere
ln -s ../elsewhere c/root
refused 'root as a link'
fresh
rm $cmdline
mkfifo $cmdline
refused 'a FIFO'
has err "c/root/proc/cmdline of the capture"
fresh
rm $cmdline
mkdir $cmdline
answers 'a folder where a file belongs'
fresh
truncate -s 600M c/root/big
refused 'a huge file'
fresh
(cd c/root && for _ in $(seq 70); do mkdir d && cd d || exit; done)
refused 'deep folders'
fresh
rm c/manifest.json
ln -s "$CAPTURES/guest-2gpu/manifest.json" c/manifest.json
refused 'a link for a manifest'
fresh
printf '\033]0;x\007=\033[2J \302\233 \377=\376 a=b\342\200\256\n' >$cmdline
answers 'a command line of control characters'
fresh
yes 'processor : 1' | head -c 3000000 >c/root/proc/cpuinfo
answers 'a long cpuinfo'

for file in topology.xml probes.json dev.tsv files.tsv klog.txt; do
    fresh
    : >c/$file
    answers "an empty $file"
    fresh
    head -c 100000 "$GPUVET" >c/$file
    answers "$file that is a program"
    fresh
    rm -f c/$file
    mkfifo c/$file
    refused "$file that is a FIFO"
done
for probes in null '[]' '{}' '{"gpus":{}}' '{"gpus":[null,1,"x",[],{}]}' '{"gpus":[{"uuid":1,"index":"a","bdf":[]}]}' \
    '{"gpus":[{"uuid":"","index":-1,"bdf":"../../../etc","minor":1e300}]}' \
    '{"gpus":[{"uuid":"a","index":0,"bdf":"0000:00:05.0"},{"uuid":"a","index":0,"bdf":"0000:00:05.0"}]}' \
    '{"gpus":[{"uuid":"a\u001b[2J\u009b","bdf":"\u001b","name":"\u009b","driver":"\u202e"}],"libs":[],"env":5,"statfs":"x"}'; do
    fresh
    echo "$probes" >c/probes.json
    answers "probes $probes"
done
for pattern in 's/cpuset="[^"]*"/cpuset="0x0"/g' 's/cpuset="[^"]*"/cpuset="0xffffffff,0xffffffff,0xffffffff"/g' \
    's/complete_nodeset="[^"]*"//' 's/nodeset="[^"]*"//g' 's/cpuset="[^"]*"//' 's/ [a-z_]*="[^"]*"//g' \
    's/type="PU"/type="Core"/g'; do
    fresh
    sed -i "$pattern" c/topology.xml
    answers "a topology after $pattern"
done
# topology_refused WORDS SED: what hwloc itself dies of, or takes all memory for, is refused before it sees it.
topology_refused() {
    fresh
    sed -i "$2" c/topology.xml
    ! cmp -s c/topology.xml "$CAPTURES/guest-2gpu/topology.xml" || fail "$2 changes nothing"
    expect 2 "$GPUVET" list --profile quick --from c
    one_line
    has err "$1"
}
topology_refused 'no complete_cpuset' 's/complete_cpuset="[^"]*"//'
topology_refused 'no complete_nodeset' 's/complete_nodeset="[^"]*"//'
topology_refused 'nested deeper' '/type="Core"/{s/.*/&&&&&&&&&&&&&&&&/;s/.*/&&&&&&&&&&&&&&&&/}'
topology_refused 'no os_index' 's/type="PU" os_index="[0-9]*"/type="PU"/'
topology_refused 'no os_index' 's/os_index="[0-9]*"/os_index="4000000000"/g'
topology_refused 'never writes' 's/complete_cpuset="/&,/'
fresh
cat >c/topology.xml <<'X'
<?xml version="1.0"?><!DOCTYPE topology [<!ENTITY c SYSTEM "file:///etc/passwd">]>
<topology version="2.0"><object type="Machine" os_index="0" cpuset="&c;"><info name="x" value="&c;"/></object></topology>
X
answers 'a topology with an entity'
HWLOC_LIBXML=1 answers 'a topology with an entity, and a parser that would read it'
