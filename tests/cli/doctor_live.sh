#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Faults of device nodes, injected for real on a machine that needs no GPU.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
. "$GPUVET_SOURCE/tests/cli/doctor_rig.bash"

rig true
found "fail nodes.open-error" /dev/nvidiactl ENXIO # nothing stands behind the made-up driver
not_found uvm.
not_found cgroup.
not_found nodes.mode

for old in "$OLD" 0; do
    rig "rm /dev/nvidia-uvm; mknod -m 666 /dev/nvidia-uvm c $old 0"
    found "fail uvm.major-stale" "$old:0" "$UVM" ENXIO
done
rig "rm /dev/nvidia-uvm; mknod -m 666 /dev/nvidia-uvm c 1 3"
found "fail uvm.major-foreign" "1:3" mem "open() answers ok" security
rig "rm /dev/nvidia-uvm; mknod -m 666 /dev/nvidia-uvm c $UVM 1"
found "fail uvm.minor-wrong"
rig "rm /dev/nvidia-uvm"
found "fail uvm.node-missing" "$UVM" "nvidia-modprobe -u -c 0"
rig "rm /dev/nvidia-uvm; echo >/dev/nvidia-uvm"
found "fail nodes.not-a-device" "regular file" "open() answers ok"
rig "rm /dev/nvidia-uvm; mkdir /dev/nvidia-uvm"
found "fail nodes.not-a-device" director
rig "rm /dev/nvidiactl"
found "fail nodes.ctl-missing"
rig "rm /dev/nvidia0; mknod -m 666 /dev/nvidia0 c $OLD 0"
found "fail nodes.major-wrong" "/dev/nvidia0"
# The slave of a pty outside devpts answers EIO on every kernel: another driver's device, and nothing of a cgroup.
PTS=$(awk '$2 == "pts" { print $1; exit }' /proc/devices)
if [ -n "$PTS" ]; then
    rig "rm /dev/nvidia-uvm; mknod -m 666 /dev/nvidia-uvm c $PTS 0"
    found "fail uvm.major-foreign" "$PTS:0" "pts now" "open() answers EIO" "$UVM"
    not_found cgroup.
    rig "rm /dev/nvidia0 /dev/nvidiactl; mknod -m 666 /dev/nvidia0 c $PTS 1; mknod -m 666 /dev/nvidiactl c $PTS 2"
    found "fail nodes.major-wrong" /dev/nvidiactl "$PTS:2, which is pts now" "open() answers EIO"
    found "fail nodes.major-wrong" /dev/nvidia0 "$PTS:1, which is pts now" "open() answers EIO"
    not_found cgroup.
else
    echo "this kernel has no pts: a node that answers EIO was not tried"
fi
rig "rm /dev/nvidia0; mknod -m 666 /dev/nvidia0 c 195 7"
found "nodes.minor-unknown" "195:7"

# Modes, maps, mounts: EACCES each time, three causes.
user=(setpriv --reuid 1000 --regid 1000 --clear-groups)
rig "chmod 0600 /dev/nvidia-uvm" "${user[@]}"
found "fail nodes.mode" /dev/nvidia-uvm 0600 EACCES
rig "chmod 01232 /dev/nvidia0" "${user[@]}"
found "fail nodes.mode" "1232" "666"
rig "chmod 0660 /dev/nvidia*; chgrp 44 /dev/nvidia*" setpriv --reuid 1000 --regid 1000 --groups 44
not_found nodes.mode
rig "mkdir /dev/x; mount -t tmpfs -o nodev tmpfs /dev/x; mknod -m 666 /dev/x/u c $UVM 0; mount --bind /dev/x/u /dev/nvidia-uvm"
found "fail nodes.nodev" /dev/nvidia-uvm mountinfo EACCES
not_found nodes.mode
if setpriv --reuid 1000 --regid 1000 --clear-groups unshare -U --map-root-user true 2>/dev/null; then
    rig "chmod 0660 /dev/nvidia-uvm; chgrp 44 /dev/nvidia-uvm" "${user[@]}" unshare -U --map-root-user
    found "fail nodes.id-unmapped" EACCES uid_map
    not_found nodes.mode
