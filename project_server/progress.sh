# Progress of a build on the terminal, for scripts. Sourced.

# show_progress: reads the output of ninja and shows its counter: one updating line on a terminal,
# else a line every 10 seconds.
show_progress() {
    local line shown=$SECONDS
    while IFS= read -r line; do
        [[ $line =~ ^\[[0-9]+/[0-9]+\] ]] || continue
        if [[ -t 1 ]]; then
            printf '\r\e[K%.79s' "$line"
        elif [[ $((SECONDS - shown)) -ge 10 ]]; then
            printf '%s\n' "$line"
            shown=$SECONDS
        fi
    done
    [[ ! -t 1 ]] || printf '\r\e[K'
}
