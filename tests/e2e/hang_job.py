"""Two ranks of gloo on CPUs, one of which does not go on: hang_job.py worker|loop|save|slow PORT. Lines are marked."""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

os.environ.setdefault("USE_LIBUV", "0")
WHAT, PORT = sys.argv[1], sys.argv[2]


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, i):
        if WHAT == "worker" and i == 60 and os.environ["RANK"] == "1":
            time.sleep(100)  # WORKER
        return torch.ones(4)


def save():
    """A checkpoint into a pipe that nobody empties."""
    os.mkfifo("fifo")
    pipe = os.open("fifo", os.O_RDWR)
    os.write(pipe, b"x" * (1 << 20))  # SAVE


def train(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1", MASTER_PORT=PORT)
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for n, batch in enumerate(torch.utils.data.DataLoader(Data(), batch_size=4, num_workers=1)):
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        if n == 12 and rank == 1 and WHAT == "loop":
            time.sleep(100)  # LOOP
        if n == 12 and rank == 1 and WHAT == "slow":
            time.sleep(4)
        if n == 12 and rank == 0 and WHAT == "save":
            save()
    if WHAT == "slow":
        sys.exit(1)  # the flight recorder writes nothing of a job that ends well


if __name__ == "__main__":
    mp.spawn(train, nprocs=2)