fi

# A file system that answers nothing: mounted, and its server never reads.
cat >dead.py <<'PY'
import ctypes, os, sys, time
fd = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
options = f"fd={fd},rootmode=100000,user_id=0,group_id=0".encode()
if libc.mount(b"dead", sys.argv[1].encode(), b"fuse", 0, options) != 0:
    sys.exit(77)
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 3)
    time.sleep(20)
PY
if [ -e /dev/fuse ]; then
    here=$PWD
    rig "rm /dev/nvidia-uvm; : >/dev/nvidia-uvm; python3 $here/dead.py /dev/nvidia-uvm"
    found "fail nodes.hang" /dev/nvidia-uvm
    found "fail nodes.open-error" /dev/nvidiactl # the rest is looked at all the same
    in_time "a node hangs"
    # A dead folder: told where nothing of ours lies below it; where something does, one line says what hangs.
    sed -i "s/rootmode=100000/rootmode=40000/" dead.py
    mkdir dead
    rig "python3 $here/dead.py $here/dead"
    found "warn nodes.mount-dead" "$here/dead"
    SECONDS=0
    status=0
    unshare -m bash -c "python3 dead.py /sys/module && exec '$GPUVET' doctor" >out 2>err || status=$?
    [ "$status" = 1 ] || fail "status $status beside a dead /sys/module"
    [ "$SECONDS" -le 10 ] || fail "it took $SECONDS s beside a dead /sys/module"
    one_line
    has err "/sys/module does not answer"
else
    echo "no /dev/fuse: a dead file system was not tried"
fi

# A driver that never answers, one that dies, one that makes nodes: the whole doctor, with made-up libraries.
# Blind is not well: without /proc there is a finding, not a quiet ok. (The status is not looked at: a sanitizer's own end
# needs /proc too.)
unshare -m bash -c "mount -t tmpfs none /proc && exec '$GPUVET' doctor" >out 2>err
has out "fail  /proc is not mounted"
lacks out ": ok"

# A libcuda.so.1 that is there and that the loader refuses.
mkdir -m 755 lib
for kind in garbage folder unreadable; do
    rm -rf lib/libcuda.so.1
    words=() said="invalid ELF header"
    case $kind in
    garbage) head -c 100000 "$GPUVET_SOURCE/harness/doctor/rules_libs.c" >lib/libcuda.so.1 ;;
    folder) mkdir lib/libcuda.so.1 && said="Is a directory" ;;
    unreadable)
        setpriv --reuid 1000 --regid 1000 --clear-groups ls lib >/dev/null 2>&1 || continue
        : >lib/libcuda.so.1 && chmod 0 lib/libcuda.so.1
        echo x >lib/libcuda.so.1
        words=(setpriv --reuid 1000 --regid 1000 --clear-groups) said="Permission denied"
        ;;
    esac
    rig true "${words[@]}" env LD_LIBRARY_PATH="$PWD/lib" "${ASAN_OPTIONS:+ASAN_OPTIONS=$ASAN_OPTIONS}"
    found "fail libs.unusable" "$PWD/lib/libcuda.so.1" "$said"
done

