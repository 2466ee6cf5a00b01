# shellcheck shell=sh
# shellcheck disable=SC2154 # what vm.sh sets
# Audio, video, answers, wake-ups, and a bench of messages.

# -- A task that sleeps and answers, beside a periodic one of 60 % and three that compute. MS
test_interactive() {
    hard 1 60 10000
    hogs 3 tasks respond 4000 100 1000000 "${1}000" | as respond
    no_more_hard
}

# -- Audio: a fifth of the CPU in periods of 2.7 ms, beside three that compute. JOBS
test_audio() { hogs 3 declared 700 2700 tasks periodic 2700 540 "$1" | as audio; }
test_audio_untold() { hogs 3 tasks periodic 2700 540 "$1" | as audio; }

# -- Video decoded by ffmpeg at its own speed, beside three that compute; the reader of its frames
# comes before all, so that it sees each when it is there. SECONDS
video() {
    "$@" ffmpeg -nostdin -loglevel error -threads 1 -re -t "$seconds" -i clip.avi -vf crop=16:16 -f rawvideo \
        -pix_fmt yuv420p -flush_packets 1 pipe:1 | chrt -f 95 tasks arrivals 40000 384 | as video
}
test_video() {
    has ffmpeg || return 0
    seconds=$1
    hogs 3 video declared 24000 40000
}
test_video_untold() {
    has ffmpeg || return 0
    seconds=$1
    hogs 3 video env
}

# -- Wake-ups beside a compilation.

# MS COMMAND...
compiling() {
    tasks compile 3 1 "${1}000" >/tmp/compile &
    load=$!
    shift
    sleep 0.3
    "$@"
    wait $load
    cat /tmp/compile
}
percentiles() {
    # Numbers that begin with 0 would be octal to awk.
    sed 's/^0*\([0-9]\)/\1/; s/ 0*\([0-9]\)/ \1/g' | awk '
        /^[0-9]+ [0-9]+$/ && $2 > 0 { at[n + 0] = $1; of[n + 0] = $2; all += $2; n++ }
        /Histogram Overflows/ { all += $NF }
        # Beyond the histogram only the longest is known.
        function part(p,    i, sum) {
            for (i = 0; i < n; i++) if ((sum += of[i]) >= all * p) return at[i]
            return max
        }
        /Max Latencies/ { max = $NF }
        END {
            print "wake-ups", all, "p50_us", part(0.5), "p99_us", part(0.99), "p999_us", part(0.999), \
                "max_us", max
        }'
}
wake_ups() {
    "$@" cyclictest -q --default-system -i 1000 -l "$loops" -h 30000 2>&1 | percentiles |
        as cyclictest
}
# LOOPS
test_cyclictest() {
    has cyclictest || return 0
    loops=$1
    case $scheduler in
        deadline) lacks cyclictest chooses its own scheduling class and has none with deadlines ;;
        fifo) compiling "$1" wake_ups chrt_of_its_own ;;
        *) compiling "$1" wake_ups declared 200 1000 ;;
    esac
}
chrt_of_its_own() { "$@" --policy=fifo -p 80; }
test_cyclictest_untold() {
    has cyclictest || return 0
    loops=$1
    compiling "$1" wake_ups env
}
requests() {
    schbench -m 1 -t 2 -n 1 -F 16 -r "$1" -i 1000 2>&1 | awk '
        / Latencies percentiles/ { of = tolower($1) }
        /RPS percentiles/ { of = "" }
        of && /50.0th:|99.0th:|99.9th:/ {
            sub(/\*/, ""); name = "p" $1; gsub(/\.0th:|th:|\./, "", name); print of, name "_us", $2
        }
        /average rps/ { print "requests", "per_second", $NF }' | sed 's/^/schbench-/'
}
# SECONDS
test_schbench() {
    has schbench || return 0
    compiling $(($1 * 1000 + 500)) requests "$1"
}

# -- Figure 5 of the paper on BEBS. GROUPS LOOPS
test_fig5() {
    has hackbench || return 0
    hackbench -g "$1" -l "$2" | sed -n 's/Time: /hackbench seconds /p'
}
