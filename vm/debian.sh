# Sourced by the scripts that get packages of Debian's backports: apt on lists and archives of its
# own, in the folder `apt`, from the suite `suite`.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `apt` and `suite` are those of the script

lacking() {
    say "lacking: $1"
    shift
    [ $# = 0 ] || tell "$@"
    exit "$lacks"
}

# Runs a program of apt. Refuses whatever is not signed, whatever the machine allows. Proxies,
# credentials and keys remain those of the machine.
private() {
    local program=$1
    shift
    LC_ALL=C "$program" \
        -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
        -o Dir::Etc::sourcelist="$apt/laxity.sources" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User="$(id -un)" \
        -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Update::Error-Mode=any \
        -o APT::Get::AllowUnauthenticated=false -o Acquire::AllowInsecureRepositories=false \
        -o Acquire::AllowWeakRepositories=false -o Acquire::Languages=none \
        -o Acquire::AllowDowngradeToInsecureRepositories=false "$@" </dev/null
}

# Where this machine gets the Debian that it runs. apt itself reads its sources, in whichever form
# they are; nothing is downloaded.
mirror_of_machine() {
    local codename
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$codename" ] || return 0
    mkdir -p "$apt/none/partial"
    apt-get -o Dir::State::lists="$apt/none" update --print-uris </dev/null 2>/dev/null |
        sed -n "s,^'\(.*\)/dists/$codename/InRelease'.*,\1,p" | sed -n 1p
}

# Errors of a failed apt, or the end of its output.
apt_log=''
apt_said() {
    tell "output of apt:"
    { grep -a '^E: ' "$apt_log" || tail -n 4 "$apt_log"; } | tail -n 8 | quoted
}

update_lists() {
    local program mirror keyring
    for program in apt-get apt-cache dpkg-deb; do
        command -v "$program" >/dev/null ||
            lacking "$program: packages of Debian come by it"
    done
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
    : >"$apt/status"
    mirror=${LAXITY_DEBIAN_MIRROR:-$(mirror_of_machine)}
    [ -n "$mirror" ] || lacking "a mirror of Debian: the sources of apt here name none" \
        "set LAXITY_DEBIAN_MIRROR to the URI of one and have debian-archive-keyring installed"
    {
        printf '%s\n' "Types: deb" "URIs: $mirror" "Suites: $suite" "Components: main"
        for keyring in /usr/share/keyrings/debian-archive-keyring.{pgp,gpg}; do
            if [ -f "$keyring" ]; then
                echo "Signed-By: $keyring"
                break
            fi
        done
    } >"$apt/laxity.sources"
    say "reading the lists of $suite into $apt"
    private apt-get update -q >"$apt_log" 2>&1 ||
        {
            apt_said
            lacking "the lists of $suite, which name its packages; they come from $mirror"
        }
}
