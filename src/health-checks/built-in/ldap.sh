#!/bin/bash
# The directory server lets an anonymous bind in.
exec 3<>"/dev/tcp/$3/$4" || exit 1
printf '\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\x00\x80\x00' >&3
reply=$(dd bs=4096 count=1 <&3 2>/dev/null | od -An -v -tx1 | tr -d ' \n')
# A message with number 1 that holds a bind response, whose result is 0; lengths are of one byte or of several.
length='(81..|82....|84........|[0-7].)'
[[ $reply =~ ^30${length}02010161${length}0a0100 ]] || { echo "not a successful answer: ${reply:0:64}"; exit 2; }
printf '\x30\x05\x02\x01\x02\x42\x00' >&3
