"""The checkpoints of torch_train.py: written by the training thread, or by a thread of their own.

safe    to a temporary name, fsync, rename over the final one, fsync of the directory: a crash at any moment leaves
        the last complete checkpoint
unsafe  straight to the final name, as `torch.save(state, path)` does: a crash leaves half a file, and when the name is
        always the same (--keep 1) no other"""

import os
import queue
import threading

import torch


def copy_state(value):
    """The state as it is now: the tensors go on changing while a thread writes them."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: copy_state(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy_state(item) for item in value]
    return value


class Checkpoints:
    """Keeps the last `keep` checkpoints in a directory; keep=0 keeps all, keep=1 always writes `last.pt`."""

    def __init__(self, directory, keep, safe):
        self.directory = directory
        self.keep = keep
        self.safe = safe
        self.written = []
        os.makedirs(directory, exist_ok=True)

    def save(self, step, state):
        path = os.path.join(self.directory, "last.pt" if self.keep == 1 else f"step-{step:06d}.pt")
        if self.safe:
            self.write_safely(path, state)
        else:
            torch.save(state, path)
        self.retire(path)

    def write_safely(self, path, state):
        partial = path + ".partial"
        with open(partial, "wb") as out:
            torch.save(state, out)
            out.flush()
            os.fsync(out.fileno())
        os.rename(partial, path)
        directory = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(directory)
        os.close(directory)

    def retire(self, path):
        if path not in self.written:
            self.written.append(path)
        while self.keep and len(self.written) > self.keep:
            os.unlink(self.written.pop(0))

    def close(self):
        """Nothing is under way once save() has returned."""


class AsyncCheckpoints(Checkpoints):
    """The training thread copies the state and hands it over; it waits only while an earlier one is still being
    written."""

    def __init__(self, directory, keep, safe):
        super().__init__(directory, keep, safe)
        self.failure = None
        self.handed_over = queue.Queue(maxsize=1)
        self.writer = threading.Thread(target=self.write, name="checkpoint", daemon=True)
        self.writer.start()

    def save(self, step, state):
        if self.failure:
            raise self.failure
        self.handed_over.join()
        self.handed_over.put((step, copy_state(state)))

    def write(self):
        while (job := self.handed_over.get()) is not None:
            try:
                super().save(*job)
            except Exception as failure:  # the training thread raises it
                self.failure = failure
            del job
            self.handed_over.task_done()

    def close(self):
        self.handed_over.put(None)
        self.writer.join()
        if self.failure:
            raise self.failure
