# expect: ACCEPT
import asyncio


async def think(columns):
    await asyncio.sleep(0)
    return columns[0]


def agent(obs, config):
    return asyncio.run(think([c for c in range(config.columns) if obs.board[c] == 0]))
