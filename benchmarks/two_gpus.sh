#!/usr/bin/env bash
# Two lists of commands, each with a GPU and 16 cores of its own: twice as much in the time of one lent machine.
#
#     FIRST='peers beam_assert tma_bias_dot' SECOND='peers vector_hint' bash benchmarks/two_gpus.sh      all tools
#     FIRST='peers beam_assert --only ours --limit 120' SECOND='python3 -m pytest -m gpu tests/gpu/test_knobs.py' bash ...
#
# Contexts come up one after another for both GPUs (twelve in 2.3 s on two H200, six in 1.1 s on one): a tool beside
# another is slower than alone, ours as well as a peer. `peers` has names of programs and options of peers.py, with
# SHRINKRAY and AUTODD the places of these tools; what it found is in $OUT/peers0.json and $OUT/peers1.json, to be kept by
# `peers.py --take`. Logs and journals are in $OUT/gpu*.tgz, made anew every 15 s, since a lent machine may be gone.
set -u
cd "$(dirname "$0")/.."
TREE=$PWD
BACK=$(realpath -m "${OUT:-build/gpu}")
mkdir -p "$BACK"
peers() {
    python3 benchmarks/peers.py --limit 300 --lanes 12 --note "two at a time" --shrinkray "$SHRINKRAY" --autodd "$AUTODD" "$@"
}
export -f peers
export SHRINKRAY=${SHRINKRAY:-/tmp/shrinkray} AUTODD=${AUTODD:-/tmp/autodd.py} PYTHONUNBUFFERED=1
on() { # a tree of its own, since results are kept in it
    local gpu=$1 tree=/tmp/tree$1
    rm -rf "$tree"
    cp -r "$TREE" "$tree"
    mkdir -p "/tmp/gpu$gpu"
    cd "$tree" || exit
    OUT=/tmp/gpu$gpu CUDA_VISIBLE_DEVICES=$gpu PYTHONPATH=$tree:${PYTHONPATH:-} \
        taskset -c $((gpu * 16))-$((gpu * 16 + 15)) bash -c "$2" >"/tmp/gpu$gpu/said.txt" 2>&1
}
save() {
    for gpu in 0 1; do
        cp "/tmp/tree$gpu/benchmarks/results/peers_gpu.json" "$BACK/peers$gpu.json" 2>/dev/null
        tar czf "$BACK/gpu$gpu.new" -C /tmp "gpu$gpu" && mv "$BACK/gpu$gpu.new" "$BACK/gpu$gpu.tgz"
    done
}
while sleep 15; do save; done &
trap 'kill %1; save' EXIT
on 0 "$FIRST" &
first=$!
on 1 "$SECOND" &
wait $first $!
tail -n 16 /tmp/gpu?/said.txt | cut -c1-250
