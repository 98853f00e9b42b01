#!/bin/sh
# fulcrum-fallback add|remove PLACE METHOD (-t|-u|-f SERVICE [-6])...
# Puts the fallback server of a frontend into the kernel's table beside its real servers, or takes it out again: keepalived
# calls it when the last real server goes and when one is back. Repeating it changes nothing.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin

[ $# -ge 5 ] || { echo "usage: fulcrum-fallback add|remove PLACE METHOD (-t|-u|-f SERVICE [-6])..." >&2; exit 2; }
verb=$1 place=$2 method=$3 failed=0
shift 3
while [ $# -ge 2 ]; do
  flag=$1 service=$2 family=
  shift 2
  if [ "${1-}" = -6 ]; then
    family=-6
    shift
  fi
  # What is there is changed, what is not is added; what is gone need not be removed.
  if [ "$verb" = add ]; then
    ipvsadm -e "$flag" "$service" $family -r "$place" "$method" -w 1 2>/dev/null ||
      ipvsadm -a "$flag" "$service" $family -r "$place" "$method" -w 1 || failed=1
  else
    ipvsadm -d "$flag" "$service" $family -r "$place" 2>/dev/null || :
  fi
done
exit $failed
