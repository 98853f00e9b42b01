#!/bin/bash
# The real server accepts a TCP connection.
exec 3<>"/dev/tcp/$3/$4"
