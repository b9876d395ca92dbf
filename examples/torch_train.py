#!/usr/bin/python3
"""A small, real PyTorch training job on CPUs, made to be watched from outside.

It trains a convolutional network on a data set of real files and behaves as larger jobs do: DataLoader workers,
gradient accumulation, checkpoints, evaluation, several ranks. Without options it is healthy and takes about ten
seconds; each way in which such jobs are slow is an option. With --truth it writes its own timers per step, which is
what a tool that watches it can be judged by (steptimers.py says what they mean).

    torch_train.py                                                      healthy
    torch_train.py --delay 4ms --delay-kind sleep                       starved by its data set
    torch_train.py --data http --store-delay 10ms                       starved by a far object store
    torch_train.py --checkpoint-every 20 --checkpoint-size 256          held up by its checkpoints
    torch_train.py --ranks 4                                            four ranks, each a process it spawns
    python3 -m torch.distributed.run --nproc_per_node 4 torch_train.py  the same under torchrun

Data and checkpoints live in a temporary directory that is removed at the end, unless --data-dir and --out say where.
The exit status is 0 when all steps were done, 128+N when stopped by signal N, 2 for wrong options, 1 for a failure."""

import argparse
import contextlib
import multiprocessing.util
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.distributed
import torch.multiprocessing
import torch.nn.functional
import torch.utils.data

import samples
from checkpoints import AsyncCheckpoints, Checkpoints
from objstore import seconds
from steptimers import StepTimers

os.environ.setdefault("USE_LIBUV", "0")  # Debian 13 builds torch without libuv, and torch then fails to ask for it
stopped_by = 0  # the signal that ended this process, 0 none


