"""The data of torch_train.py: real files, written once, and the three ways jobs read such data.

A sample is a small colour picture and the number of its class: one label byte, then 3 x size x size bytes. Pictures
of a class are noisy copies of one pattern, so that a network learns them and the loss falls.

    DIR/pictures/c3/000123.bin    one file a sample: read one by one ("files"), or served by objstore.py ("http")
    DIR/shards/0004.tar           the same samples packed, to be read from front to back ("packed")
    DIR/filler.bin                nothing of interest; what `--delay-kind read` reads"""

import hashlib
import http.client
import io
import json
import mmap
import os
import random
import tarfile
import time
import urllib.parse

import numpy
import torch
import torch.utils.data

CLASSES = 10
SHARDS = 16
SHUFFLE = 64  # samples held by a reader of shards, to hand them out in another order
FILLER_BYTES = 64 << 20
READ_BYTES = 64 << 10


# ---- writing ----------------------------------------------------------------------------------


def pictures(count, size, seed):
    """Yields the bytes of `count` samples."""
    rng = numpy.random.default_rng(seed)
    patterns = numpy.random.default_rng(7).integers(108, 148, (CLASSES, 3, 4, 4))  # the same for training and evaluation
    cell = numpy.ones((1, 1, size // 4, size // 4), dtype=numpy.int64)
    patterns = numpy.kron(patterns, cell).astype(numpy.int16)
    for i in range(count):
        label = i % CLASSES
        noise = rng.integers(-100, 100, patterns[label].shape, dtype=numpy.int16)
        yield bytes([label]) + (patterns[label] + noise).astype(numpy.uint8).tobytes()


def picture_path(i):
    return f"pictures/c{i % CLASSES}/{i:06d}.bin"


def write_pictures(directory, args):
    for label in range(CLASSES):
        os.makedirs(os.path.join(directory, f"pictures/c{label}"))
    for i, sample in enumerate(pictures(args.samples, args.size, args.seed)):
        with open(os.path.join(directory, picture_path(i)), "wb") as out:
            out.write(sample)


def write_shards(directory, args):
    os.makedirs(os.path.join(directory, "shards"))
    shards = [tarfile.open(os.path.join(directory, f"shards/{i:04d}.tar"), "w") for i in range(SHARDS)]
    for i, sample in enumerate(pictures(args.samples, args.size, args.seed)):
        member = tarfile.TarInfo(f"{i:06d}.bin")
        member.size = len(sample)
        shards[i % SHARDS].addfile(member, io.BytesIO(sample))
    for shard in shards:
        shard.close()


def write_filler(directory, _args):
    block = random.Random(0).randbytes(1 << 20)
    with open(os.path.join(directory, "filler.bin"), "wb") as out:
        for _ in range(FILLER_BYTES // len(block)):
            out.write(block)
        out.flush()
        os.fsync(out.fileno())  # so that its pages can be dropped and a read is one from the device


def prepare(directory, args):
    """Writes what `args` need below `directory`, unless an earlier run left exactly that there."""
    parts = {"pictures": write_pictures} if args.data in ("files", "http") else {"shards": write_shards}
    if args.delay_kind == "read":
        parts["filler"] = write_filler
    key = hashlib.sha256(json.dumps([args.samples, args.size, args.seed]).encode()).hexdigest()[:16]
    os.makedirs(directory, exist_ok=True)
    for part, write in parts.items():
        stamp = os.path.join(directory, f".{part}-{key}")
        if os.path.exists(stamp):
            continue
        if os.path.exists(os.path.join(directory, part)):
            raise SystemExit(f"torch_train: {directory} holds other data: give the same --samples, --size and --seed, "
                             "or another --data-dir")
        write(directory, args)
        with open(stamp, "w", encoding="utf-8"):
            pass


# ---- being slow -------------------------------------------------------------------------------


class Delay:
    """What a sample costs besides its own bytes: nothing, or `seconds` asleep, on a CPU, or reading from a disk."""

    def __init__(self, kind, seconds, directory):
        self.kind = kind
        self.seconds = seconds
        self.filler = os.path.join(directory, "filler.bin")
        self.file = None  # opened by the process that reads: a descriptor does not travel to a spawned worker

    def __call__(self):
        if self.seconds > 0:
            getattr(self, self.kind)()

    def sleep(self):
        time.sleep(self.seconds)

    def cpu(self):
        """An expensive transform: pure CPU time, however often the thread is interrupted."""
        data = b"x" * 4096
        end = time.thread_time() + self.seconds
        while time.thread_time() < end:
            data = hashlib.sha256(data).digest() * 128

    def read(self):
        """Blocks out of order and past the page cache, as from a data set larger than memory."""
        if self.file is None:
            self.file = Uncached(self.filler)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            self.file.read_block(random.randrange(FILLER_BYTES // READ_BYTES))


class Uncached:
    """A file whose every read reaches the device: by O_DIRECT, or by dropping its pages first."""

    def __init__(self, path):
        self.buffer = mmap.mmap(-1, READ_BYTES)  # O_DIRECT wants aligned memory
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
            os.preadv(self.fd, [self.buffer], 0)
            self.direct = True
        except OSError:  # tmpfs and some network file systems
            self.fd = os.open(path, os.O_RDONLY)
            self.direct = False

    def read_block(self, block):
        if not self.direct:
            os.posix_fadvise(self.fd, block * READ_BYTES, READ_BYTES, os.POSIX_FADV_DONTNEED)
        os.preadv(self.fd, [self.buffer], block * READ_BYTES)


# ---- reading ----------------------------------------------------------------------------------


def decode(sample, size):
    """A sample's bytes as the tensors the network eats."""
    picture = torch.frombuffer(bytearray(sample), dtype=torch.uint8, offset=1)
    return picture.view(3, size, size).to(torch.float32).div_(128.0).sub_(1.0), sample[0]


class Files(torch.utils.data.Dataset):
    """One file a sample: open, read, close."""

    def __init__(self, directory, args):
        self.directory = directory
        self.count = args.samples
        self.size = args.size
        self.delay = Delay(args.delay_kind, args.delay, directory)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        with open(os.path.join(self.directory, picture_path(i)), "rb") as source:
            sample = source.read()
        self.delay()
        return decode(sample, self.size)


class Objects(torch.utils.data.Dataset):
    """One GET a sample, over one connection a process, which stays open."""

    def __init__(self, url, directory, args):
        self.host = urllib.parse.urlsplit(url).netloc
        self.count = args.samples
        self.size = args.size
        self.delay = Delay(args.delay_kind, args.delay, directory)
        self.connection = None
        self.owner = 0  # pid that made the connection: a forked worker must not share its parent's

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if self.connection is None or self.owner != os.getpid():
            self.connection = http.client.HTTPConnection(self.host, timeout=60)
            self.owner = os.getpid()
        self.connection.request("GET", "/" + picture_path(i))
        answer = self.connection.getresponse()
        sample = answer.read()
        if answer.status != 200:
            raise OSError(f"GET {picture_path(i)} from {self.host}: {answer.status} {answer.reason}")
        self.delay()
        return decode(sample, self.size)

    def __getstate__(self):
        return {**self.__dict__, "connection": None}


class Shards(torch.utils.data.IterableDataset):
    """Tar files read from front to back, each by one worker of one rank, through a small shuffle buffer."""

    def __init__(self, directory, args, rank, world):
        self.directory = directory
        self.size = args.size
        self.seed = args.seed
        self.rank = rank
        self.world = world
        self.epoch = 0
        self.delay = Delay(args.delay_kind, args.delay, directory)

    def my_shards(self):
        worker = torch.utils.data.get_worker_info()
        workers, me = (worker.num_workers, worker.id) if worker else (1, 0)
        return range(self.rank * workers + me, SHARDS, self.world * workers)

    def __iter__(self):
        rng = random.Random(f"{self.seed} {self.epoch} {self.rank}")
        self.epoch += 1  # the copy of a worker that lives on counts for itself
        held = []
        for shard in self.my_shards():
            for sample in self.members(os.path.join(self.directory, f"shards/{shard:04d}.tar")):
                held.append(sample)
                if len(held) == SHUFFLE:
                    yield self.hand_out(held.pop(rng.randrange(SHUFFLE)))
        rng.shuffle(held)
        yield from map(self.hand_out, held)

    def hand_out(self, sample):
        self.delay()
        return decode(sample, self.size)

    @staticmethod
    def members(path):
        with tarfile.open(path, "r|") as shard:
            for member in shard:
                yield shard.extractfile(member).read()


class Held(torch.utils.data.TensorDataset):
    """Samples for evaluation, in memory."""

    def __init__(self, count, args):
        decoded = [decode(sample, args.size) for sample in pictures(count, args.size, args.seed + 1)]
        super().__init__(torch.stack([x for x, _ in decoded]), torch.tensor([y for _, y in decoded]))
