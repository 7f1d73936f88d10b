#!/usr/bin/env bash
# What only a GPU shows, in stages, each within a time of its own. Logs and what the tests leave are in $OUT/session.tgz,
# made anew every ten seconds: a lent machine may be gone at any moment, and gives few files back.
#
#     bash tests/gpu/session.sh flaky=330 held=160          seconds for each stage, in this order
#     CASES="hang missing_mask" bash tests/gpu/session.sh cases=560      names: these only, see make_cases.py
#     CASES="fa_intermittent_misaligned --no-replay --jobs 8" bash tests/gpu/session.sh cases=570
#     PEERS="vector_hint --limit 60 --lanes 12 --until 400" bash tests/gpu/session.sh peers=480
#     bash tests/gpu/session.sh lifting=400 naive=150 attachment=150
#     bash tests/gpu/session.sh alone=120 wmma=300 fa=520      a CUDA C++ extension each, with the GPU to itself
#     LIFT_SECONDS=80 bash tests/gpu/session.sh lift=170    the TMA case with and without lifting, beside each other
#     TESTS="tests/gpu/test_traps.py -k fault_at_exit" TRAP_SECONDS=45 bash tests/gpu/session.sh chosen=90
#
# Contexts come up one after another on a GPU, so stages do not run beside each other, and those that start several
# reductions give each a few lanes only. Beside eleven others a cold process took 24 to 30 s on an H100, alone 5 to 8.
set -u
cd "$(dirname "$0")/../.."
BACK=$(realpath -m "${OUT:-build/gpu}")
export OUT=/tmp/session
mkdir -p "$BACK" "$OUT/traps"
save() { tar czf "$BACK/session.new" -C "$OUT" . 2>/dev/null; mv "$BACK/session.new" "$BACK/session.tgz"; }
while sleep 10; do save; done &
trap 'kill %1; save' EXIT
[ -n "${CUDA_HOME:-}" ] || [ ! -x /usr/local/cuda/bin/nvcc ] || export CUDA_HOME=/usr/local/cuda # whose headers torch gives to NVRTC
export PYTHONUNBUFFERED=1 PYTHONPATH=${PYTHONPATH:-}:$PWD
tests() { python3 -m pytest -m gpu -p no:cacheprovider -p no:benchmark --timeout 1000 -rfE -s "$@"; }
traps() { # in four processes, not by pytest-xdist, which tells nothing of a test before it has ended
    local names=("bad_cublas or left_setting or second_misaligned" "compile_crash or mask_removed or poisoned"
        "dropped or earlier_launch or fault_at_exit" "second_illegal or out_of_memory or child")
    export TRAP_SECONDS=${TRAP_SECONDS:-14} TRAP_JOBS=${TRAP_JOBS:-4}
    for i in "${!names[@]}"; do
        OUT=$OUT/traps tests tests/gpu/test_traps.py -k "$1 and (${names[$i]})" >"$OUT/traps_$1_$i.txt" 2>&1 &
    done
    wait
    grep -ah "^[a-z_]* \(guarded\|naive\) \|passed\|failed\|^E  " "$OUT"/traps_"$1"_*.txt | cut -c1-250
}
lift() {
    for with in "" --with=--skip-pass=lift; do
        # shellcheck disable=SC2086 # none or one option
        python3 benchmarks/courses.py tma_misaligned --arch none --with=--jobs=7 --with="--max-time=${LIFT_SECONDS:-80}" \
            --with=--final-runs=1 --with=--no-report $with --json "$OUT/lift_${#with}.json" &
    done
    wait
}
export -f tests traps lift
for stage in "$@"; do
    name=${stage%=*}
    case $name in
    flaky) what="tests tests/gpu/test_flaky.py" ;;
    held) what="traps holds" ;;
    naive) what="traps slips" ;;
    lifting) what="tests tests/gpu/test_lifting.py -n 3" ;;
    lift) what="lift" ;;
    instruments) what="tests tests/gpu/test_explain.py tests/gpu/test_hang.py tests/gpu/test_knobs.py" ;;
    chosen) what="tests ${TESTS:-tests/gpu}" ;;
    differs) what="tests tests/gpu/test_differs.py -n 2" ;;
    corpus) what="tests tests/gpu/test_corpus.py" ;;
    alone) what="tests tests/gpu/test_kernel_alone.py" ;; # which kernel is taken alone, and what a try costs
    wmma) what="CUDA_SECONDS=$((${stage#*=} - 110)) tests tests/gpu/test_cuda.py -k wmma" ;;
    fa) what="CUDA_SECONDS=$((${stage#*=} - 110)) tests tests/gpu/test_cuda.py -k misaligned" ;;
    ir) what="tests tests/gpu/test_ir.py" ;;
    sweep) what="tests tests/gpu/test_sweep.py" ;;
    attachment) what="tests tests/gpu/test_attachment.py" ;;
    replay) what="python3 -m shrinkray_gpu replay corpus --json >$OUT/replay.json" ;;
    cases) what="python3 -m tests.gpu.make_cases --limit $((${stage#*=} - 15)) ${CASES:-}" ;;
    guards) what="python3 benchmarks/guards.py corpus/tma_misaligned/failing.py --oracle misaligned\ address --json $OUT/guards.json" ;;
    peers) what="python3 benchmarks/peers.py $PEERS" ;;
    *) echo "no stage is called $name" >&2 && exit 2 ;;
    esac
    echo "== $name"
    # KILL and not INT: a reduction finishes its result on INT, which takes as long again.
    timeout -s KILL "${stage#*=}" bash -c "OUT=$OUT; time $what" >"$OUT/$name.txt" 2>&1
    echo "ended with $?, the GPU: $(nvidia-smi --query-gpu=name,temperature.gpu,memory.used --format=csv,noheader 2>&1)"
    dmesg 2>/dev/null | grep -i "xid\|nvrm" | tail -5
    pkill -KILL -f shrinkray_gpu/runner/inside/main.py # lanes are in sessions of their own
    grep -av "File \"\|^ *$\|^~~~" "$OUT/$name.txt" | tail -25 | cut -c1-200
done
