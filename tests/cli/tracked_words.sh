#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No tracked file holds marks of unfinished work, paths of somebody's machine or the host of a package registry, and
# none is too long to read. Patterns are put together from halves, so that this file does not hold them itself.
. "$GPUVET_SOURCE/tests/cli/lib.sh"
git=(git -c "safe.directory=*" -C "$GPUVET_SOURCE")
"${git[@]}" rev-parse --is-inside-work-tree >/dev/null 2>&1 || skip "no git checkout: tracked files are not known"

bad=0
# none WHAT PATTERN [ALLOWED]: no line of a tracked text file matches PATTERN (extended, any case), but for hits
# ("FILE:NUMBER:LINE") that match ALLOWED.
none() {
    "${git[@]}" grep -nIiE -e "$2" >hits || return 0
    if [ -n "${3:-}" ]; then grep -vE -e "$3" hits >left; else cp hits left; fi
    [ -s left ] || return 0
    echo "$1:"
    cut -c1-160 left | head -20
    bad=1
}

# First that a hit is found at all: every C file has its licence line.
"${git[@]}" grep -qIiE -e "spdx-license" || fail "git grep finds nothing"

edge='(^|[^[:alnum:]_])' end='($|[^[:alnum:]_])'
none "unfinished work" "${edge}(TO""DO|FIX""ME|XX""X)$end"
# An input field of a page has that attribute.
none "unfinished work" "place""holder|not[ _-]imple""mented" "<input [^>]*place""holder="
doctor="^(harness|docs|tests/fixtures|tests/cli|tests/unit)/doctor"
# The toolkit's own false libcuda is a subject of doctor.
none "a half-made function" "${edge}st""ubs?$end" "libcuda|/lib64/|LD_LIBRARY_PATH|$doctor"
# Paths of made-up machines are their own.
none "a path of somebody's machine" "${edge}/(wo""rk|tm""p/brief)/|(^|[^[:alnum:]_./*-])/(ho""me|ro""ot)/" "^tests/fixtures/"
# Records are kept compressed: what was run there is named without its folder.
while IFS= read -r -d "" file; do
    gzip -dc "$GPUVET_SOURCE/$file" 2>/dev/null | grep -qaE "$edge/(wo""rk|tm""p/brief)/" && { echo "$file holds a path of somebody's machine"; bad=1; }
done < <("${git[@]}" ls-files -z '*.gz')
none "the host of a package registry" \
    "py""pi\.org|python""hosted\.org|npm""js\.|crates""\.io|proxy\.go""lang|ruby""gems\.org|deb\.deb""ian\.org|archive\.ubu""ntu|anaconda""\.(org|com)|download\.nvi""dia"
# Doctor's rules cite where others met the same.
none "the number of an issue" "${edge}(iss""ue|pull requ""est) ?#?[0-9]+" "$doctor"

# Longer than 600 lines, and why that is right.
long_for_a_reason() {
    case $1 in
        tests/fixtures/*.json | tests/fixtures/*.xml | tests/fixtures/*/root/*) return 0 ;; # a machine's own words
        results/reference/*) return 0 ;; # what was printed there, as it was
        docs/doctor.md) return 0 ;; # printed from the rules, to look a finding up in
        *) return 1 ;;
    esac
}
while IFS= read -r -d "" file && read -r lines; do
    [ "$lines" -gt 600 ] && ! long_for_a_reason "$file" && { echo "$file has $lines lines: split it, or give the reason here"; bad=1; }
done < <("${git[@]}" grep -z -cI -e '')
[ "$bad" = 0 ] || fail "tracked files hold what they must not"
exit 0
