#!/bin/bash
# The real server answers a datagram as expected; without an expected reply: its port is not said to be unreachable.
# @param {"name":"payload","type":"string","required":true,"label":"What is sent, in hexadecimal digits"}
# @param {"name":"reply","type":"string","label":"How the reply begins, in hexadecimal digits"}
payload='' wanted=''
for word in "${@:5}"; do
  case $word in
    --payload=*) payload=${word#*=} ;;
    --reply=*) wanted=${word#*=} ;;
  esac
done
[[ $payload =~ ^([0-9a-fA-F]{2})+$ ]] || { echo 'the payload is not one of hexadecimal digits'; exit 1; }

exec 3<>"/dev/udp/$3/$4" || exit 1
# dd sends one datagram; bash itself would split it at a byte that is a newline.
printf "$(sed 's/../\\x&/g' <<<"$payload")" | dd bs=65535 iflag=fullblock 2>/dev/null >&3
if [[ -z $wanted ]]; then
  # Passes on an answer or on silence (a status above 128), but not on a socket error.
  IFS= read -r -t 0.5 -N 1 <&3
  (($? != 1)) || { echo 'the port is unreachable'; exit 2; }
  exit 0
fi
reply=$(dd bs=65535 count=1 <&3 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
[[ $reply == "${wanted,,}"* ]] || { echo "the reply begins with ${reply:0:64}"; exit 3; }
