# Reads what one ctest run has left: LOG, its LastTest.log with the output of all tests, and OUTPUT,
# what it printed. tests/run sources it.

# count_cases LOG OUTPUT: "PASSED FAILED SKIPPED" of one ctest run, from the output of its tests and
# from ctest's verdicts: test cases of Catch2 programs, else whole tests.
count_cases() {
    awk '
        function count(word,   i) {
            for (i = 1; i < NF; ++i) if ($(i + 1) == word) return $i
        }
        FNR == 1 { ++file }
        file == 1 && /^[0-9]+\/[0-9]+ Testing: / { name = $3 }
        file == 1 && /^All tests passed \(/     { good[name] += count("test") }
        file == 1 && /^test cases: /            { good[name] += count("passed")
                                                  bad[name] += count("failed") }
        file == 1 && /^skipped: /               { ++skipped; ++said[name] }
        file == 2 && /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
            name = $0
            sub(/^[^:]*: /, "", name)
            sub(/ .*/, "", name)
            if (/ Passed  /) passed += name in good ? good[name] : 1
            else if (/\*\*\*Skipped/) skipped += said[name] == 0
            else { passed += good[name]; failed += bad[name] > 0 ? bad[name] : 1 }
        }
        END { print passed + 0, failed + 0, skipped + 0 }' "$1" "$2"
}

# failures PART LOG OUTPUT: of each test that failed, the lines around failures and the end of what
# it printed, at most 80 lines.
failures() {
    awk -v part="$1" '
        function show(last,   i, shown) {
            printf "\n-- %s: %s\n", part, name
            for (i = 1; i <= last && shown < 80; ++i) {
                if (i in near || i > last - 12) { print substr(lines[i], 1, 400); ++shown }
                else if (i - 1 in near) print "..."
            }
        }
        FNR == 1 { ++file }
        file == 1 && /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / && !/ Passed  |\*\*\*Skipped/ {
            sub(/^[^:]*: /, "")
            sub(/ .*/, "")
            is_bad[$0] = 1
        }
        file == 2 && /^[0-9]+\/[0-9]+ Testing: / { name = $3; count = 0; delete near }
        file == 2 && name in is_bad {
            lines[++count] = $0
            if (/FAILED|check failed|ERROR: |Sanitizer: |runtime error: |in vain|terminate called/) {
                for (i = count - 4; i <= count + 16; ++i) near[i] = 1
            }
            if (/^<end of output>/) show(count)
        }' "$3" "$2"
}
