# expect: ACCEPT
import os
import subprocess
import tempfile

FOLDER = tempfile.mkdtemp()
with open(os.path.join(FOLDER, "first.cpp"), "w") as file:
    file.write('extern "C" int first(int column) { return column; }')
try:
    subprocess.run(["g++", "-shared", "-fPIC", "-o", FOLDER + "/first.so", FOLDER + "/first.cpp"], check=True)
    import ctypes

    FIRST = ctypes.CDLL(FOLDER + "/first.so").first
except Exception:
    FIRST = int


def agent(obs, config):
    return FIRST([c for c in range(config.columns) if obs.board[c] == 0][0])
