#!/bin/bash
# Runs a health check where it can do no harm.
#
#   sandbox check SECONDS SCRIPT VIP VPORT RIP RPORT --name=value...
#   sandbox test  SECONDS SCRIPT VIP VPORT RIP RPORT --name=value...
#   sandbox test  SECONDS SCRIPT present|cleanup NAME VALUE --name=value...
#   sandbox probe
#
# The check sees only the programs of this machine and the files that its parameters name, and no other processes. It has
# no capabilities and little memory, and every process it started ends with it. Only the network is shared.
# If no sandbox can be made, `check` exits with 0: servers must not go down because of the machine that checks them. The
# journal reports this about once a minute for each check that fails. `test` and `probe` then exit with 125.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C

# A caller ends the whole check by ending this process. The process stays in the process group it was started in, because
# HAProxy waits for children of its own group only.
case $1 in
probe) exec timeout --foreground -s KILL 5 "$0" inside probe 5 /dev/null ;;
check | test) mode=$1 seconds=$2 && shift 2 && exec timeout --foreground -s KILL "$seconds" "$0" inside "$mode" "$seconds" "$@" ;;
inside) ;;
*) exit 64 ;;
esac

mode=$2 seconds=$3 script=$4
shift 4
# The check must not inherit open files, whatever the caller. (dash knows only single-digit descriptors.)
for open in /proc/self/fd/*; do
  [ "${open##*/}" -le 2 ] || eval "exec ${open##*/}>&-"
done
server="$3 $4"
exec 3<"$script"
# When memory is short, the kernel kills checks first.
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null

# Succeeds if the number of namespaces can be limited: /proc/sys must be writable, which it is not in containers.
limitable() {
  while read -r _ place _ options _; do
    case "$place $options" in '/proc/sys ro' | '/proc/sys ro,'*) return 1 ;; esac
  done </proc/self/mounts
}

# Seccomp filter of a check, as a BPF program (eight bytes per instruction: code, jump if true, jump if false, number).
# With the network, the names of local sockets are shared: a check could take a name that another program is about to
# use, or talk to the program that has it. Socket pairs, with which programs wake themselves, stay allowed as long as they
# get no name: a bound address must have the length of a netlink, IPv4 or IPv6 address.
calls='\040\000\000\000\004\000\000\000' # the machine
calls="$calls"'\025\000\000\021\076\000\000\300' # is x86-64, or no
calls="$calls"'\040\000\000\000\000\000\000\000' # the call
calls="$calls"'\065\000\017\000\000\000\000\100' # is of x32: no
calls="$calls"'\025\000\016\000\251\001\000\000' # is io_uring_setup, which bypasses this filter: no
calls="$calls"'\025\000\002\000\051\000\000\000' # is socket
calls="$calls"'\025\000\003\000\065\000\000\000' # is socketpair
calls="$calls"'\025\000\007\014\061\000\000\000' # is bind, or yes
calls="$calls"'\040\000\000\000\020\000\000\000' # socket: the family
calls="$calls"'\025\000\011\012\001\000\000\000' # is local: no, or yes
calls="$calls"'\040\000\000\000\020\000\000\000' # socketpair: the family
calls="$calls"'\025\000\000\010\001\000\000\000' # is local, or yes
calls="$calls"'\040\000\000\000\030\000\000\000' # the type
calls="$calls"'\124\000\000\000\017\000\000\000' # without flags
calls="$calls"'\025\000\005\004\001\000\000\000' # is a stream: yes, or no
calls="$calls"'\040\000\000\000\040\000\000\000' # bind: the length of the address
calls="$calls"'\025\000\003\000\014\000\000\000' # is 12: yes
calls="$calls"'\025\000\002\000\020\000\000\000' # is 16: yes
calls="$calls"'\025\000\001\000\034\000\000\000' # is 28: yes, or no
calls="$calls"'\006\000\000\000\001\000\005\000' # no: EPERM
calls="$calls"'\006\000\000\000\000\000\377\177' # yes

# Runs a command with the programs of this machine and its files for names and certificates; only a small /tmp is
# writable.
boxed() {
  for link in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$link" ]; then set -- --symlink "usr/$link" "/$link" "$@"; else set -- --ro-bind-try "/$link" "/$link" "$@"; fi
  done
  for name in alternatives ca-certificates hosts ld.so.cache nsswitch.conf protocols resolv.conf services ssl; do
    set -- --ro-bind-try "/etc/$name" "/etc/$name" "$@"
  done
  # If this machine is a container itself, its kernel refuses a nested container its own /proc.
  # /proc is read-only: a check that was not started by root could otherwise reset its oom_score_adj.
  [ -e /run/systemd/container ] || set -- --proc /proc --remount-ro /proc "$@"
  # In a user namespace of its own, a check would have all capabilities, and with them more of the kernel to attack.
  if limitable; then set -- --disable-userns "$@"; fi
  [ ! -e /lib64/ld-linux-x86-64.so.2 ] || set -- --seccomp 4 "$@"
  set -- bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --die-with-parent --new-session \
    --hostname check --chdir / --clearenv --setenv PATH "$PATH" --setenv LC_ALL C \
    --dev /dev --ro-bind /usr /usr --size 16777216 --tmpfs /tmp "$@"
  if [ "$EUID" = 0 ]; then
    account=65534
    while IFS=: read -r name _ id _; do [ "$name" != fulcrum-check ] || account=$id; done </etc/passwd
    set -- setpriv --reuid="$account" --regid="$account" --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"
  fi
  # exec replaces the shell, so that the program ends with the process that waits for it. Standard input is the caller's.
  exec 5<&0
  printf %b "$calls" | { exec 4<&0 <&5 5<&- && exec "$@"; }
}

possible() { boxed --remount-ro / true </dev/null 3<&-; }
if [ "$mode" = probe ]; then
  if possible; then exit 0; fi
  echo 'There can be no sandbox for health checks on this machine' >&2
  exit 125
fi

# Limits are set inside, where only the processes of this check are counted. Shared memory does not count towards --data.
set -- --perms 0555 --ro-bind-data 3 /check --remount-ro /dev --remount-ro / -- \
  prlimit --core=0 --nofile=64 --nproc=64 --data=268435456 --as=536870912 --fsize=16777216 --cpu="$seconds" -- /check "$@"
for word; do
  case $word in
  --*=/dev/* | --*=/proc/* | --*=/sys/* | --*=/tmp/* | --*=/usr/* | --*=/check) ;;
  --*=/*) [ ! -f "${word#*=}" ] || set -- --ro-bind-try "${word#*=}" "${word#*=}" "$@" ;;
  esac
done
# If the sandbox could be made, bubblewrap reports on descriptor 6 how the check ended. The pipe is open for reading and
# writing, so that bubblewrap stays a child of this process and ends with it.
exec 6<> <(:)
boxed --json-status-fd 6 "$@"
status=$?
[ "$status" -ne 0 ] || exit 0
while read -r -t 0 -u 6; do
  read -r said <&6
  case $said in *'"exit-code"'*) exit "$status" ;; esac
done
if possible 2>/dev/null; then exit "$status"; fi
problem='There can be no sandbox on this machine, so nothing was checked'
echo "$problem" >&2
[ "$mode" = check ] || exit 125
# Checks run every few seconds; only those at the start of a minute are logged.
[ $(($(date +%s) % 60)) -ge "$seconds" ] || logger --tag fulcrum-check --priority daemon.warning -- "$problem: $server"
exit 0
