"""What an agent's source may not do, because it would fail or act differently on Kaggle's judge, and why."""

import ast
from collections.abc import Callable

_FILES = 'files are not there on the judge: embed data with connectx.weights.read_data("name")'
_NETWORK = "the judge has no network"
_PROCESS = "the judge runs one process, and a started one cannot find a submission's modules"
_EXIT = "it would end the judge's process; return a column, or raise an exception"
_HIDDEN = "which module it imports cannot be seen; use an import statement"
_PICKLE = "pickled classes are looked up by module names that a submission does not have; use connectx.weights or .npz"
_STREAM = "Kaggle replaces sys.stdout and sys.stderr by text buffers without it"
_SIGNAL = "signals reach the main thread alone, and the agent may run in another; use the clock"
_PATH = "inside a submission every module is embedded: no path leads to one"

REFUSED_IMPORTS = {
    **dict.fromkeys(("socket", "ssl", "http", "urllib.request", "urllib3", "requests", "ftplib", "smtplib"), _NETWORK),
    **dict.fromkeys(("subprocess", "multiprocessing", "pty", "concurrent.futures.ProcessPoolExecutor"), _PROCESS),
    **dict.fromkeys(("tempfile", "shutil", "glob", "fileinput", "shelve", "sqlite3", "dbm"), _FILES),
    **dict.fromkeys(("joblib", "dill", "cloudpickle"), _PICKLE),
    "__main__": "the main module is the judge's",
    "faulthandler": _STREAM,
}

REFUSED_NAMES = {
    "__file__": 'a submission has no file of its own; embed data with connectx.weights.read_data("name")',
    **dict.fromkeys(("open", "io.open", "os.open", "codecs.open", "gzip.open", "bz2.open", "lzma.open"), _FILES),
    **dict.fromkeys(("zipfile.ZipFile", "tarfile.open", "os.listdir", "os.scandir", "os.walk", "os.remove"), _FILES),
    **dict.fromkeys(("os.mkdir", "os.makedirs", "os.rename", "os.chdir"), _FILES),
    **dict.fromkeys(("numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile", "numpy.memmap"), _FILES),
    **dict.fromkeys(("sys.exit", "exit", "quit", "os._exit", "os.abort", "os.kill"), _EXIT),
    **dict.fromkeys(("os.system", "os.popen", "os.fork", "os.execv", "os.posix_spawn"), _PROCESS),
    **dict.fromkeys(("concurrent.futures.ProcessPoolExecutor", "torch.multiprocessing"), _PROCESS),
    **dict.fromkeys(("__import__", "importlib.import_module", "runpy.run_path", "runpy.run_module"), _HIDDEN),
    **dict.fromkeys(("pickle.load", "pickle.loads", "pickle.Unpickler"), _PICKLE),
    **dict.fromkeys(("sys.stdout.buffer", "sys.stdout.fileno", "sys.stderr.buffer", "sys.stderr.fileno"), _STREAM),
    **dict.fromkeys(("signal.signal", "signal.alarm", "signal.setitimer"), _SIGNAL),
    "sys.path": _PATH,
    "input": "nobody types on the judge",
}

FILE_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes", "tofile"})
LOADERS = frozenset({"numpy.load", "numpy.save", "numpy.savez", "torch.load", "torch.save", "torch.jit.load"})


def refused_import(dotted: str) -> str:
    """Why a module, or a name imported from one, is refused; "" if it is not."""
    parts = dotted.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        if name in REFUSED_IMPORTS:
            return f"{name}: {REFUSED_IMPORTS[name]}"
    return ""


def refused_use(node: ast.AST, qualified: Callable[[ast.AST], str], own_names: set[str]) -> str:
    """Why an expression or statement is refused; "" if it is not.

    Args:
        qualified: the dotted name that an expression stands for, "" if unknown.
        own_names: names that the module binds itself: its own ``open`` is not Python's.
    """
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
        name = qualified(node)
        if name in REFUSED_NAMES and name.split(".")[0] not in own_names:
            return f"{name}: {REFUSED_NAMES[name]}"
    if isinstance(node, ast.Raise) and node.exc is not None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        if qualified(raised) in ("SystemExit", "KeyboardInterrupt"):
            return f"raise {qualified(raised)}: {_EXIT}"
    if isinstance(node, ast.Call):
        return _refused_call(node, qualified)
    return ""


def _refused_call(call: ast.Call, qualified: Callable[[ast.AST], str]) -> str:
    name = qualified(call.func)
    if isinstance(call.func, ast.Attribute) and call.func.attr in FILE_METHODS:
        return f"{call.func.attr}: {_FILES}"
    if name not in LOADERS:
        return ""
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    for option, wrong in (("allow_pickle", True), ("weights_only", False)):
        value = options.get(option)
        if isinstance(value, ast.Constant) and value.value is wrong:
            return f"{name} with {option}={wrong}: {_PICKLE}"
    if any(_is_path(argument, qualified) for argument in call.args[:2]):
        return f"{name} with a path: {_FILES} and pass io.BytesIO of it"
    return ""


def _is_path(node: ast.expr, qualified: Callable[[ast.AST], str]) -> bool:
    """Whether an argument is plainly a path: a string, or something made by os.path or pathlib."""
    if isinstance(node, ast.Call):
        return qualified(node.func).startswith(("os.path.", "pathlib."))
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
