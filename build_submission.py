"""Builds one file that Kaggle accepts from an agent, or checks a finished one: python build_submission.py --help"""

import sys

from connectx_toolkit.cli.main import run

if __name__ == "__main__":
    sys.exit(run("build"))
