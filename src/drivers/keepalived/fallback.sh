#!/bin/sh
# fulcrum-fallback add|remove|settle PLACE METHOD (-t|-u|-f SERVICE [-6])...
# Puts the fallback server of a frontend into the kernel's table beside its real servers, or takes it out again: keepalived
# calls it when the last real server goes and when one is back. `settle` looks which of both is right now. Repeating it changes nothing.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin

usage() {
  echo "usage: fulcrum-fallback add|remove|settle PLACE METHOD (-t|-u|-f SERVICE [-6])..." >&2
  exit 2
}
[ $# -ge 5 ] || usage
verb=$1 place=$2 method=$3 failed=0
case $verb in add | remove | settle) ;; *) usage ;; esac
shift 3

# Whether a server other than the fallback takes new connections of the service "$1 $2".
is_served() {
  ipvsadm --save --numeric | while read -r line; do
    case $line in "-a $1 $2 "*) ;; *) continue ;; esac
    server=${line#* -r } weight=${line#* -w }
    if [ "${server%% *}" != "$place" ] && [ "${weight%% *}" -gt 0 ]; then echo yes; fi
  done | grep -q yes
}
while [ $# -ge 2 ]; do
  flag=$1 service=$2 family= do=$verb
  shift 2
  if [ "${1-}" = -6 ]; then
    family=-6
    shift
  fi
  if [ "$do" = settle ]; then
    if is_served "$flag" "$service"; then do=remove; else do=add; fi
  fi
  # What is there is changed, what is not is added; what is gone need not be removed. Another run may have added it
  # between the first two commands.
  if [ "$do" = add ]; then
    ipvsadm -e "$flag" "$service" $family -r "$place" "$method" -w 1 2>/dev/null ||
      ipvsadm -a "$flag" "$service" $family -r "$place" "$method" -w 1 2>/dev/null ||
      ipvsadm -e "$flag" "$service" $family -r "$place" "$method" -w 1 || failed=1
  else
    ipvsadm -d "$flag" "$service" $family -r "$place" 2>/dev/null || :
  fi
done
exit $failed
