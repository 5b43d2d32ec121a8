# Two modules with the same global names under lazily compiled kernels: flattened into one file they would mix.
import left as first
import right.inner as second
from right import inner

STEP = 100


def agent(obs, config):
    import lazy

    assert first.step(1) == 2 and second.step(1) == 11 and first.both(1) == 12 and inner.STEP == 10 and STEP == 100
    return lazy.choose(obs, config, first.step(0) - 1)
