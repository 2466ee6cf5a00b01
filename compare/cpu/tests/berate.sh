# shellcheck shell=sh
# Table 1 of the paper on BeRate: no task is declared, all depends on inference.

# srtsim NAME FPS MEAN_US SEED COUNT
srtsim() { tasks frames $((1000000 / $2)) "$3" "$4" "$5" | as "$1"; }
two_srtsim() {
    srtsim srtsim-1 25 "$2" "$4" "$5" &
    first=$!
    srtsim srtsim-2 "$1" "$3" $(($4 + 100)) $(($1 * $5 / 25))
    wait $first
}
# SEED COUNT
test_berate1() { hogs 1 srtsim srtsim-1 25 20000 "$@"; }
test_berate2() { hogs 2 two_srtsim 25 10000 10000 "$@"; }
test_berate3() { hogs 2 two_srtsim 33 10000 7576 "$@"; }
test_berate4() { hogs 3 srtsim srtsim-1 25 10000 "$@"; }
test_berate5() {
    nice -n 10 tasks hog 1 60 &
    load=$!
    srtsim srtsim-1 33 20202 "$@"
    kill $load
    wait $load 2>/dev/null || true
}
test_berate6() { hogs 1 two_srtsim 50 20000 10000 "$@"; }
