# Sourced by packages-test.sh: a bare Debian in a folder.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `bare` and `work` are those of the script

# Of the release and from the mirror that this machine has, with its settings of apt.
make_root() {
    local codename mirror
    if [ -x "$bare/usr/bin/apt-get" ]; then return; fi
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # for apt-get
    mirror=${LAXITY_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)}
    say "a bare Debian $codename in $bare"
    mkdir -p "$bare"
    debootstrap --variant=minbase "$codename" "$bare" "$mirror" >"$bare.log" 2>&1 || {
        tail -n 4 "$bare.log" >&2
        say "debootstrap failed; its output is in $bare.log"
        exit "$lacks"
    }
}

enter_root() {
    local folder
    cp -a /etc/apt/. "$bare/etc/apt/"
    cp /etc/resolv.conf "$bare/etc/resolv.conf"
    for folder in proc sys dev; do
        mount --rbind "/$folder" "$bare/$folder"
        mount --make-rslave "$bare/$folder"
    done
    in_root apt-get update -q >"$work/log" 2>&1 || tail -n 3 "$work/log" >&2
    in_root dpkg --purge laxity >/dev/null 2>&1 || true
}

release_root() {
    local mounts
    mapfile -t mounts < <(awk -v r="$bare/" 'index($5, r) == 1 { print $5 }' /proc/self/mountinfo | sort -r)
    local mount
    for mount in "${mounts[@]}"; do umount -l "$mount" 2>/dev/null || true; done
}

# Programs of a bare Debian have its path, no terminal and no settings of this shell but proxies.
in_root() {
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
        ${https_proxy:+https_proxy="$https_proxy"} chroot "$bare" "$@" </dev/null
}

# Every file with its mode, and the contents of files about users and units; not what package managers keep for
# themselves.
state_of_root() {
    find "$bare" -xdev \( -path "$bare/proc" -o -path "$bare/sys" -o -path "$bare/dev" -o -path "$bare/tmp" \
        -o -path "$bare/var/lib/dpkg" -o -path "$bare/var/lib/apt" -o -path "$bare/var/cache" \
        -o -path "$bare/var/log" \) -prune -o -printf '%P %y %m\n' | LC_ALL=C sort
    (cd "$bare/etc" && sha256sum group gshadow passwd shadow)
}

# Exit status of `laxity link up` on an interface that nobody else has.
link_in_namespace() {
    # shellcheck disable=SC2016 # for the shell there
    unshare --net --mount env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$bare" sh -c '
        ip link add lx0 type veth peer name lx1 && ip link set lx0 up && ip link set lx1 up || exit 4
        mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf || exit 4
        laxity link up /usr/share/laxity/scenarios/home-router.toml --dev lx0 || exit
        laxity link status --dev lx0 && laxity link down --dev lx0' </dev/null
}
