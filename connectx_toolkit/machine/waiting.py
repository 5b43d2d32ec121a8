"""How long a thread has waited for a core: time that is not its agent's."""


def seconds_waited(thread: str) -> float:
    """Seconds that a thread was ready to run and waited for a core so far; 0.0 where Linux does not tell.

    Args:
        thread: "thread-self", "self" for this process's first thread, or the id of a process for its first.
    """
    try:
        with open(f"/proc/{thread}/schedstat") as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0
