#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a round may take and how many series may be judged together, over all cases. When it is too much, a table shows
# what each case takes of it.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

budget() { # CAPTURE PROFILE SECONDS SERIES
    expect 0 "$GPUVET" list --profile "$2" --from "$CAPTURES/$1" --json
    mv out plan
    expect 0 "$GPUVET" run --dry-run --profile "$2" --from "$CAPTURES/$1"
    python3 - "$@" <<'P' || fail "the plan of $1 is over its budget"
import json, re, sys
_, capture, profile, most_seconds, most_series = sys.argv
plan = json.load(open("plan"))
dry = re.search(r"^(\d+) rounds of at most ([\d.]+) s, .*; (\d+) primary series", open("out").read(), re.M)
assert dry, "the dry run gives no sum"
rounds, seconds, series = int(dry[1]), float(dry[2]), int(dry[3])
assert rounds == plan["rounds"] and series == plan["primary_series"]
wrong = []
if seconds > float(most_seconds):
    wrong.append(f"a round takes up to {seconds} s, more than {most_seconds}")
if series > int(most_series):
    wrong.append(f"{series} primary series, more than {most_series}")
if wrong:
    print(f"{capture}, {profile}: " + "; ".join(wrong), file=sys.stderr)
    cases = {}
    for i in plan["items"]:
        if "skip" not in i:
            one = cases.setdefault(i["key"].split("@")[0], [0, 0.0, 0, 0.0, 0.0])
            at = 0 if i["every_round"] else 2
            one[at] += 1
            one[at + 1] += i["seconds"]
            one[4] = max(one[4], i["seconds"])
    print(f"{'case':18} {'every round':>14} {'now and then':>15} {'longest item':>14}", file=sys.stderr)
    for case, (n, s, m, t, longest) in sorted(cases.items(), key=lambda c: -c[1][1] - c[1][3] / rounds):
        print(f"{case:18} {n:4} {s:7.2f} s  {m:5} {t:7.2f} s {longest:12.2f} s", file=sys.stderr)
    sys.exit(1)
P
}
budget two-socket-8gpu standard 25 300
budget two-socket-8gpu quick 25 40
budget guest-2gpu standard 7.5 300
budget guest-2gpu quick 7.5 40

# How late a core is at worst is judged by the timer on the local core; where that would be too many series together it
# is shown, and no other series gives way for it.
tails() { # CAPTURE PROFILE CLASS PATTERN…
    expect 0 "$GPUVET" run --dry-run --from "$CAPTURES/$1" --profile "$2" "${@:4}"
    awk -v class="$3" '/^host\.wake wake\.p99 .*local, idle (0\.05|1) ms, timer / { n++; bad += !index($0, " " class " ") }
        /^host\.wake wake\.p99 .*remote / { bad += !/ descriptive / } END { exit n == 0 || bad > 0 }' out ||
        fail "wake.p99 of the timer is not $3 in $2, or that of a remote wake is judged"
}
tails two-socket-8gpu standard primary
tails two-socket-8gpu thorough primary
tails two-socket-8gpu quick descriptive
tails guest-2gpu quick descriptive
tails guest-2gpu quick primary --case host.wake

# All that nvbandwidth, p2pBandwidthLatencyTest and nccl-tests' five collectives show, in one round of at most 27 s (the
# peers take 86 s on two H200).
peers=(--case 'copy.[hd]2[dh]@*/bandwidth*bytes=536870912,*' --case copy.bidir --case copy.all --case 'copy.latency@*/chase*' --case 'p2p.*' --case memory.copy)
for one in all_reduce all_gather reduce_scatter sendrecv alltoall; do
    for size in '[!24]' '2[!1]' '4[!2]'; do peers+=(--case "nccl.$one@*/busbw*bytes=$size*"); done # not 2 and 4 GiB
done
expect 0 "$GPUVET" run --dry-run --profile thorough --rounds 1 --from "$CAPTURES/guest-2gpu" "${peers[@]}"
mv out shown
expect 0 "$GPUVET" list --profile thorough --from "$CAPTURES/guest-2gpu" "${peers[@]}" --json
python3 - <<'P' || fail "what the peers show is not all there, or takes too long"
import json, re
seconds = float(re.search(r"^1 rounds? of at most ([\d.]+) s", open("shown").read(), re.M)[1])
keys = [i["key"] for i in json.load(open("out"))["items"] if "skip" not in i]
# From 32 B: below it nothing whole is left of a part of several. Up to 1 GiB, as nccl-tests is used.
wanted = [f"nccl.{op}@1/busbw{{*bytes={1 << e},dtype=float,place=out,ranks=2}}" for e in range(5, 31)
          for op in ("all_reduce", "all_gather", "reduce_scatter", "sendrecv", "alltoall")]
copies = [f"copy.{d}@*/bandwidth{{gpu=*;bytes=536870912,*engine={e},memory={m}}}" for d in ("h2d", "d2h")
          for e, m in (("ce", "pinned"), ("ce", "hostalloc"), ("sm", "pinned"))]
copies += [f"copy.bidir@*/bandwidth{{gpu=*direction={d},engine={e},*" for d in ("h2d", "d2h", "both") for e in ("ce", "sm")]
copies += [f"copy.all@*/bandwidth{{gpus=*direction={d},engine={e},*" for d in ("h2d", "d2h", "both") for e in ("ce", "sm")]
copies += [f"copy.all@*/bandwidth{{gpu=*gpus=*direction={d},engine=ce,*" for d in ("h2d", "d2h", "both")]
copies += ["memory.copy@*/bandwidth{gpu=*", "copy.latency@*/chase{*memory=hostalloc*", "p2p.latency@*/chase{*", "p2p.latency@*/flag{*"]
copies += [f"p2p.{a}@*/bandwidth{{*bytes=536870912,*engine={e},peer=on}}" for a in ("read", "write") for e in ("ce", "sm")]
copies += ["p2p.write@*/bandwidth{*peer=off}", "p2p.bidir@*/bandwidth{*direction=one,*", "p2p.bidir@*/bandwidth{*direction=both,*"]
import fnmatch
missing = [w for w in wanted + copies if not any(fnmatch.fnmatchcase(k, w + "*") for k in keys)]
assert not missing, f"nothing like {missing}"
assert not any(f"bytes={1 << e}," in k for k in keys for e in (31, 32)), "sizes that the peers do not show"
assert seconds <= 27, f"{seconds} s"
P
exit 0
