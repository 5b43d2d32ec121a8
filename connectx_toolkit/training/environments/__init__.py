"""ConnectX in the forms that learning libraries know. Importing this registers them with gymnasium."""

import gymnasium

_MODULE = "connectx_toolkit.training.environments.connectx_env"
gymnasium.register("ConnectX-v0", f"{_MODULE}:ConnectXEnv", vector_entry_point=f"{_MODULE}:ConnectXVectorEnv")
gymnasium.register("ConnectX-vec", vector_entry_point=f"{_MODULE}:ConnectXVectorEnv")
