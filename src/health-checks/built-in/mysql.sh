#!/bin/bash
# The MySQL or MariaDB server greets, and perhaps lets a user without a password in.
# @param {"name":"user","type":"string","label":"User to log in, without a password"}
user=''
for word in "${@:5}"; do
  case $word in --user=*) user=${word#*=} ;; esac
done
exec 3<>"/dev/tcp/$3/$4" || exit 1

receive() { dd bs=65535 count=1 <&3 2>/dev/null | od -An -v -tx1 | tr -d ' \n'; }
send() { printf "$(sed 's/../\\x&/g' <<<"$1")" >&3; }

greeting=$(receive)
# Packet length and number, then the protocol version; ff means an error such as "too many connections".
[[ ${greeting:8:2} == 0a ]] || { echo "not a greeting: ${greeting:0:64}"; exit 2; }
[[ -n $user ]] || exit 0

# Protocol 4.1 with the newer login method, packets of up to 16 MiB, UTF-8, the user, an empty password.
login=01820000000000012100$(printf '%044d' 0)
login+=$(printf %s "$user" | od -An -v -tx1 | tr -d ' \n')0000
send "$(printf '%02x%02x00' $((${#login} / 2 % 256)) $((${#login} / 512)))01$login"
reply=$(receive)
# The server wants another login method: in all of them an empty password is an empty packet.
if [[ ${reply:8:2} == fe ]]; then
  send 00000003
  reply=$(receive)
fi
[[ ${reply:8:2} == 00 ]] || { echo "the login was refused: ${reply:0:64}"; exit 3; }
send 0100000001
