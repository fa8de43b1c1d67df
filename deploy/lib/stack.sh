# shellcheck shell=bash
# The parts of deploy/dev's stack: where they are, how one is started, stopped and recognised, and how all that a stack
# can leave behind is removed. Sourced by deploy/dev, which sets these:
: "${run_dir:?}" "${state_dir:?}" "${cgroup_parent:?}" "${sandbox_bin:?}"

say() { printf 'dev: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }
now_ms() { local t=$EPOCHREALTIME; echo $((${t/[.,]/} / 1000)); }

# wait_until MILLISECONDS COMMAND...: polls until COMMAND succeeds. Every wait in these files goes through it.
wait_until() {
  local deadline=$(($(now_ms) + $1)) pause=0.01
  shift
  until "$@"; do
    [ "$(now_ms)" -lt "$deadline" ] || return 1
    sleep "$pause"
    pause=0.05
  done
}

# is_ours PID: whether it is a process of this stack, by what it executes and by the run directory in its arguments.
# Both, for an editor or a shell may name the directory, and the machine may have its own containerd. After a kill -9
# pid files tell nothing, and of a dead shim's sandbox there is none.
is_ours() {
  local exe arguments
  exe=$(readlink "/proc/$1/exe" 2>/dev/null) || return 1
  exe=${exe% (deleted)}
  case ${exe##*/} in
    containerd | containerd-shim* | ctr | runc | runsc | mayfly-* | memfd:*) ;;
    *) return 1 ;;
  esac
  { arguments=$(tr '\0' '\n' <"/proc/$1/cmdline"); } 2>/dev/null || return 1
  [[ $'\n'$arguments =~ [$'\n'=:]"$run_dir"/ ]]
}

our_processes() { # the stack's processes; with an argument, only those whose program has that name
  local pid exe
  for pid in $(ps -eo pid=,comm= | awk '$2 ~ /^(containerd|ctr|runc|runsc|mayfly-|exe$|memfd|[0-9]+$)/ { print $1 }'); do
    is_ours "$pid" || continue
    if [ -n "${1:-}" ]; then
      exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || continue
      exe=${exe% (deleted)}
      [ "${exe##*/}" = "$1" ] || continue
    fi
    echo "$pid"
  done
}

program_of() { # program_of PART: the name of the program it executes
  case $1 in
    containerd) echo containerd ;;
    *) echo "mayfly-$1" ;;
  esac
}

# pid_of PART: its process; fails when it is not running. The pid file is trusted only when the process is ours.
pid_of() {
  local pid exe
  [ -s "$run_dir/$1.pid" ] && pid=$(<"$run_dir/$1.pid") && [ -n "$pid" ] && is_ours "$pid" || return 1
  exe=$(readlink "/proc/$pid/exe") || return 1
  exe=${exe% (deleted)}
  [ "${exe##*/}" = "$(program_of "$1")" ] && echo "$pid"
}

# Not by kill -0: it holds for zombies, too, and not every machine's init reaps at once.
are_gone() {
  local pid
  for pid; do ! is_ours "$pid" || return 1; done
}

# start PART IDENTITY COMMAND...: in the background, in its own session, without this shell's environment or locks.
start() {
  local part=$1 identity=$2
  shift 2
  rm -f "$run_dir/$part.sock" "$run_dir/$part.identity"
  env -i PATH="$sandbox_bin:/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 \
    setsid "$@" </dev/null >>"$state_dir/log/$part.log" 2>&1 8>&- 9>&- &
  echo $! >"$run_dir/$part.pid"
  disown
  echo "$identity" >"$run_dir/$part.identity"
  # Until env and setsid have become the program; one that ends at once is found dead by who waits for it.
  wait_until 1000 pid_of "$part" >/dev/null || true
}

