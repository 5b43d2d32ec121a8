import json
import os

with open(os.path.join(os.path.dirname(__file__), "order.json")) as file:
    ORDER = json.load(file)
