#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A worker that is told nonsense answers, or ends with a word; it never crashes and never stays.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

# told LINE: a worker's words on it, in ./out; the line may be answered for a second.
told() {
    (printf '%b\n' "$1"; sleep 1) | timeout 20 "$GPUVET" worker >out 2>err
    local status=${PIPESTATUS[1]}
    [ "$status" -le 1 ] || fail "status $status on $1"
    ! grep -q 'Sanitizer\|runtime error' err || fail "on $1"
    [ "$status" = 0 ] || one_line
}
good='"type":"item","id":1,"case":"null","version":1,"metric":"value","operations":1,"params":{},"where":{}'

for line in '' garbage '[]' null '{"type":"bye"}' '{"n":2,"type":"bye"}' '{"n":1,"type":"moon"}' '{"n":1,"n":1,"type":"bye"}' \
    '{"n":1,"type":"bye","x":"\\ud800"}' '\0' '{"n":1,"type":"hello"}' '{"n":1,"type":"item","id":1}\n{"n":2,"type":"item","id":2}'; do
    told "$line"
done
told '{"n":1,"type":"item"}'
has out '"outcome":"error"'
told "{\"n\":1,$good,\"samples\":5,\"deadline_ms\":3000}"
has out '"outcome":"ok"'
told "{\"n\":1,$good,\"samples\":5,\"deadline_ms\":9223372036854775807}"
has out '"outcome":"ok"'
told "{\"n\":1,$good,\"samples\":5,\"deadline_ms\":-1}"
has out '"outcome":"hang"'
told '{"n":1,"type":"item","id":{},"case":[],"env":[1,2],"quiet":"x","round":1e300,"deadline_ms":2000}'
has out '"outcome":"error"'
told '{"n":1,"type":"item","id":1,"case":"null","simulate":{"key":5,"seed":"x","effect":null},"samples":-1,"deadline_ms":2000}'
has out '"type":"done"'
# A quiet item of six seconds, in which nobody beats: the next one runs all the same.
quiet='"type":"item","id":1,"case":"host.wake","version":1,"metric":"wake","quiet":true,"cpu":0,"samples":60'
{
    echo "{\"n\":1,$quiet,\"where\":{\"core\":\"local\"},\"params\":{\"idle_us\":100000,\"source\":\"timer\",\"control\":\"none\"}}"
    sleep 8
    echo "{\"n\":2,$good,\"samples\":5,\"deadline_ms\":3000}"
    sleep 1
} | timeout 60 "$GPUVET" worker >out 2>err
[ "$(grep -c '"type":"done".*"outcome":"ok"' out)" = 2 ] || fail "the item after a quiet one"
lacks err silent
head -c 3000000 /dev/zero | tr '\0' x | timeout 20 "$GPUVET" worker >out 2>err
[ "${PIPESTATUS[2]}" = 1 ] || fail "a line without end"
has err 'longer than 1 MiB'
for _ in 1 2; do echo '{"type":"activity"}'; done | timeout 20 "$GPUVET" keeper >out 2>err || fail "the keeper fails"
[ "$(wc -l <out)" = 3 ] || fail "the keeper does not answer each question"
head -c 300000 /dev/zero | timeout 20 "$GPUVET" keeper >out 2>err || fail "the keeper fails on zeros"
exit 0