# ---- options ----------------------------------------------------------------------------------


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    group = parser.add_argument_group("training")
    group.add_argument("--steps", type=int, default=200, help="optimizer steps (default %(default)s)")
    group.add_argument("--epochs", type=int, help="stop after this many passes over the data, if that is earlier")
    group.add_argument("--batch", type=int, default=32, help="samples in a micro-batch (default %(default)s)")
    group.add_argument("--hidden", type=int, default=48, help="channels of the network: compute per step (default %(default)s)")
    group.add_argument("--accumulate", type=int, default=1, metavar="K", help="micro-batches per optimizer step")
    group.add_argument("--threads", type=int, default=1, help="threads torch computes with (default %(default)s)")
    group.add_argument("--ranks", type=int, default=1, help="processes that train together, when no launcher made them")
    group.add_argument("--eval-every", type=int, default=0, metavar="K", help="evaluate every K steps")
    group.add_argument("--seed", type=int, default=1)
    group.add_argument("--log-every", type=int, default=20, metavar="K", help="a line of progress every K steps")

    group = parser.add_argument_group("data")
    group.add_argument("--data", choices=("files", "packed", "http"), default="files",
                       help="many small files, tar shards, or objects of a store the job starts (default %(default)s)")
    group.add_argument("--samples", type=int, default=8192, help="size of the data set (default %(default)s)")
    group.add_argument("--size", type=int, default=32, help="width of a picture, a multiple of 4 (default %(default)s)")
    group.add_argument("--workers", type=int, default=2, help="DataLoader workers, 0 for none (default %(default)s)")
    group.add_argument("--start-method", choices=("fork", "spawn", "forkserver"), default="fork")
    group.add_argument("--persistent-workers", action="store_true", help="keep the workers from epoch to epoch")
    group.add_argument("--prefetch", type=int, default=2, help="batches a worker prepares ahead (default %(default)s)")
    group.add_argument("--pin-thread", action="store_true",
                       help="a thread between workers and training, as pin_memory makes one on a GPU")
    group.add_argument("--delay", type=seconds, default=0.0, help="extra time for each sample: 0.002, 2ms, 500us")
    group.add_argument("--delay-kind", choices=("sleep", "cpu", "read"), default="sleep",
                       help="what that time goes to: nothing, a CPU, or reading from the disk (default %(default)s)")
    group.add_argument("--store-delay", default="0", metavar="T", help="the store holds every answer back: 5ms")
    group.add_argument("--store-bandwidth", default="0", metavar="RATE", help="bytes/s for each connection: 20M")
    group.add_argument("--data-dir", help="where the data set is made, or was by an earlier run")
    group.add_argument("--prepare", action="store_true", help="make the data set and exit")

    group = parser.add_argument_group("checkpoints")
    group.add_argument("--checkpoint-every", type=int, default=100, metavar="K", help="0: never (default %(default)s)")
    group.add_argument("--checkpoint", choices=("sync", "async"), default="sync",
                       help="the training thread writes, or a thread of its own (default %(default)s)")
    group.add_argument("--checkpoint-size", type=int, default=0, metavar="MIB", help="state saved beside the network's")
    group.add_argument("--keep", type=int, default=3, help="checkpoints kept, 0: all (default %(default)s)")
    group.add_argument("--safe", action=argparse.BooleanOptionalAction, default=True,
                       help="write to a temporary name, fsync, rename")
    group.add_argument("--unsafe", dest="safe", action="store_false", help="overwrite the final name")
    group.add_argument("--out", help="directory of the checkpoints")

    group = parser.add_argument_group("being checked")
    group.add_argument("--truth", metavar="FILE", help="write the job's own timers (of rank R > 0: FILE.R)")

    args = parser.parse_args()
    if args.size % 4 or args.size < 8:
        parser.error("--size must be a multiple of 4, at least 8")
    if args.prepare and not args.data_dir:
        parser.error("--prepare needs --data-dir")
    for name in ("steps", "batch", "hidden", "accumulate", "threads", "ranks", "samples", "prefetch", "log_every"):
        if getattr(args, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    return args


# ---- where a job lives: directories and the object store ----------------------------------------


class Place:
    """Directories and object store of a job, made by one process, used by all ranks."""

    def __init__(self, args):
        self.temporary = None if args.data_dir and args.out else tempfile.mkdtemp(prefix="torch_train-")
        self.data = args.data_dir or os.path.join(self.temporary, "data")
        self.out = args.out or os.path.join(self.temporary, "out")
        self.store = None
        self.url = None

    def __enter__(self):
        return self

    def prepare(self, args):
        samples.prepare(self.data, args)
        if args.data == "http":
            self.start_store(args)

    def start_store(self, args):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "objstore.py")
        self.store = subprocess.Popen(
            [sys.executable, program, "--until-eof", "--delay", args.store_delay,
             "--bandwidth", args.store_bandwidth, self.data],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = self.store.stdout.readline().split()
        if not ready:
            raise RuntimeError("the object store did not start")
        self.url = ready[1]

    def __exit__(self, *_):
        if self.store:
            self.store.terminate()
            self.store.wait()
        if self.temporary:
            shutil.rmtree(self.temporary, ignore_errors=True)

    def address(self):
        """What another rank needs to know."""
        return self.data, self.out, self.url


# ---- data -------------------------------------------------------------------------------------


def make_loader(args, address, rank, world):
    data, _, url = address
    if args.data == "packed":
        dataset = samples.Shards(data, args, rank, world)
        sampler = None
    else:
        dataset = samples.Files(data, args) if args.data == "files" else samples.Objects(url, data, args)
        sampler = torch.utils.data.DistributedSampler(dataset, world, rank, seed=args.seed)
    workers = {}
    if args.workers:
        workers = {"num_workers": args.workers, "multiprocessing_context": args.start_method,
                   "prefetch_factor": args.prefetch, "persistent_workers": args.persistent_workers}
    return torch.utils.data.DataLoader(dataset, args.batch, sampler=sampler, drop_last=True, **workers)


class PinThread:
    """Iterates a loader in a thread of its own, which copies every batch and hands it over through a queue: what
    DataLoader does with pin_memory=True where there is a GPU, and only there."""

    def __init__(self, loader):
        self.batches = queue.Queue(maxsize=2)
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(loader,), name="pin", daemon=True)
        self.thread.start()

    def run(self, loader):
        try:
            for batch in loader:
                self.hand_over([part.clone() for part in batch])
                if self.closing.is_set():
                    return
            self.hand_over(StopIteration())
        except BaseException as failure:  # the training thread raises it
            self.hand_over(failure)

    def hand_over(self, item):
        while not self.closing.is_set():
            with contextlib.suppress(queue.Full):
                self.batches.put(item, timeout=0.5)
                return

    def __next__(self):
        item = self.batches.get()
        if isinstance(item, BaseException):
            raise item
        return item

    def close(self):
        self.closing.set()
        with contextlib.suppress(queue.Empty):
            while True:
                self.batches.get_nowait()
        self.thread.join()


