# expect: NOT JUDGED
# kaggle: not asked, nobody says which programs its image has
import ctypes
import os
import subprocess
import tempfile

FOLDER = tempfile.mkdtemp()
with open(os.path.join(FOLDER, "first.cpp"), "w") as file:
    file.write('extern "C" int first(int column) { return column; }')
subprocess.run(["g++", "-shared", "-fPIC", "-o", FOLDER + "/first.so", FOLDER + "/first.cpp"], check=True)
FIRST = ctypes.CDLL(FOLDER + "/first.so").first


def agent(obs, config):
    return FIRST([c for c in range(config.columns) if obs.board[c] == 0][0])
