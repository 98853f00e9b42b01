"""A cable that is long: what goes in at one end comes out at the other one so many milliseconds later.

usage: distant-cable.py END_HERE NAMESPACE END_THERE MILLISECONDS

Kernels that tests run on may lack netem. The ends are TAP devices, one in the network of this program and one in that
of the namespace. Both are there once it has said so, and go away with it.
"""
import ctypes
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
FRAME_BYTES_MAX = 65_536


def device(name):
    end = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack('16sH22x', name.encode(), IFF_TAP | IFF_NO_PI))
    return end


def enter(namespace):
    with open(f'/run/netns/{namespace}') as file:
        # os.setns came with Python 3.12.
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f'{namespace} cannot be entered')


def forward(ends, delay_s):
    on_the_way = {end: deque() for end in ends}
    while True:
        first = min((frames[0][0] for frames in on_the_way.values() if frames), default=None)
        wait_s = None if first is None else max(0, first - time.monotonic())
        for end in select.select(ends, [], [], wait_s)[0]:
            frame = os.read(end, FRAME_BYTES_MAX)
            other = ends[1] if end == ends[0] else ends[0]
            on_the_way[other].append((time.monotonic() + delay_s, frame))
        now = time.monotonic()
        for end, frames in on_the_way.items():
            while frames and frames[0][0] <= now:
                try:
                    os.write(end, frames.popleft()[1])
                except OSError:
                    # That end is down, or full: the frame is lost, as on a cable.
                    pass


def main():
    here, namespace, there, milliseconds = sys.argv[1:]
    near = device(here)
    enter(namespace)
    ends = [near, device(there)]
    print('ready', flush=True)
    forward(ends, int(milliseconds) / 1000)


main()
