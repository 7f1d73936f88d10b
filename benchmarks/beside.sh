#!/usr/bin/env bash
# Lists of commands beside each other, each with its share of the cores and, where there are several GPUs, one of them:
# a lent machine's hours are few, and a tool that starts a process for each candidate takes 300 s for each program.
#
#     bash benchmarks/beside.sh 'peers beam_assert' 'peers vector_hint; peers split_k_stages' ...         all tools
#     bash benchmarks/beside.sh 'peers beam_assert --only ours' 'python3 -m pytest -m gpu tests/gpu/test_knobs.py'
#
# Contexts come up one after another for all (twelve in 2.3 s on two H200, six in 1.1 s on one): a tool beside others is
# slower than alone, ours as well as a peer. `peers` has names of programs and options of peers.py; LANES, SHRINKRAY and
# AUTODD are what it gives to the tools. Results are in $OUT/peers0.json and so on, to be kept by `peers.py --take`, logs
# and journals in $OUT/beside.tgz, made anew every 15 s, since a lent machine may be gone.
set -u
cd "$(dirname "$0")/.."
export TREE=$PWD CORES=$(($(nproc) / $#)) LISTS=$#
BACK=$(realpath -m "${OUT:-build/gpu}")
mkdir -p "$BACK" /tmp/beside
peers() {
    python3 benchmarks/peers.py --limit 300 --lanes "$LANES" --note "$LISTS at a time, $CORES cores each" \
        --shrinkray "$SHRINKRAY" --autodd "$AUTODD" "$@"
}
export -f peers
export LANES=${LANES:-$CORES} SHRINKRAY=${SHRINKRAY:-/tmp/shrinkray} AUTODD=${AUTODD:-/tmp/autodd.py} PYTHONUNBUFFERED=1
gpus=$(nvidia-smi --list-gpus | wc -l)
on() { # a tree of its own, since results are kept in it
    local list=$1 tree=/tmp/tree$1
    rm -rf "$tree"
    cp -r "$TREE" "$tree"
    mkdir -p "/tmp/beside/$list"
    cd "$tree" || exit
    OUT=/tmp/beside/$list CUDA_VISIBLE_DEVICES=$((list * gpus / LISTS)) PYTHONPATH=$tree:${PYTHONPATH:-} \
        taskset -c $((list * CORES))-$((list * CORES + CORES - 1)) bash -c "$2" >"/tmp/beside/$list/said.txt" 2>&1
}
save() {
    for ((list = 0; list < LISTS; list++)); do
        cp "/tmp/tree$list/benchmarks/results/peers_gpu.json" "$BACK/peers$list.json" 2>/dev/null
    done
    tar czf "$BACK/beside.new" -C /tmp beside 2>/dev/null && mv "$BACK/beside.new" "$BACK/beside.tgz"
}
while sleep 15; do save; done &
saving=$!
trap 'kill $saving; save' EXIT
running=()
for ((list = 0; list < LISTS; list++)); do
    on "$list" "$1" &
    running+=($!)
    shift
done
wait "${running[@]}"
tail -n 16 /tmp/beside/*/said.txt | cut -c1-250
