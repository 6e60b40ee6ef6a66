#!/bin/sh
# Works out the pinned versions: packaging/requirements.lock (what the program needs), requirements-dev.lock (that
# and what the tests need), and requirements-frameworks.lock (what `examples` need). All hold for every Python from 3.11 on, with hashes and without the name of any host.
# Versions that still fit stay as they are; `--upgrade` takes the newest.
#
# Two locks, because whoever wants to see the window should not have to fetch a type checker; the second is worked out
# under the first, so what both name is the same.
set -eu
cd "$(dirname "$0")/.."
uv=$(command -v uv) || {
    sh packaging/setup.sh run
    tools=$(mktemp -d)
    trap 'rm -rf "$tools"' EXIT
    .venv/bin/python -m venv "$tools" && "$tools/bin/python" -m pip install --quiet --disable-pip-version-check uv
    uv=$tools/bin/uv
}
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate "$@" >/dev/null
}
run=packaging/requirements.lock
dev=packaging/requirements-dev.lock
frameworks=packaging/requirements-frameworks.lock
compile "${1:---quiet}" -o "$run" pyproject.toml
compile "${1:---quiet}" -o "$dev" -c "$run" pyproject.toml --group dev
compile "${1:---quiet}" -o "$frameworks" -c "$dev" --group frameworks
echo "$(grep -c == "$run") packages to run, $(grep -c == "$dev") to test"
