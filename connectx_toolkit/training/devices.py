"""Where torch computes: the device of an option, and matrix products of bfloat16 where they are quicker."""

import torch

NATIVE_BFLOAT16 = ("avx512_bf16", "amx_bf16", "bf16")  # a processor's names for matrix products of bfloat16


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


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether matrix products of bfloat16 are quicker there: on CUDA, and on processors with instructions for them.

    Such a processor (AVX-512 BF16) made 400 GFLOPS of one core where float32 had 90; others emulate it and are slower.
    """
    if device.type == "cpu":
        capabilities = torch.cpu.get_capabilities()
        return any(capabilities.get(name, False) for name in NATIVE_BFLOAT16)
    return device.type == "cuda"


def mixed_precision(device: torch.device) -> torch.autocast:
    """A context in which matrix products take bfloat16 where they are quicker, and all stays float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=multiplies_bfloat16(device))
