#!/bin/sh
# Works out the pinned versions, for every Python from 3.11 on, with hashes and without the name of any host:
#   requirements.lock             what the program needs
#   requirements-dev.lock         that, and what the tests need
#   requirements-bundle.lock      what the program and the optional `mcp` need, for `make bundle`
#   requirements-frameworks.lock  what `examples` need
# Versions that still fit stay as they are; `--upgrade` takes the newest.
#
# More than one lock, because whoever wants to see the window should not have to fetch a type checker; each is worked
# out under those before it, so what two of them name is the same.
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
bundle=packaging/requirements-bundle.lock
frameworks=packaging/requirements-frameworks.lock
compile "${1:---quiet}" -o "$run" pyproject.toml
compile "${1:---quiet}" -o "$dev" -c "$run" pyproject.toml --group dev
compile "${1:---quiet}" -o "$bundle" -c "$dev" pyproject.toml --extra mcp
compile "${1:---quiet}" -o "$frameworks" -c "$dev" -c "$bundle" --group frameworks
echo "$(grep -c == "$run") packages to run, $(grep -c == "$dev") to test"
