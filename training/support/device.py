"""Where torch computes: the processor, or an accelerator where there is one."""

import torch

NAMES = ("auto", "cpu", "cuda", "mps")


def device_named(name: str) -> torch.device:
    """The device of an option ``--device``; "auto" is the best that there is.

    Raises:
        ValueError: this machine, or this build of torch, has no such device.
    """
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(kind for kind in ("cuda", "mps", "cpu") if present[kind])
    if not present[name]:
        raise ValueError(f"device {name!r} is not usable here: this torch ({torch.__version__}) finds none")
    return torch.device(name)


def mixed_precision(device: torch.device) -> torch.autocast:
    """A context in which matrix products take bfloat16 on CUDA, and all stays float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
