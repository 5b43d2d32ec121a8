# expect: REJECT replies
# because: missing 2 required positional arguments
import functools


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **options):
        return function(*args, **options)

    return wrapper


@logged
def agent(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0][0]
