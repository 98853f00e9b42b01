#!/bin/bash
# The RADIUS server answers a Status-Server request with a proof that it knows the shared secret.
# @param {"name":"secretFile","type":"path","required":true,"label":"File with the shared secret, readable for the account of the checks"}
file=''
for word in "${@:5}"; do
  case $word in --secretFile=*) file=${word#*=} ;; esac
done
[[ -r $file ]] || { echo 'the file of the secret cannot be read'; exit 1; }

# Bytes are handled as hexadecimal digits; no secret appears on a command line.
hex() { od -An -v -tx1 | tr -d ' \n'; }
raw() { printf "$(sed 's/../\\x&/g')"; }
md5() { raw | openssl dgst -md5 -binary | hex; }

secret=$(head -n 1 "$file" | tr -d '\r\n' | hex)
key=$secret
((${#key} > 128)) && key=$(md5 <<<"$key")
while ((${#key} < 128)); do key+=00; done
xored() {
  local at
  for ((at = 0; at < 128; at += 2)); do printf '%02x' $((16#${key:at:2} ^ $1)); done
}

id=$(printf '%02x' $((RANDOM % 256)))
authenticator=$(head -c 16 /dev/urandom | hex)
head="0c${id}0026$authenticator"
inner=$(md5 <<<"$(xored 0x36)${head}5012$(printf '%032d' 0)")
proof=$(md5 <<<"$(xored 0x5c)$inner")

exec 3<>"/dev/udp/$3/$4" || exit 1
# dd sends one datagram; bash itself would split it at a byte that is a newline.
raw <<<"${head}5012$proof" | dd bs=4096 iflag=fullblock 2>/dev/null >&3
reply=$(dd bs=4096 count=1 <&3 2>/dev/null | hex)
[[ ${#reply} -ge 40 && ${reply:2:2} == "$id" ]] || { echo 'no answer'; exit 2; }
wanted=$(md5 <<<"${reply:0:8}$authenticator${reply:40}$secret")
[[ ${reply:8:32} == "$wanted" ]] || { echo 'the answer was made with another secret'; exit 3; }
[[ ${reply:0:2} == 02 || ${reply:0:2} == 05 ]] || { echo "the answer has code ${reply:0:2}"; exit 4; }
