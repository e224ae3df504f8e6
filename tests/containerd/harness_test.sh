#!/usr/bin/env bash
# The harness itself: a private containerd starts, has the tests' images, runs a container, and leaves nothing behind,
# even when containerd was killed with a container running. Exit code 77 says skipped, and why.
#   harness_test.sh [--containerd 1|2]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PODWRIGHT_IMAGE_CACHE:-$here/../../build/images}

if [ "$(id -u)" != 0 ]; then
  echo "skipped: a container runtime needs root"
  exit 77
fi
dir=$(mktemp -d /tmp/pw-XXXXXX)
trap '"$here/private_containerd.sh" stop "$dir" && rmdir "$dir"' EXIT
code=0
"$here/private_containerd.sh" start "$dir" "$@" >"$dir/start.out" || code=$?
if [ $code != 0 ]; then
  cat "$dir/start.out"
  exit $code
fi
# shellcheck disable=SC1091
source "$dir/env"
ctr() { command "$PW_CTR" -a "$PW_SOCKET" -n k8s.io "$@"; }
check() {
  if [ "$2" != "$3" ]; then
    printf 'FAILED: %s: wanted "%s", got "%s"\n' "$1" "$2" "$3"
    exit 1
  fi
  printf 'ok: %s\n' "$1"
}

"$here/images.sh" "$cache" "$PW_SOCKET" --ctr "$PW_CTR"
check "the images are there under their names" 3 "$(ctr images ls -q | grep -c '^registry.test/')"

run() { ctr run --runc-binary "$PW_RUNC" --runc-root "$PW_DIR/runc" "$@"; }
check "a container runs a busybox applet" "hello from a box" "$(run --rm registry.test/box:1 one echo hello from a box)"
check "both tags differ in content" "2" "$(run --rm registry.test/box:2 two cat /etc/box)"

run -d --cgroup "$PW_CGROUP/three" registry.test/box:1 three sleep 1000
run -d --cgroup "$PW_CGROUP/four" registry.test/pause:1 four
check "two containers run" 2 "$(ctr tasks ls | grep -c RUNNING)"
pid=$(ctr tasks ls | awk '$1 == "three" {print $2}')
check "the container is a process" yes "$([ -d "/proc/$pid" ] && echo yes)"

# A crash of containerd leaves containers and shims running: stop must find them without it.
kill -KILL "$(cat "$PW_DIR/containerd.pid")"
"$here/private_containerd.sh" stop "$dir"
check "no process is left" "" "$([ -d "/proc/$pid" ] && cat "/proc/$pid/cmdline" || true)"
check "no mount is left" 0 "$(grep -c " $dir" /proc/self/mountinfo || true)"
check "no cgroup is left" 0 "$(find /sys/fs/cgroup -maxdepth 2 -name "${PW_CGROUP#/}" | wc -l)"
check "no bridge is left" 0 "$(ip link | grep -c "$PW_BRIDGE" || true)"
check "no file is left" 0 "$(find "$dir" -mindepth 1 | wc -l)"
