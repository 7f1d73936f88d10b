#!/usr/bin/env bash
# What a machine with a GPU, torch and Triton but no network lacks to run the tool and its tests: wheels, in a folder that
# travels with the tree, and Ray as an archive without its parts for other uses (28 MB instead of 79).
#
#     bash tests/gpu/offline_wheels.sh build/wheels [build/ray.txz]          PYTHON_VERSION=3.12
#
# There, before anything else:
#
#     python3 -m pip install --no-index --no-deps --target /tmp/site build/wheels/*.whl && export PYTHONPATH=/tmp/site
#     mkdir /tmp/ray && tar xJf build/ray.txz -C /tmp/ray && export PYTHONPATH=/tmp/ray:$PYTHONPATH
set -eu
python=${PYTHON:-.venv/bin/python} version=${PYTHON_VERSION:-3.12}
fetch() { # FOLDER NAME...
    local folder=$1 platforms=()
    for old in manylinux_2_28 manylinux_2_17 manylinux2014 manylinux_2_5 manylinux1; do
        platforms+=(--platform "${old}_x86_64")
    done
    "$python" -m pip download -q --no-deps --only-binary=:all: --python-version "$version" --implementation cp \
        "${platforms[@]}" -d "$folder" "${@:2}"
}
fetch "$1" libcst tree-sitter tree-sitter-cuda tomlkit
[ $# -gt 1 ] || exit 0
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fetch "$place" ray jsonschema jsonschema-specifications referencing rpds-py
mkdir "$place/site"
for wheel in "$place"/*.whl; do "$python" -m zipfile -e "$wheel" "$place/site"; done
rm -rf "$place"/site/ray/{jars,rllib,dashboard/client,llm}
chmod +x "$place"/site/ray/core/src/ray/{raylet/raylet,gcs/gcs_server}
find "$place/site/ray" \( -name "*.so" -size +200k -o -name raylet -type f -o -name gcs_server \) -exec strip -s {} +
tar cJf "$2" -C "$place/site" .
