"""Stands in a call for the watchdog: stacks.py WHAT. The lines are marked with what they are."""
import ctypes
import os
import sys
import threading

pipe = os.pipe()


class Dataset:
    def __getitem__(self, index):
        text = ("a string over"
                " two lines")
        # more lines, so that the tables have something to count
        return os.read(pipe[0], len(text))  # READS


def in_c():
    libc = ctypes.CDLL(None)
    buffer = ctypes.create_string_buffer(8)
    libc.read(pipe[0],
              buffer, 8)  # IN C


def in_thread():
    thread = threading.Thread(target=Dataset().__getitem__, args=(0,))
    thread.start()
    thread.join()  # JOINS


def generator():
    for i in range(3):
        if i == 2:
            Dataset()[i]  # FROM A GENERATOR
        yield i


def main(what):
    threading.Timer(float(sys.argv[2]), lambda: os.write(pipe[1], b"x")).start()
    if what == "reads":
        print([Dataset()[i] for i in range(1)])
    elif what == "generator":
        list(generator())
    elif what == "c":
        in_c()
    else:
        in_thread()


main(sys.argv[1])  # CALLS MAIN
