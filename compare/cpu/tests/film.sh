# shellcheck shell=sh
# Figure 1 of the paper on BeRate: what the quality levels of a player cost, where it makes its
# pictures itself, and where another task does.

# In per cent of the CPU, from what `time -p` says.
load_of() {
    awk '$1 == "real" { real = $2 } $1 == "user" || $1 == "sys" { used += $2 }
        END { printf "%.1f", used * 100 / real }' "$1"
}
# timed FILE COMMAND...: what it took, to the file.
timed() {
    to=$1
    shift
    time -p "$@" 2>"$to"
}
# HOW, as ffmpeg calls ways to scale
test_film() {
    has ffmpeg || return 0
    scale=scale=800x600:flags=$1
    # Four seconds of the film at its own speed.
    film="ffmpeg -nostdin -loglevel error -threads 1 -re -t 4 -i clip.avi"
    # shellcheck disable=SC2086 # several words
    timed /tmp/alone $film -vf "$scale" -f null -
    echo "alone load $(load_of /tmp/alone)"

    rm -f /tmp/frames
    mkfifo /tmp/frames
    # shellcheck disable=SC2086 # several words
    timed /tmp/player $film -f rawvideo -pix_fmt yuv420p -y /tmp/frames &
    timed /tmp/server ffmpeg -nostdin -loglevel error -f rawvideo -pix_fmt yuv420p -s 640x480 \
        -i /tmp/frames -vf "$scale" -f null -
    wait $!
    echo "player load $(load_of /tmp/player)"
    echo "server load $(load_of /tmp/server)"
}
