#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which way led the program into a place is known for the rest of the run: each later session begins with it, and looks
# for another only when it leads there no more.
. "$GPUVET_SOURCE/tests/cli/lib.sh"

# The place: the ways in ./refused (folders, perl) do not work; ./next takes its place once a worker has been started.
cat >place <<'X'
#!/usr/bin/env bash
case $1 in
mkdir) way=$(dirname "$4") ;;
perl) way=perl ;;
*) way= ;;
esac
[ -z "$way" ] || echo "$way" >>tried
! grep -qsx "$way" refused || { echo "$way: no" >&2; exit 1; }
[ "${2:-}" != worker ] && [ "$way" != perl ] || { [ -e next ] && mv next refused; }
exec "$@"
X
chmod 755 place
printf '%s\n' "$PWD/place" >place.argv

# tries STATUS REFUSED NEXT: which ways the sessions of a run (the look at the place, the rounds) take.
tries() {
    rm -f tried refused next
    tr ' ' '\n' <<<"$2" >refused
    [ -z "$3" ] || tr ' ' '\n' <<<"$3" >next
    expect "$1" "$GPUVET" run --profile quick --rounds 2 --case null --allow-busy --no-baseline --in command:place.argv
    tried=$(paste -sd' ' tried)
}
tried_are() { [ "$tried" = "$1" ] || fail "tried were $tried instead of $1"; }

all="/tmp /dev/shm /var/tmp /run"
tries 0 /tmp ''
tried_are '/tmp /dev/shm /dev/shm'
# It takes nothing any more: the others are tried in their order.
tries 0 /tmp '/tmp /dev/shm'
tried_are '/tmp /dev/shm /dev/shm /tmp /var/tmp'
if command -v perl >/dev/null; then
    tries 0 "$all" ''
    tried_are "$all perl perl"
    tries 0 "$all" '/tmp perl'
    tried_are "$all perl perl /tmp /dev/shm"
    # None at all in either round: both reasons, as when nothing was known.
    tries 1 "$all" "$all perl"
    tried_are "$all perl perl $all perl $all"
    grep '"type":"record"' "$(last_run)" | grep -qF '/run: no; nor without a file: the worker ended before it greeted: perl: no' ||
        fail "the reasons are not in the record"
fi
tries 2 "$all perl" ''
tried_are "$all perl"
one_line
has err '/run: no; nor without a file: the worker ended before it greeted: perl: no'
exit 0
