"""One of several processes that evaluate their own trials together: python one_rank.py RANK SIZE STORE."""

import json
import sys
from datetime import timedelta

import numpy as np

POINTS = ["sre08", "sre12", 0.5]
N = 1201


def trials():
    """All trials, as every process and the test make them."""
    rng = np.random.default_rng(8)
    labels = rng.random(N) < 0.3
    return rng.normal(np.where(labels, 1.5, -1.5), 1.2), labels


def share(rank, size, labels):
    """Which trials a process has: the last has no target, and of three the second has none at all."""
    of_process = np.random.default_rng(1).choice(
        size, p=np.arange(1, size + 1) / sum(range(size + 1)), size=N
    )
    of_process[of_process == size - 1] = np.where(labels, 0, size - 1)[of_process == size - 1]
    if size == 3:
        of_process[of_process == 1] = 0
    return np.flatnonzero(of_process == rank)


def main(rank, size, store):
    import torch
    import torch.distributed as dist

    from llrkit.torch import DetectionMetrics

    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=size, timeout=timedelta(seconds=60)
    )
    scores, labels = trials()
    own = share(rank, size, labels)
    metrics, one = DetectionMetrics(points=POINTS), DetectionMetrics("min_dcf_sre08")
    for batch in np.array_split(own, 1 + 3 * rank) if len(own) else ():
        for metric in (metrics, one):
            metric.update(torch.tensor(scores[batch]), torch.tensor(labels[batch]))
    numbers = {name: float(value).hex() for name, value in metrics.compute().items()}
    again = {name: float(value).hex() for name, value in metrics.compute().items()}
    numbers |= {"one": float(one.compute()).hex(), "own": len(own), "same": again == numbers}
    dist.barrier()
    dist.destroy_process_group()
    print(json.dumps(numbers))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
