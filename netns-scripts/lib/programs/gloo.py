"""One of the ranks of a job of torch.distributed with Gloo: `gloo.py RANK RANKS PORT HOST`. Each
prints one line for each operation: whether its result is right."""

import sys

import torch
import torch.distributed as dist

SIZE = 1_000_000


def data(rank, size=SIZE):
    return torch.arange(size, dtype=torch.float64) % 977 + rank


def tell(what, right):
    # The first alone prints what all of them have found.
    found = torch.tensor([int(bool(right))])
    dist.all_reduce(found, dist.ReduceOp.MIN)
    if dist.get_rank() == 0:
        print(f"{what}: {'right' if found.item() else 'WRONG'}", flush=True)


def collectives(rank, ranks):
    summed = sum(data(each) for each in range(ranks))
    for size in (1, 1000, SIZE):
        value = data(rank, size)
        dist.all_reduce(value)
        tell(f"all_reduce {size}", value.equal(summed[:size]))
    value = data(rank)
    dist.broadcast(value, src=ranks - 1)
    tell("broadcast", value.equal(data(ranks - 1)))
    value = data(rank)
    dist.reduce(value, dst=0)
    tell("reduce", rank != 0 or value.equal(summed))
    parts = [torch.empty(SIZE, dtype=torch.float64) for _ in range(ranks)]
    dist.all_gather(parts, data(rank))
    tell("all_gather", all(part.equal(data(each)) for each, part in enumerate(parts)))
    part = torch.empty(SIZE, dtype=torch.float64)
    dist.scatter(part, [data(each) for each in range(ranks)] if rank == 0 else None, src=0)
    tell("scatter", part.equal(data(rank)))
    for _ in range(100):
        dist.barrier()
    tell("barrier", True)


def messages(rank, ranks):
    right = True
    for at in range(200):
        got = torch.empty(100 * at + 1, dtype=torch.float64)
        sending = dist.isend(data(rank, len(got)), (rank + 1) % ranks)
        dist.recv(got, (rank - 1) % ranks)
        sending.wait()
        right = right and got.equal(data((rank - 1) % ranks, len(got)))
    tell("isend and recv", right)


def training(rank, ranks):
    # Its gradients are averaged over the ranks: after some steps each has the same.
    torch.manual_seed(7)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 64))
    descent = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(rank)
    for _ in range(20):
        descent.zero_grad()
        model(torch.randn(32, 256)).square().mean().backward()
        descent.step()
    mine = torch.cat([each.detach().flatten() for each in model.parameters()])
    of_first = mine.clone()
    dist.broadcast(of_first, src=0)
    tell("training", mine.equal(of_first))


def main():
    rank, ranks, port = map(int, sys.argv[1:4])
    dist.init_process_group("gloo", f"tcp://{sys.argv[4]}:{port}", rank=rank, world_size=ranks)
    collectives(rank, ranks)
    messages(rank, ranks)
    training(rank, ranks)
    dist.destroy_process_group()


main()
