#!/bin/bash
# Runs a health check where it can do no harm.
#
#   sandbox check SECONDS SCRIPT VIP VPORT RIP RPORT --name=value...
#   sandbox test  SECONDS SCRIPT VIP VPORT RIP RPORT --name=value...
#   sandbox test  SECONDS SCRIPT present|cleanup NAME VALUE --name=value...
#   sandbox probe
#
# The check is alone with the programs of this machine: it sees no process and no file of anybody else, but the files that
# its parameters name; it has no powers, little memory, and everything it started ends with it. Only the network is shared.
# `check` answers 0 when there can be no sandbox: servers must not go down because of the machine that asks. The journal
# tells of it, about once a minute for each check that fails.
# `test` and `probe` answer 125 then.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C

# Whoever waits for the check ends all of it by ending this process. It stays in the process group it was started in:
# HAProxy hears of no others.
case $1 in
probe) exec timeout --foreground -s KILL 5 "$0" inside probe 5 /dev/null ;;
check | test) mode=$1 seconds=$2 && shift 2 && exec timeout --foreground -s KILL "$seconds" "$0" inside "$mode" "$seconds" "$@" ;;
inside) ;;
*) exit 64 ;;
esac

mode=$2 seconds=$3 script=$4
shift 4
# What the caller has open is not for the check, whoever the caller is. (dash knows descriptors of one digit only.)
for open in /proc/self/fd/*; do
  [ "${open##*/}" -le 2 ] || eval "exec ${open##*/}>&-"
done
server="$3 $4"
exec 3<"$script"
# When memory is short, the checks go first.
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null

# Where /proc/sys is read-only, as in containers, nobody can limit how many namespaces there are.
limitable() {
  while read -r _ place _ options _; do
    case "$place $options" in '/proc/sys ro' | '/proc/sys ro,'*) return 1 ;; esac
  done </proc/self/mounts
}

# What a check may ask the kernel for, as a program of its filters (BPF, eight bytes each: code, jump if so, jump if not,
# number). The network is shared, and with it the names of local sockets: a check could take one that somebody else is
# about to use, or talk to whoever has it. Pairs of them stay, which programs wake themselves with, as long as they get no
# name: addresses that are bound have the length of those of netlink, IPv4 or IPv6.
calls='\040\000\000\000\004\000\000\000' # the machine
calls="$calls"'\025\000\000\021\076\000\000\300' # is x86-64, or no
calls="$calls"'\040\000\000\000\000\000\000\000' # the call
calls="$calls"'\065\000\017\000\000\000\000\100' # is of x32: no
calls="$calls"'\025\000\016\000\251\001\000\000' # is io_uring_setup, which goes by all of this: no
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

# The programs of this machine, and what they need for names and certificates; nothing can be written but a small /tmp.
boxed() {
  for link in bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$link" ]; then set -- --symlink "usr/$link" "/$link" "$@"; else set -- --ro-bind-try "/$link" "/$link" "$@"; fi
  done
  for name in alternatives ca-certificates hosts ld.so.cache nsswitch.conf protocols resolv.conf services ssl; do
    set -- --ro-bind-try "/etc/$name" "/etc/$name" "$@"
  done
  # Where this machine is a container itself, its kernel does not show processes to another one.
  # Nothing is written there: a check that is not root's could take back that it goes first when memory is short.
  [ -e /run/systemd/container ] || set -- --proc /proc --remount-ro /proc "$@"
  # A namespace of its own would give a check all powers in it, and with them more of the kernel to break.
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
  # In place of the shell: it ends with the process that waits for it. What the caller wants read comes by standard input.
  exec 5<&0
  printf %b "$calls" | { exec 4<&0 <&5 5<&- && exec "$@"; }
}

possible() { boxed --remount-ro / true </dev/null 3<&-; }
if [ "$mode" = probe ]; then
  if possible; then exit 0; fi
  echo 'There can be no sandbox for health checks on this machine' >&2
  exit 125
fi

# Limits are set inside, where only the processes of this check are counted. What is shared counts as no data.
set -- --perms 0555 --ro-bind-data 3 /check --remount-ro /dev --remount-ro / -- \
  prlimit --core=0 --nofile=64 --nproc=64 --data=268435456 --as=536870912 --fsize=16777216 --cpu="$seconds" -- /check "$@"
for word; do
  case $word in
  --*=/dev/* | --*=/proc/* | --*=/sys/* | --*=/tmp/* | --*=/usr/* | --*=/check) ;;
  --*=/*) [ ! -f "${word#*=}" ] || set -- --ro-bind-try "${word#*=}" "${word#*=}" "$@" ;;
  esac
done
# bubblewrap says on descriptor 6 how the check ended, if there was a sandbox for it: in a pipe that is opened for both, so
# that bubblewrap stays a child of this process and ends with it.
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
# Checks come every few seconds.
[ $(($(date +%s) % 60)) -ge "$seconds" ] || logger --tag fulcrum-check --priority daemon.warning -- "$problem: $server"
exit 0
