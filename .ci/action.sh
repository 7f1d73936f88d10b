#!/usr/bin/env bash
# The steps of action.yml, which sets the variables: replay a corpus, reduce a failing test, comment with the reproducer.
set -eu
arch=()
if [ -n "${ARCH:-}" ]; then arch=(--arch "$ARCH"); fi

replay() {
    "$SHRINK" replay "$CORPUS" --python "$(command -v python)" "${arch[@]}" --junit "$OUT/corpus.xml" --html "$OUT/corpus.html"
}

reduce() {
    local asked=() status=0
    if [ -n "${ORACLE:-}" ]; then asked=(--oracle "$ORACLE"); fi
    "$SHRINK" "${arch[@]}" "${asked[@]}" --python "$(command -v python)" --max-time "$MAX_TIME" --restart \
        --output "$OUT/repro.py" pytest "$TEST" || status=$?
    if [ "$status" = 3 ]; then
        echo "$TEST does not show the fault: nothing was reduced"
    elif [ "$status" != 0 ]; then
        exit "$status"
    else
        # Four spaces before each line: what a candidate prints can then end no block of code.
        { printf 'The failing test `%s`, reduced:\n\n' "$TEST"; sed 's/^/    /' "$OUT/repro.py"; } > "$OUT/comment.md"
    fi
}

comment() {
    if [ -f "$OUT/comment.md" ]; then gh pr comment "$NUMBER" --body-file "$OUT/comment.md"; fi
}

case "${1:-}" in
    replay | reduce | comment) "$1" ;;
    *) echo "action.sh: replay, reduce or comment" >&2; exit 2 ;;
esac
