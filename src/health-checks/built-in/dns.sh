#!/bin/bash
# The name server answers a question over UDP without an error, and perhaps with an address.
# @param {"name":"name","type":"hostname","required":true,"label":"Name to ask for"}
# @param {"name":"type","type":"string","default":"A","label":"A, AAAA, NS, CNAME, SOA, MX or TXT"}
# @param {"name":"answer","type":"string","label":"Address that must be among the answers"}
name='' type=A answer=''
for word in "${@:5}"; do
  case $word in
    --name=*) name=${word#*=} ;;
    --type=*) type=${word#*=} ;;
    --answer=*) answer=${word#*=} ;;
  esac
done
declare -A numbers=([A]=1 [NS]=2 [CNAME]=5 [SOA]=6 [MX]=15 [TXT]=16 [AAAA]=28)
[[ -n ${numbers[$type]:-} ]] || { echo "type $type is not known"; exit 1; }

# Converts an address to the bytes of a record, in hexadecimal digits.
bytes_of() {
  local group
  if [[ $1 != *:* ]]; then
    printf '%02x' ${1//./ }
    return
  fi
  local -a head tail
  IFS=: read -ra head <<<"${1%%::*}"
  if [[ $1 == *::* ]]; then IFS=: read -ra tail <<<"${1#*::}"; fi
  while ((${#head[@]} + ${#tail[@]} < 8)); do head+=(0); done
  for group in "${head[@]}" "${tail[@]}"; do printf '%04x' "0x$group"; done
}

id=$(printf '%04x' "$((SRANDOM & 0xffff))")
query="${id}01000001000000000000"
name=${name,,}
for label in ${name//./ }; do
  query+=$(printf '%02x' "${#label}")
  query+=$(printf %s "$label" | od -An -v -tx1 | tr -d ' \n')
done
query+=00$(printf '%04x' "${numbers[$type]}")0001

exec 3<>"/dev/udp/$3/$4" || exit 1
# dd sends one datagram; bash itself would split it at a byte that is a newline.
printf "$(sed 's/../\\x&/g' <<<"$query")" | dd bs=65535 iflag=fullblock 2>/dev/null >&3
reply=$(dd bs=65535 count=1 <&3 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
# A server that only echoes the question does not answer it.
[[ ${reply:0:4} == "$id" && ${reply:4:1} == [89a-f] && ${#reply} -ge 24 ]] || { echo 'no answer to the question'; exit 2; }
[[ ${reply:7:1} == 0 ]] || { echo "the answer is error ${reply:7:1}"; exit 3; }
[[ ${reply:8:4} == 0001 && ${reply:24:${#query}-24} == "${query:24}" ]] || { echo 'an answer to another question'; exit 2; }
count=$((16#${reply:12:4}))
echo "$count answers"
[[ -n $answer ]] || exit 0

# Each answer: name (a pointer or labels), type, class, TTL (4 bytes), length, data.
wanted=$(bytes_of "$answer")
at=${#query}
for ((; count > 0; count--)); do
  while [[ ${reply:at:1} != [c-f] && ${reply:at:2} != 00 && at -lt ${#reply} ]]; do
    ((at += 2 + 2 * 16#${reply:at:2}))
  done
  if [[ ${reply:at:2} == 00 ]]; then ((at += 2)); else ((at += 4)); fi
  ((at + 20 <= ${#reply})) || break
  length=$((16#${reply:at + 16:4}))
  [[ ${reply:at + 20:2 * length} == "$wanted" ]] && exit 0
  ((at += 20 + 2 * length))
done
echo "$answer is not among them"
exit 4
