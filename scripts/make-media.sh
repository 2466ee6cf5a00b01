#!/usr/bin/env bash
# Makes the small media files that the tests of the media server read, from ffmpeg's generators.
# The files are kept in the repository; run this again only to change what they hold.
set -euo pipefail
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

program need ffmpeg ffmpeg ffmpeg ffmpeg ffmpeg ffmpeg
get_needs
place=crates/media/tests/media
mkdir -p "$place"
make_one() {
    ffmpeg -hide_banner -loglevel error -y -f lavfi -i "$1" -t 2 \
        -fflags +bitexact -flags:v +bitexact -flags:a +bitexact -map_metadata -1 "${@:2}"
}
make_one "sine=frequency=440:sample_rate=48000" \
    -ac 1 -c:a libopus -b:a 24k -frame_duration 20 "$place/tone.ogg"
picture="testsrc2=size=160x120:rate=15"
make_one "$picture" -c:v libx264 -threads 1 -preset veryfast -b:v 100k -g 15 -bf 0 \
    -pix_fmt yuv420p "$place/picture.h264"
make_one "$picture" -c:v libvpx -threads 1 -b:v 100k -g 15 "$place/picture.ivf"
ls -l "$place" >&2
