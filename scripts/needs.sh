# Sourced by common.sh: what commands need beside the repository. Each script notes what is missing, `need` for what it
# cannot do without and `optional` for what it would otherwise leave out, and calls get_needs before it builds anything.
# shellcheck shell=bash
# shellcheck disable=SC2154 # `lacks`, `root` and `rust_least` are those of common.sh

for manager in apt-get dnf pacman zypper apk ''; do
    if [ -z "$manager" ] || command -v "$manager" >/dev/null; then break; fi
done
needed=() optional_missing=() needed_packages='' optional_packages=''
# Components that rustup adds, and what makes Rust new enough where no package may be installed for it.
components=() rust_way=()

# Administrators' programs are not on the path of every user.
has() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }
can_install() { is_root && [ "$manager" = apt-get ]; }

# need WHAT DEBIAN FEDORA ARCH SUSE ALPINE: notes something that is missing; names may hold several packages.
need() {
    needed+=("$1")
    needed_packages+=" $(of_manager "${@:2}")"
}
optional() {
    optional_missing+=("$1")
    optional_packages+=" $(of_manager "${@:2}")"
}
# program need|optional PROGRAM DEBIAN FEDORA ARCH SUSE ALPINE
program() { has "$2" || "$@"; }
# of_manager DEBIAN FEDORA ARCH SUSE ALPINE: the packages for the manager of this machine.
of_manager() {
    case $manager in
        apt-get) echo "$1" ;;
        dnf) echo "$2" ;;
        pacman) echo "$3" ;;
        zypper) echo "$4" ;;
        apk) echo "$5" ;;
    esac
}

updated=
# The lists of packages, brought up to date once a run.
apt_update() {
    [ -n "$updated" ] || announced apt-get update -q >&2
    updated=1
}
# candidate PACKAGE: the version that apt would install, without epoch and revision; nothing where there is none.
candidate() {
    LC_ALL=C apt-cache policy "$1" 2>/dev/null |
        sed -En 's/^ *Candidate: ([0-9]+:)?([0-9][0-9.]*).*/\2/p'
}

# rust cargo [fmt] [clippy]: Rust with these, and a linker for it.
rust() {
    local home=${CARGO_HOME:-$HOME/.cargo} version packages component
    # rustup puts cargo where a shell that was open before does not look.
    if ! has cargo && [ -x "$home/bin/cargo" ]; then PATH=$home/bin:$PATH; fi
    has cc || need "a C compiler, with which Rust links" "gcc libc6-dev" gcc gcc gcc "gcc musl-dev"
    version=$(cargo --version 2>/dev/null | awk '{ print $2 }') || true
    if [ -n "$version" ] && at_least "${version%%-*}" "$rust_least"; then
        for component in "$@"; do
            if [ "$component" = cargo ] || cargo "$component" --version >/dev/null 2>&1; then continue; fi
            if has rustup; then
                components+=("${component/#fmt/rustfmt}")
            else
                needed+=("cargo $component")
                needed_packages+=" $(rust_packages "$(rust_suffix)" "$component")"
            fi
        done
        return
    fi
    if has rustup; then
        rust_way=("rustup default stable")
        [ -z "$version" ] || rust_way=("rustup update stable")
        return
    fi
    if can_install; then apt_update; fi
    if packages=$(distribution_rust "$@"); then
        if [ -z "$version" ]; then
            needed+=("Rust $rust_least or later")
            needed_packages+=" $packages"
        else
            # It takes the older one's place, which is not for us to decide.
            rust_way=("$(install_command) $packages")
        fi
    elif [ "$manager" = apt-get ] && [ -z "$(candidate rustc)" ]; then
        rust_way=("sudo apt-get update   # it knows no packages yet")
    else
        rust_way=("curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y" ". \"\$HOME/.cargo/env\"")
    fi
}

# rust_packages SUFFIX [cargo] [fmt] [clippy]: their packages. Debian keeps a later Rust, with which its browsers are
# built, beside its own.
rust_packages() {
    local suffix=$1 component
    shift
    for component in "$@"; do
        case $component in
            cargo) of_manager "cargo$suffix rustc$suffix" cargo rust "cargo rust" "cargo rust" ;;
            fmt) of_manager "rustfmt$suffix" rustfmt rust rust rustfmt ;;
            clippy) of_manager "rust$suffix-clippy" clippy rust rust rust-clippy ;;
        esac
    done | tr ' ' '\n' | sort -u | paste -s -d ' '
}
# Of the Rust that is installed.
rust_suffix() {
    if [ "$manager" = apt-get ] && dpkg-query -s cargo-web >/dev/null 2>&1; then echo -web; fi
}
# distribution_rust COMPONENT...: the packages of a Rust that is new enough. Only apt-get is asked for its version.
distribution_rust() {
    local suffix
    [ -n "$manager" ] || return 1
    if [ "$manager" != apt-get ]; then
        rust_packages '' "$@"
        return
    fi
    for suffix in '' -web; do
        if at_least "$(candidate "rustc$suffix")" "$rust_least"; then
            rust_packages "$suffix" "$@"
            return
        fi
    done
    return 1
}

