"""What a stock PyTorch does on the simulated node: one line per thing that works, `what yes` or `what no`.

Kernels of PyTorch's own compute nothing there, so only copies, and products by cuBLAS (SIM_COMPUTE), are compared.
"""
import torch
from torch.utils.data import DataLoader, TensorDataset


def say(what, works):
    print(what, "yes" if works else "no", flush=True)


def train(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = TensorDataset(torch.randn(512, 256), torch.randn(512, 16))
    for x, y in DataLoader(data, batch_size=64, num_workers=2, pin_memory=True):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        loss.backward()
        optimizer.step()
    return all(p.grad is not None and p.grad.is_cuda for p in net.parameters())


def out_of_memory():
    keep = []
    try:
        while len(keep) < 1000:
            keep.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        return len(keep) > 10
    return False


say("available", torch.cuda.is_available() and torch.cuda.device_count() == 8)
a = torch.randn(33, 20)
b = torch.randn(20, 7)
say("copy", torch.equal(a.cuda().cpu(), a))
say("product", torch.allclose((a.cuda() @ b.cuda()).cpu(), a @ b, atol=1e-5))
say("allocator", torch.cuda.memory_stats()["allocated_bytes.all.peak"] > 0)
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
torch.ones(1024, 1024, device="cuda").add_(1)
end.record()
end.synchronize()
say("events", start.elapsed_time(end) > 0)
say("training", train(torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()))
say("oom", out_of_memory())