# stop PART SECONDS: SIGTERM, and SIGKILL when it takes longer. Also stops one that has lost its pid file.
stop() {
  local part=$1 seconds=$2 pids
  mapfile -t pids < <(our_processes "$(program_of "$part")")
  if [ "${#pids[@]}" -gt 0 ]; then
    kill -TERM "${pids[@]}" 2>/dev/null || true
    if ! wait_until $((seconds * 1000)) are_gone "${pids[@]}"; then
      say "$part did not stop within $seconds s; killing it"
      kill -KILL "${pids[@]}" 2>/dev/null || true
      wait_until 5000 are_gone "${pids[@]}" || true
    fi
  fi
  rm -f "$run_dir/$part.pid" "$run_dir/$part.identity" "$run_dir/$part.sock"
}

# The parent's directory in every hierarchy, be it v1, v2 or the hybrid of both.
cgroup_directories() {
  local directory
  for directory in /sys/fs/cgroup"$cgroup_parent" /sys/fs/cgroup/*"$cgroup_parent"; do
    [ ! -d "$directory" ] || [ -L "${directory%"$cgroup_parent"}" ] || echo "$directory"
  done
}

cgroup_processes() { # those of sandboxes, whatever they execute
  local directory
  for directory in $(cgroup_directories); do
    find "$directory" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done | grep -vx 0 | sort -un
}

kill_processes() { # kills what is left and says whether nothing was
  local pids
  mapfile -t pids < <(our_processes; cgroup_processes)
  [ "${#pids[@]}" -gt 0 ] || return 0
  kill -KILL "${pids[@]}" 2>/dev/null || true
  return 1
}

remove_cgroups() {
  local directory
  for directory in $(cgroup_directories); do
    find "$directory" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
  [ -z "$(cgroup_directories)" ]
}

our_mounts() { # deepest and latest first
  awk -v run="$run_dir" -v state="$state_dir" '
    index($5 "/", run "/") == 1 || index($5 "/", state "/") == 1 { print $5 }' /proc/self/mountinfo | tac
}

remove_mounts() {
  local mount
  while read -r mount; do umount "$mount" 2>/dev/null || umount -l "$mount" 2>/dev/null || true; done < <(our_mounts)
  [ -z "$(our_mounts)" ]
}

# containerd 1.6 to 2.x make the shims' sockets in /run/containerd/s, whatever their configuration says, under a name
# that is the hash of containerd's address, the namespace and the container's id. A shim that was killed leaves its
# socket, and its bundle names it.
shim_sockets() {
  { cat "$run_dir"/containerd/io.containerd.runtime.v2.task/*/*/address 2>/dev/null || true; } |
    grep -oE '/run/containerd/s/[0-9a-f]{64}' || true
  local pid inodes
  for pid in $(our_processes containerd-shim-runc-v2); do
    inodes=$(find "/proc/$pid/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null | tr -dc '0-9\n')
    awk -v inodes="$inodes" 'BEGIN { n = split(inodes, list, "\n"); for (i = 1; i <= n; i++) ours[list[i]] }
      ($7 in ours) && $8 ~ "^/run/containerd/s/" { print $8 }' /proc/net/unix
  done
}

# sweep: removes everything of the stack that still runs or exists, whatever became of its daemons. Bounded; says what
# it could not remove, and fails then.
sweep() {
  local failed=0 sockets directory
  mapfile -t sockets < <(shim_sockets | sort -u)
  wait_until 15000 kill_processes || { say "processes that do not die: $(our_processes; cgroup_processes)"; failed=1; }
  wait_until 10000 remove_mounts || { say "mounts that stay: $(our_mounts)"; failed=1; }
  wait_until 10000 remove_cgroups || { say "cgroups that stay: $(cgroup_directories)"; failed=1; }
  [ "${#sockets[@]}" = 0 ] || rm -f -- "${sockets[@]}"
  # Other containerds share these directories: they go only when empty, and when nobody may be about to use them.
  pgrep -x 'containerd|dockerd' >/dev/null ||
    rmdir /run/containerd/s /run/containerd/fifo /run/containerd/runc /run/containerd 2>/dev/null || true
  for directory in "$run_dir" "$state_dir"; do
    rm -rf --one-file-system -- "$directory" || { say "cannot remove $directory"; failed=1; }
  done
  return "$failed"
}
