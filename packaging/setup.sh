#!/bin/sh
# The set-up behind the two commands: `sh packaging/setup.sh run` (to open the window) or `dev` (to test, too).
#
# Brings this checkout from a bare machine to a ready .venv: system libraries, virtual environment, pinned packages.
# Rules: what is there is left alone; a ready checkout costs milliseconds; an interrupted set-up is begun anew; pip is
# asked as this machine has it configured; every failure is one sentence that says what to do.
set -eu
cd "$(dirname "$0")/.."
here=$(pwd)
kind=${1:-run}

case $kind in
run) lock=packaging/requirements.lock ;;
dev) lock=packaging/requirements-dev.lock ;;
*) echo "usage: sh packaging/setup.sh run|dev" >&2 && exit 2 ;;
esac

say() { echo "set-up: $*"; }
stop() {
    echo "set-up: $*" >&2
    exit 1
}

# --- system packages ------------------------------------------------------------------------------------------------

# What Qt opens while it starts, as library:package. The program reads the same list, to say what is missing.
libraries=$(grep -v '^#' resources/qt_libraries.txt)

# Packages of the libraries that the loader does not know; none where it cannot be asked (then Qt itself will tell).
missing_libraries() {
    [ "$(uname)" = Linux ] || return 0
    known=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null) || return 0
    for pair in $libraries; do
        case $known in *"${pair%%:*} "*) ;; *) printf '%s ' "${pair#*:}" ;; esac
    done
}

# Debian's Python comes without its venv module, and a bare system without Python.
missing_python() {
    [ -x .venv/bin/python ] || find_python "import ensurepip, venv" || printf 'python3 python3-venv '
}

# The tests open windows on a virtual screen; where it cannot be installed, they go without.
missing_screen() {
    [ "$kind" = run ] || command -v Xvfb >/dev/null || ! command -v apt-get >/dev/null || ! as_root true ||
        printf 'xvfb '
}

# Run as root: directly, or through a sudo that asks nothing. Fails where neither is possible.
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

apt_line="apt-get install -y --no-install-recommends"

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive $apt_line -o DPkg::Lock::Timeout=120 "$@" </dev/null >>"$log" 2>&1
}

# Install these packages, or stop with the one line that does it.
need_packages() {
    [ $# -gt 0 ] || return 0
    why="system packages are missing"
    if ! command -v apt-get >/dev/null; then
        stop "$why; on Debian they are called $*: install what holds the same on this system, then try again."
    elif ! as_root true; then
        stop "$why, and this user may not install them. Run: sudo $apt_line $*"
    fi
    say "installing system packages (once): $*"
    apt_install "$@" || { as_root apt-get update </dev/null >>"$log" 2>&1 && apt_install "$@"; } ||
        stop "installing failed (see $log). Run by hand: $apt_line $*"
}

# --- the virtual environment ----------------------------------------------------------------------------------------

# find_python CODE: sets $python to the first Python 3.11 or later that can run CODE. The system's own comes last, by
# its path: what stands before it in PATH may be too old, or broken.
find_python() {
    for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11 /usr/bin/python3; do
        "$python" -c "import sys; assert sys.version_info >= (3, 11); $1" 2>/dev/null && return 0
    done
    return 1
}

make_environment() {
    find_python "import ensurepip, venv" ||
        stop "Python 3.11 or later, with its venv module, is needed. Set PYTHON=/path/to/python3 if it is elsewhere."
    [ ! -L .venv ] || stop ".venv is a link: what it leads to belongs to somebody else; remove the link first"
    "$python" -m venv --clear .venv >>"$log" 2>&1 || stop "$python -m venv failed; see $log"
}

# The checkout itself: importable from anywhere, with its command beside the others.
link_checkout() {
    for packages in .venv/lib/python3*/site-packages; do
        echo "$here" >"$packages/context_inspector_dev.pth"
    done
    # -P: a folder called `inspector` where the command is started is not ours.
    printf '#!/bin/sh\nexec "%s" -P -m inspector "$@"\n' "$here/.venv/bin/python" >.venv/bin/context-inspector
    chmod +x .venv/bin/context-inspector
}

# Delete the third of the packages that nothing here opens (packaging/unneeded.txt).
delete_unneeded() {
    for packages in .venv/lib/python3*/site-packages; do
        (cd "$packages" && grep -v '^#' "$here/packaging/unneeded.txt" | while read -r pattern; do rm -rf $pattern; done)
    done
}

install_pinned() {
    say "installing the pinned Python packages into .venv (once)"
    .venv/bin/python -m pip install --disable-pip-version-check --no-input --quiet --no-compile \
        --only-binary :all: --require-hashes -r "$lock" </dev/null >>"$log" 2>&1 ||
        { tail -n 5 "$log" >&2 && stop "pip could not install $lock (all of it is in $log)"; }
    delete_unneeded
    # Compiled now, on all cores, so that the first window does not wait for it. A package may carry a file that is
    # not for this Python: the return code tells of it, and it does not matter.
    .venv/bin/python -m compileall -q -j 0 -x /site-packages/pip/ .venv/lib/python3*/site-packages inspector \
        >>"$log" 2>&1 || true
}

fingerprint() { printf '%s %s' "$here" "$(cksum <"$1")"; }
ready() { [ -x .venv/bin/python ] && [ "$(cat ".venv/ready-$kind" 2>/dev/null)" = "$(fingerprint "$lock")" ]; }

build() {
    # Whoever comes second waits here and then finds everything done.
    if command -v flock >/dev/null; then exec 9<packaging/setup.sh && flock 9; fi
    ready && return
    # `busy` outlives an interrupted set-up; what that left behind is not to be trusted.
    if [ -e .venv/busy ] || ! [ -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1 ||
        ! grep -qsF "$here/.venv/" .venv/bin/pip; then
        make_environment
    fi
    : >.venv/busy
    install_pinned
    link_checkout
    fingerprint packaging/requirements.lock >.venv/ready-run
    [ "$kind" = run ] || fingerprint "$lock" >.venv/ready-dev
    rm .venv/busy
}

log=.setup.log
need_packages $(missing_libraries; missing_python; missing_screen)
ready || build
