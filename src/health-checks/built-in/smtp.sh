#!/bin/bash
# The mail server greets and answers EHLO.
# @param {"name":"domain","type":"hostname","default":"localhost","label":"Name said in EHLO"}
domain=localhost
for word in "${@:5}"; do
  case $word in --domain=*) domain=${word#*=} ;; esac
done
exec 3<>"/dev/tcp/$3/$4" || exit 1

# The last line of a reply has a space after its code.
reply() {
  local line
  while IFS= read -r line <&3; do
    echo "${line%$'\r'}"
    [[ $line =~ ^[0-9]{3}- ]] && continue
    [[ $line =~ ^2[0-9]{2} ]]
    return
  done
  return 1
}
reply || exit 2
printf 'EHLO %s\r\n' "$domain" >&3
reply || exit 3
printf 'QUIT\r\n' >&3