class Batches:
    """An endless row of micro-batches, epoch after epoch. Only next() of the loader's iterator is timed: making the
    iterator, which starts the workers, is not waiting for data."""

    def __init__(self, loader, args, timers):
        self.loader = loader
        self.args = args
        self.timers = timers
        self.epoch = 0
        self.iterator = None

    def start_epoch(self):
        if self.args.epochs and self.epoch >= self.args.epochs:
            raise StopIteration
        if isinstance(self.loader.dataset, samples.Shards):
            self.loader.dataset.epoch = self.epoch
        else:
            self.loader.sampler.set_epoch(self.epoch)
        self.epoch += 1
        self.iterator = PinThread(self.loader) if self.args.pin_thread else iter(self.loader)

    def __next__(self):
        for _ in range(2):
            if self.iterator is None:
                self.start_epoch()
            try:
                with self.timers.time("dataloader"):
                    return next(self.iterator)
            except StopIteration:
                self.close()
        raise RuntimeError("the data set has not one batch for every worker: raise --samples")

    def close(self):
        if isinstance(self.iterator, PinThread):
            self.iterator.close()
        self.iterator = None


# ---- training ---------------------------------------------------------------------------------


def make_network(hidden, size):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, hidden, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(hidden, 2 * hidden, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(2 * hidden, 2 * hidden, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(min(4, size // 4)), nn.Flatten(),
        nn.Linear(2 * hidden * min(4, size // 4) ** 2, samples.CLASSES))


class Trainer:
    """One rank's training loop."""

    def __init__(self, args, rank, world, address):
        torch.set_num_threads(args.threads)
        torch.manual_seed(args.seed)
        multiprocessing.util.get_temp_dir()  # made now, it is the workers' too, and goes when they were killed
        self.args = args
        self.rank = rank
        self.timers = StepTimers(rank)
        self.network = make_network(args.hidden, args.size)
        if world > 1:
            self.network = torch.nn.parallel.DistributedDataParallel(self.network)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-3)
        self.table = torch.randn(args.checkpoint_size << 18)  # float32: 4 bytes each
        self.batches = Batches(make_loader(args, address, rank, world), args, self.timers)
        self.evaluation = None
        if args.eval_every:
            self.evaluation = torch.utils.data.DataLoader(samples.Held(8 * args.batch, args), args.batch)
        self.checkpoints = None
        if rank == 0 and args.checkpoint_every:
            kind = AsyncCheckpoints if args.checkpoint == "async" else Checkpoints
            self.checkpoints = kind(address[1], args.keep, args.safe)
        self.reported = (0, time.monotonic())

    def run(self):
        """Trains; the timers end with the loop, whatever ends it."""
        step = 0
        try:
            for step in range(1, self.args.steps + 1):
                loss = self.step()
                self.timers.step_ended()
                if step % self.args.log_every == 0:
                    self.report(step, loss)
                if self.args.eval_every and step % self.args.eval_every == 0:
                    self.evaluate(step)
                if self.checkpoints and step % self.args.checkpoint_every == 0:
                    self.save(step)
        except StopIteration:
            self.say(f"end of epoch {self.batches.epoch}, the last one, after {step - 1} steps")
        finally:
            self.timers.loop_ended()
            if self.args.truth:
                self.timers.write(self.args.truth + (f".{self.rank}" if self.rank else ""))
        self.batches.close()
        if self.checkpoints:
            self.checkpoints.close()

    def step(self):
        total = 0.0
        for i in range(self.args.accumulate):
            pictures, labels = next(self.batches)
            with self.timers.time("compute"), self.without_sync(i < self.args.accumulate - 1):
                loss = torch.nn.functional.cross_entropy(self.network(pictures), labels) / self.args.accumulate
                loss.backward()
                total += loss.item()
        with self.timers.time("compute"):
            self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def without_sync(self, wanted):
        """Gradients of all micro-batches but the last stay on their rank."""
        if wanted and isinstance(self.network, torch.nn.parallel.DistributedDataParallel):
            return self.network.no_sync()
        return contextlib.nullcontext()

    def evaluate(self, step):
        right = count = 0
        self.network.eval()
        iterator = iter(self.evaluation)
        with torch.no_grad():
            while True:
                try:
                    with self.timers.time("dataloader"):
                        pictures, labels = next(iterator)
                except StopIteration:
                    break
                with self.timers.time("compute"):
                    right += (self.network(pictures).argmax(1) == labels).sum().item()
                    count += len(labels)
        self.network.train()
        self.say(f"step {step:5d}  evaluation: {100 * right / count:.1f} % right")

    def save(self, step):
        with self.timers.time("checkpoint"):
            network = getattr(self.network, "module", self.network)
            self.checkpoints.save(step, {"step": step, "network": network.state_dict(),
                                         "optimizer": self.optimizer.state_dict(), "table": self.table})

    def report(self, step, loss):
        before, at = self.reported
        self.reported = (step, time.monotonic())
        each = (self.reported[1] - at) / (step - before)
        rate = self.args.batch * self.args.accumulate / each
        self.say(f"step {step:5d}/{self.args.steps}  epoch {self.batches.epoch}  loss {loss:.4f}  "
                 f"{1e3 * each:6.1f} ms/step  {rate:7.0f} samples/s")

    def say(self, text):
        if self.rank == 0:
            print(text, flush=True)


# ---- ranks ------------------------------------------------------------------------------------


def run_rank(rank, world, args, address):
    """A rank that mp.spawn made: only its arguments tell it which one it is."""
    catch_signals()
    torch.distributed.init_process_group("gloo", rank=rank, world_size=world)
    try:
        Trainer(args, rank, world, address).run()
        torch.distributed.destroy_process_group()
    except Exception:
        if not stopped_by:
            raise


def run_spawned(args):
    """Makes the ranks itself."""
    with Place(args) as place, socket.socket() as probe:
        place.prepare(args)
        probe.bind(("127.0.0.1", 0))
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = map(str, probe.getsockname())
        probe.close()
        ranks = torch.multiprocessing.spawn(run_rank, (args.ranks, args, place.address()), args.ranks, join=False)
        try:
            while not ranks.join():
                pass
        finally:
            for process in ranks.processes:
                process.terminate()
            for process in ranks.processes:
                process.join()


def run_launched(args):
    """A rank that a launcher made: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are set."""
    torch.distributed.init_process_group("gloo")
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    with Place(args) if rank == 0 else contextlib.nullcontext() as place:
        told = [None]
        if rank == 0:
            place.prepare(args)
            told = [place.address()]
        torch.distributed.broadcast_object_list(told)
        Trainer(args, rank, world, told[0]).run()
        torch.distributed.barrier()  # nobody reads from the place any more
    torch.distributed.destroy_process_group()


def run_alone(args):
    with Place(args) as place:
        place.prepare(args)
        Trainer(args, 0, 1, place.address()).run()


def catch_signals():
    """SIGINT and SIGTERM end the job as an exception, so that whatever it made is cleared away. Only the first one
    does: a group's members are often told twice, and the second must not end the clearing away."""
    def stop(number, _frame):
        global stopped_by
        if not stopped_by:
            stopped_by = number
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def main():
    args = parse_options()
    catch_signals()
    try:
        if args.prepare:
            samples.prepare(args.data_dir, args)
        elif "RANK" in os.environ and "WORLD_SIZE" in os.environ:
            run_launched(args)
        elif args.ranks > 1:
            run_spawned(args)
        else:
            run_alone(args)
    except (KeyboardInterrupt, Exception):
        if not stopped_by:
            raise
        print(f"torch_train: stopped by {signal.Signals(stopped_by).name}", file=sys.stderr)
        return 128 + stopped_by
    return 0


if __name__ == "__main__":
    sys.exit(main())