# Clang 16 or newer; older ones lose the types of the kernel's pointers.
has_bpf_clang() {
    local clang version
    for clang in ${LAXITY_CLANG:-clang-19 clang clang-18 clang-17 clang-16}; do
        version=$("$clang" -dumpversion 2>/dev/null) && at_least "$version" 16 && return
    done
    return 1
}
has_header() { echo "#include <$1>" | cc -E - >/dev/null 2>&1; }
# The build of libbpf looks for libelf and zlib with it.
has_pkg_config() { has "${PKG_CONFIG:-pkg-config}"; }
# Whether this machine can build the kernel's part.
has_kernel_parts() {
    has_bpf_clang && has_pkg_config && has make && has_header libelf.h && has_header zlib.h
}
# kernel_parts need|optional: what the kernel's part is built with.
kernel_parts() {
    has_bpf_clang || "$1" "clang 16 or newer" clang-19 clang clang clang clang
    has_pkg_config || "$1" pkg-config pkg-config pkgconf-pkg-config pkgconf pkg-config pkgconf
    program "$1" make make make make make make
    has_header libelf.h || "$1" libelf libelf-dev elfutils-libelf-devel libelf libelf-devel elfutils-dev
    has_header zlib.h || "$1" zlib zlib1g-dev zlib-devel zlib zlib-devel zlib-dev
}

# Whether Python can make virtual environments, which Debian packs apart.
has_python_venv() { python3 -c 'import sys, venv, ensurepip; assert sys.version_info >= (3, 10)' 2>/dev/null; }
# python_venv need|optional: a Python of 3.10 or later that can.
python_venv() {
    has_python_venv || "$1" "Python 3.10 or later with venv" python3-venv python3 python python3 python3
}

# virtual_machine need|optional: the programs of vm/.
virtual_machine() {
    program "$1" qemu-system-x86_64 qemu-system-x86 qemu-system-x86-core qemu-system-x86 qemu-x86 qemu-system-x86_64
    program "$1" busybox busybox-static busybox busybox busybox-static busybox-static
    program "$1" cpio cpio cpio cpio cpio cpio
    # ip comes with it everywhere.
    program "$1" tc iproute2 iproute-tc iproute2 iproute2 "iproute2 iproute2-tc"
    program "$1" ldd libc-bin glibc-common glibc glibc musl-utils
    program "$1" xz xz-utils xz xz xz xz
    program "$1" zstd zstd zstd zstd zstd zstd
    program "$1" chrt util-linux util-linux util-linux util-linux util-linux-misc
    program "$1" flock util-linux util-linux util-linux util-linux flock
}

# With commas between.
listed() {
    local text
    printf -v text '%s, ' "$@"
    echo "${text%, }"
}
install_command() {
    local sudo='sudo '
    ! is_root || sudo=''
    case $manager in
        apt-get) echo "${sudo}apt-get install" ;;
        dnf) echo "${sudo}dnf install" ;;
        pacman) echo "${sudo}pacman -S --needed" ;;
        zypper) echo "${sudo}zypper install" ;;
        apk) echo "${sudo}apk add" ;;
        *) echo "(by the package manager of this system)" ;;
    esac
}

# Gets what was noted: with one call of apt-get when root, else it names the command, and ends where something is needed.
get_needs() {
    local packages package
    [ ${#rust_way[@]} = 0 ] || end_lacking
    if ! can_install; then
        [ ${#needed[@]} = 0 ] || end_lacking
        if [ ${#optional_missing[@]} != 0 ]; then
            say "without these, something is left out: $(listed "${optional_missing[@]}")"
            tell "$(install_command)$optional_packages"
        fi
    elif [ $((${#needed[@]} + ${#optional_missing[@]})) != 0 ]; then
        say "missing: $(listed "${needed[@]}" "${optional_missing[@]}")"
        apt_update
        packages=$needed_packages
        for package in $optional_packages; do
            [ -z "$(candidate "$package")" ] || packages+=" $package"
        done
        apt_install "$packages"
        hash -r
    fi
    if [ ${#components[@]} != 0 ]; then announced rustup component add "${components[@]}" >&2; fi
    needed=() optional_missing=() needed_packages='' optional_packages='' components=()
}

# One at a time: the locks of apt-get are not waited for by each of its parts.
apt_install() {
    (
        if has flock; then flock 8; fi
        # shellcheck disable=SC2086 # several names
        DEBIAN_FRONTEND=noninteractive announced apt-get install -q -y --no-install-recommends \
            -o DPkg::Lock::Timeout=600 $1 >&2
    ) 8<"$root/scripts/needs.sh" || {
        say "these could not be installed:$1"
        exit "$lacks"
    }
}

end_lacking() {
    local ways=("${rust_way[@]}") packages
    if [ ${#rust_way[@]} != 0 ]; then needed+=("Rust $rust_least or later"); fi
    say "missing: $(listed "${needed[@]}")"
    [ ${#optional_missing[@]} = 0 ] || tell "and, without which something is left out: $(listed "${optional_missing[@]}")"
    packages=$needed_packages$optional_packages
    [ -z "${packages// /}" ] || ways+=("$(install_command)$packages")
    [ ${#ways[@]} != 0 ] || ways=("$(install_command)")
    tell "do this and try again:" "" "${ways[@]/#/    }" ""
    exit "$lacks"
}
