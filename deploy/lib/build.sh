# shellcheck shell=bash
# Building with progress. Sourced by deploy/quickstart and tests/run, in the checkout's root.

# build PRESET [TARGET...]: configures at the first time, then builds. On a terminal ninja's status in one line that
# changes, else a line every 30 s; all output in build/logs/build-PRESET.log, whose end is shown when it fails.
build() {
  local preset=$1 log=build/logs/build-$1.log status=0 pid jobs memory waited=0 line=
  local targets=()
  shift
  [ $# -eq 0 ] || targets=(--target "$@")
  mkdir -p build/logs
  # A compiler of gRPC's headers takes up to 1.5 GB.
  jobs=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
  [ "$jobs" -le "$memory" ] || jobs=$((memory > 1 ? memory : 1))

  {
    [ -e "build/$preset/build.ninja" ] || cmake --preset "$preset"
  } >"$log" 2>&1 || {
    tail -n 25 "$log" >&2
    echo "build: configuring $preset failed; the whole log is $log" >&2
    return 1
  }
  setsid cmake --build --preset "$preset" --parallel "$jobs" "${targets[@]}" </dev/null >>"$log" 2>&1 &
  pid=$!
  # What runs in the background ignores an interrupt at the terminal: end ninja and its compilers with this shell.
  trap 'kill -- "-$pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    waited=$((waited + 1))
    if [ -t 2 ]; then
      line=$(tail -n 1 "$log" | cut -c1-100)
      [[ $line != \[* ]] || printf '\r\033[Kbuild: %s' "$line" >&2
    elif [ $((waited % 150)) = 0 ]; then
      line=$(grep -oE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 1 || true)
      echo "build: $preset ${line:-...}" >&2
    fi
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
  wait "$pid" || status=$?
  trap - INT TERM
  if [ "$status" != 0 ]; then
    # What failed comes before what was still being built beside it.
    grep -E -A25 -m1 '^FAILED: |error:' "$log" >&2 || tail -n 25 "$log" >&2
    echo "build: building $preset failed; the whole log is $log" >&2
    return 1
  fi
}
