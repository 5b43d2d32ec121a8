"""Third-party packages on Kaggle's judge, by import name, as far as they are known.

Kaggle does not publish the judge's image. What is known: the packages of submissions that played there, those that
kaggle_environments needs, and the public notebook image (github.com/Kaggle/docker-python), which is probably similar.
"""

SEEN_THERE = frozenset({"kaggle_environments", "numba", "numpy", "scipy", "torch"})  # in submissions that played
_REQUIRED = """
click flask google gymnasium gymnax jax jsonschema litellm omegaconf pettingzoo pokerkit pydantic pyjson5 pygame pyspiel
requests shimmy tenacity termcolor tqdm transformers typing_extensions upath yaml
"""
_IMAGE = """
Cython PIL annoy bs4 catboost cloudpickle cv2 cython deap dill fastai flax gensim gym gymnasium h5py igraph jax joblib
keras learntools lightgbm matplotlib networkx nltk optuna pandas plotly polars psutil ray requests seaborn shapely
skimage sklearn spacy statsmodels sympy tensorflow torchinfo torchmetrics torchvision tqdm transformers xgboost yaml
"""
REQUIRED = frozenset(_REQUIRED.split())  # by kaggle_environments, on which the judge runs
IN_PUBLIC_IMAGE = frozenset(_IMAGE.split()) - REQUIRED
KNOWN = SEEN_THERE | REQUIRED | IN_PUBLIC_IMAGE


def standing(package: str) -> str:
    """What is known about a package on the judge, in words."""
    if package in SEEN_THERE:
        return "submissions that use it play on Kaggle"
    if package in REQUIRED:
        return "kaggle_environments, on which the judge runs, needs it"
    if package in IN_PUBLIC_IMAGE:
        return "Kaggle's public image has it"
    return "it is not among the packages that Kaggle is known to have"
