# The King James Bible of Debian's package bible-kjv as plain text, for scripts. To be sourced.

# bible_text: prints one verse a line and a blank line between chapters, so that each is a document.
bible_text() {
    bible -f gen1:1-rev22:21 </dev/null 2>/dev/null | awk '
        {
            split($1, place, ":")
            if (NR > 1 && place[1] != chapter) print ""
            chapter = place[1]
            print substr($0, length($1) + 2)
        }'
}
