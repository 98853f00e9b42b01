#!/bin/bash
# The real server answers an HTTPS request with an expected status, and perhaps with a text. Its certificate is not judged.
# @param {"name":"path","type":"path","default":"/","label":"Path"}
# @param {"name":"host","type":"string","label":"Host header and TLS server name"}
# @param {"name":"expect","type":"string","default":"200-399","label":"Statuses that mean up"}
# @param {"name":"text","type":"string","label":"Text in the answer, which is up to 1 MiB then"}
address=$3 port=$4 path=/ host='' expect=200-399 text=''
for word in "${@:5}"; do
  case $word in
    --path=*) path=${word#*=} ;;
    --host=*) host=${word#*=} ;;
    --expect=*) expect=${word#*=} ;;
    --text=*) text=${word#*=} ;;
  esac
done
[[ $expect =~ ^[1-5][0-9]{2}(-[1-5][0-9]{2})?(,[1-5][0-9]{2}(-[1-5][0-9]{2})?)*$ ]] || { echo 'expect is no list of statuses'; exit 1; }
[[ $address == *:* ]] && address="[$address]"

# The host name goes into the request and the TLS handshake, whatever address curl connects to.
# If no text is wanted, the body is not read: its first bytes cannot be written, and curl ends with status 23.
answer=/dev/full limits=(--no-buffer)
[[ -z $text ]] || answer=/tmp/answer limits=(--max-filesize 1048576)
status=$(curl --silent --show-error --globoff --path-as-is --noproxy '*' --insecure "${limits[@]}" \
  --output "$answer" --write-out '%{http_code}' \
  --connect-to "::$address:$port" "https://${host:-$address:$port}$path" 2>/tmp/problem)
ended=$?
[[ $ended == 0 || ( $ended == 23 && -z $text ) ]] || { cat /tmp/problem; exit 1; }
echo "status $status"

matches() {
  local range
  for range in ${expect//,/ }; do
    ((status >= ${range%-*} && status <= ${range#*-})) && return
  done
  return 1
}
matches || exit 2
[[ -z $text ]] || grep --quiet --fixed-strings --regexp="$text" "$answer" || { echo 'the text is not in the answer'; exit 3; }
