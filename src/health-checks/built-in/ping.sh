#!/bin/bash
# The real server answers an ICMP echo request.
exec ping -n -q -c 1 "$3"