FAKES=$GPUVET_BUILD/tests/fakes
if [ -e "$FAKES/libcuda.so" ] && [ -e "$FAKES/libnvml.so" ]; then
    export GPUVET_LIBCUDA=$FAKES/libcuda.so GPUVET_NVML=$FAKES/libnvml.so
    export GPUVET_FAKE_CUDA=$PWD/fake_cuda GPUVET_FAKE_NVML=$PWD/fake_nvml
    echo "count 1" >fake_nvml
    echo "hang init" >fake_cuda
    rig true
    in_time "cuInit hangs"
    found "fail cuda.init" "cuInit does not return"
    if [ -e /dev/fuse ]; then # whatever can hang hangs: nodes, NVML and cuInit
        sed -i "s/rootmode=40000/rootmode=100000/" dead.py
        echo "hang init" >fake_nvml
        rig "for n in nvidia-uvm nvidia0 nvidiactl; do rm /dev/\$n; : >/dev/\$n; python3 $here/dead.py /dev/\$n; done"
        found "fail nodes.hang"
        found "fail cuda.init" "cuInit does not return"
        in_time "nodes, NVML and cuInit hang"
        echo "count 1" >fake_nvml
    fi
    echo "crash init" >fake_cuda
    rig true
    found "fail cuda.init" "cuInit crashes"
    echo "hang init" >fake_nvml
    echo "init 999" >fake_cuda
    rig "rm /dev/nvidia-uvm"
    found "fail uvm.node-missing"
    found "fail cuda.init" 999 "follows "
    found "warn cuda.nvml" "no answer in time"
    echo "count 1" >fake_nvml
    # A limit of open files below which CUDA does not start, and doctor itself sees nothing: a fail at each of them.
    echo "init 304" >fake_cuda
    exec 3>&- 4>&- 5>&- 6>&- 7>&- # what this test inherited counts too
    for limit in 4 5 6 7 8; do
        rig true prlimit --nofile=$limit
        found "fail limits.open-files" "allows $limit open files"
    done
    echo "init 0" >fake_cuda
    rig true prlimit --nofile=64
    not_found limits.
    # A GPU for one process at a time: who holds it, and only where somebody does.
    printf "count 1\ncompute_mode 3\nprocesses 1\n" >fake_nvml
    printf "init 0\ncontext 46\n" >fake_cuda
    rig true
    found "fail compute.exclusive" exclusive_process 1000 "nvidia-smi -i 0 -c 0"
    printf "init 0\ncontext 0\n" >fake_cuda
    rig true
    not_found compute.
    echo "count 1" >fake_nvml
    echo "node /dev/nvidia-uvm" >fake_cuda # as root's libcuda does
    rig "rm /dev/nvidia-uvm"
    found "info uvm.node-missing"
    # Every code of cuInit that is known, through the whole of doctor: told by its name, whatever explains it here; and a
    # library that answered is not missing.
    while read -r code name; do
        echo "init $code" >fake_cuda
        rig true
        found "fail cuda.init" "cuInit answers $code ($name)"
        not_found libs.missing
        case $code in
        34) found "fail libs.stub" ;;
        804) found "fail libs.compat" ;;
        805) found "fail env.mps" ;;
        esac
    done <<'CODES'
2 CUDA_ERROR_OUT_OF_MEMORY
3 CUDA_ERROR_NOT_INITIALIZED
34 CUDA_ERROR_STUB_LIBRARY
46 CUDA_ERROR_DEVICE_UNAVAILABLE
100 CUDA_ERROR_NO_DEVICE
101 CUDA_ERROR_INVALID_DEVICE
209 CUDA_ERROR_NO_BINARY_FOR_GPU
304 CUDA_ERROR_OPERATING_SYSTEM
802 CUDA_ERROR_SYSTEM_NOT_READY
803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
805 CUDA_ERROR_MPS_CONNECTION_FAILED
999 CUDA_ERROR_UNKNOWN
CODES
    echo "init 0" >fake_cuda
    rig "rm /dev/nvidia-uvm; /dev/gpuvet doctor >/dev/null || true; [ ! -e /dev/nvidia-uvm ] || exit 9"
else
    echo "no made-up libraries in $FAKES: hangs of the driver were not tried"
fi

# Nothing can be seen with so few, GPU or not: not "ok".
exec 3>&- 4>&- 5>&- 6>&- 7>&-
for limit in 4 5; do
    expect 1 prlimit --nofile=$limit "$GPUVET" doctor
    has out "RLIMIT_NOFILE allows $limit open files"
done
