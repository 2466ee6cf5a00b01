# shellcheck shell=sh
# The figures of the paper on BEBS that a kernel can show.

# Figure 4: five hard tasks of a tenth each, three that compute, two soft ones that need so many
# hundredths of their share. FRAMES PERCENT
both_soft() {
    tasks frames 80000 $((80 * $2)) 2 $(($1 / 2)) 10 >/tmp/12-fps &
    other=$!
    tasks frames 40000 $((40 * $2)) 1 "$1" 10 | as 25-fps
    wait $other
    as 12-fps </tmp/12-fps
}
test_fig4() {
    for number in 1 2 3 4 5; do hard $number 10 $((number + 1))0000; done
    hogs 3 both_soft "$@"
    no_more_hard
}

# Figures 6, 7 and 8: beside EXTRA that compute and HARD tasks of 15 % each.
see_beside() {
    for n in 1 2 3 4; do [ $n -gt "$3" ] || hard $n 15 ${n}5000; done
    hogs "$2" tasks "$1" 10000 200000 1 "${4}000" | as "$1"
    no_more_hard
}
# EXTRA HARD MS
test_poll() { see_beside poll "$@"; }
test_await() { see_beside await "$@"; }

# Figure 9 in shorter: three greedy tasks; from 4 s on a hard one of 40 %, then a soft one of 12 %.
test_fig9() {
    tasks hog 3 20 >/tmp/greedy &
    greedy=$!
    sleep 4
    hard 1 40 50000
    sleep 1
    tasks frames 40000 4800 1 240 10 | as soft
    no_more_hard
    wait $greedy
    cat /tmp/greedy
}
